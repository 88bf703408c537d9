"""A frozen service (SIGSTOP: its connections stay open) does not block the app, which answers in 5 s."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.support.cloud import AppCloud, frozen, wait_for
from tests.support.host import Answer
from tests.support.services import ROOT
from tests.web.site import SAMPLES, Site, empty_site

pytestmark = pytest.mark.slow
BOUND = 5.0
WAITED = 3.5  # by a command for a service, in addition to its start: 2 s to read, 1 s to close
MAIL = "From a@example.org Mon Jan  5 10:00:00 2026\nFrom: a@example.org\nMessage-ID: <{0}@x>\nSubject: {0}\n\n{0}\n"


@dataclass(frozen=True)
class Expected:
    """The status of each request while one service is frozen, and that service's name."""

    name: str
    home: int
    search: int
    upload: int
    status_part: str | None


SERVICES = {
    "cosmos": Expected("Cosmos DB", home=503, search=200, upload=503, status_part="documents"),
    "search": Expected("AI Search", home=200, search=503, upload=202, status_part=None),
    "servicebus": Expected("Service Bus", home=200, search=200, upload=503, status_part="queues"),
    "blobs": Expected("Blob storage", home=200, search=200, upload=503, status_part=None),
}


@pytest.fixture(scope="module")
def site(cloud: AppCloud) -> Iterator[Site]:
    if not DEFAULT_FOLDER.exists():
        pytest.skip("the model is not built: make model")
    with empty_site(cloud) as running:
        name, path = next(iter(SAMPLES.items()))
        running.wait_until_reported(running.upload(name, path.read_bytes()))
        yield running


def process_of(service: str, cloud: AppCloud, site: Site) -> "subprocess.Popen[str]":
    return {
        "cosmos": cloud.cosmos.process,
        "search": cloud.search.process,
        "servicebus": site.bus.process,
        "blobs": cloud.storage.process,
    }[service]


def timed(site: Site, method: str, path: str, body: bytes | None = None) -> Answer:
    started = time.monotonic()
    answer = site.host.ask(method, path, body, timeout=60)
    took = time.monotonic() - started
    assert took < BOUND, f"{method} {path} took {took:.1f} s"
    return answer


def upload(site: Site, word: str) -> Answer:
    return timed(
        site, "POST", f"/api/archives?source=frozen&filename={word}.mbox", MAIL.format(word).encode()
    )


def ops_status(site: Site) -> tuple[int, dict[str, object], float]:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "ops", "status", "--json", "--check"],
        cwd=ROOT,
        env={**os.environ, **site.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), time.monotonic() - started


@pytest.mark.parametrize("service", SERVICES)
def test_everything_answers_and_names_the_service_that_does_not(
    service: str, cloud: AppCloud, site: Site
) -> None:
    expected = SERVICES[service]
    assert timed(site, "GET", "/").status == 200
    assert site.host.get("/search?q=agreed").status == 200  # the encoder is started
    _, _, calm = ops_status(site)
    with frozen(process_of(service, cloud, site)):
        assert timed(site, "GET", "/api/health/live").status == 200
        for path, status in (("/", expected.home), ("/search?q=agreed", expected.search)):
            answer = timed(site, "GET", path)
            assert answer.status == status, (path, answer.text[:300])
            assert (expected.name in answer.text) == (status == 503), path
        assert timed(site, "GET", "/operator").status == 200
        sent = upload(site, f"while-{service}-hangs")
        assert sent.status == expected.upload, sent.text
        assert (expected.name in sent.text) == (expected.upload == 503)
        health = timed(site, "GET", "/api/health")
        assert health.status == 503
        unwell = {name for name, check in health.json()["dependencies"].items() if not check["ok"]}
        assert unwell == {service}
        code, shown, took = ops_status(site)
        assert took - calm < WAITED, (took, calm)
        unanswered = shown["unanswered"]
        assert isinstance(unanswered, dict)
        assert (expected.status_part in unanswered) if expected.status_part else not unanswered
        assert all(expected.name in why for why in unanswered.values())
        assert code == 3

    def well() -> bool:
        return site.host.get("/api/health").status == 200 and site.host.get("/").status == 200

    wait_for(well, seconds=30, what=f"the app to be well after {service}")
    assert upload(site, f"after-{service}").status == 202
    assert site.host.get("/search?q=agreed").status == 200


def encoder_of(site: Site) -> int:
    """Return the process that embeds, among the children of the app's host."""
    parents = {int(path.name): path for path in Path("/proc").iterdir() if path.name.isdigit()}

    def parent(pid: int) -> int:
        try:
            return int((parents[pid] / "stat").read_text().rpartition(")")[2].split()[1])
        except (KeyError, OSError):
            return 0

    def below_host(pid: int) -> bool:
        while pid > 1:
            pid = parent(pid)
            if pid == site.host.service.process.pid:
                return True
        return False

    found = [
        pid
        for pid, folder in parents.items()
        if b"shared.embedding.process.worker" in _command(folder) and below_host(pid)
    ]
    assert len(found) == 1, found
    return found[0]


def _command(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_search_goes_on_by_words_while_the_encoder_hangs(site: Site) -> None:
    assert site.json("/api/search?q=agreed")["mode"] == "hybrid"
    encoder = encoder_of(site)
    os.kill(encoder, signal.SIGSTOP)
    try:
        answer = timed(site, "GET", "/api/search?q=agreed")
    finally:
        with contextlib.suppress(ProcessLookupError):  # it was replaced
            os.kill(encoder, signal.SIGCONT)
    assert answer.json()["mode"] == "words"
    wait_for(
        lambda: site.json("/api/search?q=agreed")["mode"] == "hybrid", seconds=60, what="search by meaning"
    )


@pytest.mark.parametrize("first", ["home", "search", "upload"])
def test_no_healthy_cold_request_fails_by_a_deadline(first: str, cloud: AppCloud) -> None:
    """The first request of a process imports, connects and starts the encoder, which does not count as a timeout."""
    with empty_site(cloud) as cold:
        if first == "home":
            assert cold.host.ask("GET", "/", timeout=60).status == 200
        elif first == "search":
            found = cold.host.ask("GET", "/api/search?q=agreed", timeout=60)
            assert (found.status, found.json()["mode"]) == (200, "hybrid")
        else:
            sent = cold.host.ask(
                "POST",
                "/api/archives?source=cold&filename=cold.mbox",
                MAIL.format("cold").encode(),
                timeout=60,
            )
            assert sent.status == 202, sent.text
        assert "did not answer within" not in cold.host.log
