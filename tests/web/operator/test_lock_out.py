"""Guesses of the operator's key, on a separate host, because a lockout applies to all local callers."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

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
    assert guessed.get("/sources").status == 200  # callers without a key can still read
    assert "wrong operator key from local, 5 in a row" in guessed.log


def test_sign_in_is_taken_from_this_site_alone(guessed: Host) -> None:
    answer = guessed.ask("POST", "/operator/enter", "key=x", sec_fetch_site="cross-site")
    assert answer.status == 403


@pytest.mark.parametrize("path", ["/operator/enter", "/sign-in", "/api/sources"])
def test_a_large_body_is_refused_by_its_announced_length(guessed: Host, path: str) -> None:
    """60 MB are announced and none is sent, so an answer shows that the host did not wait."""
    with socket.create_connection(("localhost", urlsplit(guessed.url).port), timeout=10) as peer:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {60 * 1024 * 1024}\r\n\r\n"
        peer.sendall(head.encode())
        assert peer.recv(65536).startswith(b"HTTP/1.1 413 ")
