"""Guessing the operator's key: a host of its own, as a lock-out holds for all that come from here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host import Host, running_host
from tests.support.services import ROOT

KEY = "correct horse battery staple"


@pytest.fixture(scope="module")
def guessed(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    data: Path = tmp_path_factory.mktemp("guessed") / "data"
    with running_host(ROOT, data, **environ) as running:
        yield running


def test_keys_cannot_be_guessed(guessed: Host) -> None:
    tried = [guessed.get("/operator", **{"x-operator-key": f"guess {number}"}) for number in range(40)]
    statuses = [answer.status for answer in tried]
    assert statuses[:5] == [401] * 5
    assert statuses.count(429) >= 33
    refused = next(answer for answer in tried if answer.status == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert guessed.get("/operator", **{"x-operator-key": KEY}).status == 429
    form = guessed.ask("POST", "/operator/enter", f"key={KEY}".replace(" ", "+"), Origin=guessed.url)
    assert form.status == 429
    assert guessed.get("/sources").status == 200  # who shows no key reads on
    assert "wrong operator key from local, 5 in a row" in guessed.log


def test_sign_in_is_taken_from_this_site_alone(guessed: Host) -> None:
    answer = guessed.ask("POST", "/operator/enter", "key=x", sec_fetch_site="cross-site")
    assert answer.status == 403


def test_a_large_body_is_refused_before_it_is_looked_at(guessed: Host) -> None:
    answer = guessed.ask("POST", "/operator/enter", b"key=" + b"x" * 5000, Origin=guessed.url)
    assert answer.status == 413
