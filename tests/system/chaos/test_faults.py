"""The fault table: a service or a host hangs, is killed or is full. The app names it and loses nothing.

During the fault health, status, pages and uploads answer in five seconds and name the cause. Afterwards every
archive completes, at the default number of attempts, without dead letters or findings of the checks.
"""

import asyncio
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from shared.azure.connections import Clients
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.operations.deadletters.diagnosis import diagnosed_dead_letters
from shared.operations.integrity.checks import Finding
from shared.operations.integrity.run import VerifyOptions, verify
from shared.operations.oversight.status import SystemStatus, read_status
from shared.pipeline.topology import QUEUES
from shared.settings.app import load_settings
from tests.support.cloud import frozen, wait_for
from tests.support.services import ROOT
from tests.system.chaos.test_chaos import PASSING, digests_are_made, is_complete, upload
from tests.system.chaos.world import HOSTS, STORAGE, World, world
from web.operator.view import STALE_SECONDS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model"),
]
BOUND = 5.0
LARGE = 20_000  # messages: 3 MB
TABLE = ROOT / "build" / "faults.md"  # `make faults` prints it
PATIENCE = 300
NAMES = {"cosmos": "Cosmos DB", "servicebus": "Service Bus", "search": "AI Search", STORAGE: "Blob storage"}
SPOOL_BYTES, STORAGE_BYTES = "160m", "64m"
Change = Callable[[World], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    change: Change
    says: str  # in /api/health and in `status`
    refuses: frozenset[str] = frozenset()  # may answer 503 during the fault, and all else answers 2xx
    host: str = HOSTS[1]  # gets the requests
    by_app: bool = True  # whether the app itself can report it


def hang(name: str) -> Change:
    @contextmanager
    def change(app: World) -> Iterator[None]:
        with frozen(app.running[name].process):
            yield

    return change


def kill(name: str) -> Change:
    @contextmanager
    def change(app: World) -> Iterator[None]:
        app.kill(name)
        try:
            yield
        finally:
            app.start(name)

    return change


@contextmanager
def without_model(app: World) -> Iterator[None]:
    assert app.model is not None
    app.model.unlink()
    restart(app)
    yield
    app.model.symlink_to(DEFAULT_FOLDER)


def restart(app: World) -> None:
    for host in HOSTS:
        app.kill(host)
        app.start(host)


def fill(folder: str) -> Change:
    @contextmanager
    def change(app: World) -> Iterator[None]:
        full = app.folder / folder / "full"
        room = os.statvfs(full.parent).f_bavail * os.statvfs(full.parent).f_frsize
        with full.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, room)
        try:
            yield
        finally:
            full.unlink()

    return change


USES = {
    "cosmos": frozenset({"home", "upload"}),
    "servicebus": frozenset({"upload"}),
    "search": frozenset({"search"}),
    STORAGE: frozenset({"upload"}),
}
FAULTS: dict[str, Fault] = {
    **{f"hang of {n}": Fault(hang(n), f"{NAMES[n]} did not answer within", USES[n]) for n in NAMES},
    **{f"kill of {n}": Fault(kill(n), f"{NAMES[n]} refuses connections", USES[n]) for n in NAMES},
    "hang of a host": Fault(hang(HOSTS[0]), "hangs: no answer", by_app=False),
    "kill of a host": Fault(kill(HOSTS[0]), "does not answer: is it running?", by_app=False),
    "missing model": Fault(without_model, "here is no model in"),
    "full disk for uploads": Fault(fill("spool"), "spool is full", frozenset({"upload"})),
    "full disk for blobs": Fault(fill(STORAGE), "Its disk may be full", frozenset({"upload"})),
}


REQUESTS = {
    "GET /api/health": "health",
    "GET /operator": "/operator",
    "GET /": "home",
    "GET /search": "search",
    "POST /api/archives": "upload",
}
COLUMNS = (
    "health",
    "status",
    "/operator",
    "home",
    "search",
    "upload",
    "complete",
    "dead letters",
    "findings",
)


@dataclass
class Place:
    app: World
    archives: list[str] = field(default_factory=list)
    asked: int = 0
    calm: dict[str, float] = field(default_factory=dict)  # by request: its time without a fault
    rows: dict[str, dict[str, str]] = field(default_factory=dict)  # by fault and column: the measured values
    named: str = ""

    def note(self, column: str, measured: object) -> None:
        self.rows.setdefault(self.named, {})[column] = str(measured)

    def table(self) -> str:
        lines = [f"| fault | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
        for named, row in self.rows.items():
            lines.append(f"| {named} | {' | '.join(row.get(column, '-') for column in COLUMNS)} |")
        return "\n".join(lines)

    def timed(
        self, method: str, path: str, host: str, body: bytes | None = None, *, calm: bool = False
    ) -> tuple[int, str]:
        request = urllib.request.Request(self.app.app(host) + path, data=body, method=method)
        started = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found = int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as refused:
            found = refused.code, refused.read().decode()
        took = time.monotonic() - started
        kind = f"{method} {path.partition('?')[0]}"
        if calm:
            self.calm[kind] = max(took, self.calm.get(kind, 0))
        else:  # added to the time without a fault, on a machine that may be busy
            allowed = BOUND + self.calm.get(kind, 0.0)
            if kind in REQUESTS:
                self.note(REQUESTS[kind], f"{found[0]} in {took:.1f} s")
            assert took < allowed, f"{method} {path} took {took:.1f} s of {allowed:.1f} s"
        return found

    def mail(self) -> bytes:
        self.asked += 1
        return PASSING.format(f"fault{self.asked}").encode()

    def upload_timed(self, host: str, *, times: int = 1, calm: bool = False) -> tuple[int, str]:
        content = self.mail() * times
        path = f"/api/archives?source=list&filename=f{self.asked}.mbox"
        status, text = self.timed("POST", path, host, content, calm=calm)
        if status == 202:
            self.archives.append(json.loads(text)["archive_id"])
        return status, text

    def upload(self) -> None:
        content = self.mail()
        self.archives.append(upload(self.app, "list", f"a{self.asked}.mbox", content, HOSTS[1]))


def mounted(folder: Path, size: str) -> bool:
    folder.mkdir(parents=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False, capture_output=True
    )
    return done.returncode == 0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("faults")
    model, spool, storage = folder / "model", folder / "spool", folder / STORAGE
    model.symlink_to(DEFAULT_FOLDER)
    mounts = [
        small for small, size in ((spool, SPOOL_BYTES), (storage, STORAGE_BYTES)) if mounted(small, size)
    ]
    try:
        with world(folder, model=model, more={"TMPDIR": str(spool)}, duplicate_seconds=1800) as app:
            ready = Place(app)
            ready.upload()
            for host in HOSTS:
                wait_for(
                    lambda h=host: ready.timed("GET", "/search?q=fault", h, calm=True)[0] == 200,
                    seconds=60,
                    what=host,
                )
            for host in HOSTS:
                for path in ("/", "/search?q=fault", "/operator", "/api/health"):
                    ready.timed("GET", path, host, calm=True)
                ready.upload_timed(host, calm=True)
            yield ready
            TABLE.parent.mkdir(exist_ok=True)
            TABLE.write_text(ready.table() + "\n", encoding="utf-8")
    finally:
        for small in mounts:
            subprocess.run(["umount", "-l", str(small)], check=True)


def status_of(place: Place, *, address: str) -> tuple[SystemStatus, float]:
    async def read() -> tuple[SystemStatus, float]:
        settings = load_settings({**place.app.values(), "FUNCTIONS_URL": address})
        clients = await Clients.connect(settings)
        try:
            started = time.monotonic()
            return await read_status(clients), time.monotonic() - started
        finally:
            await clients.close()

    return asyncio.run(read())


def look(place: Place, fault: Fault) -> None:
    """Check which requests are answered, how fast, and with which text."""
    host, app = fault.host, place.app
    if fault.by_app:
        status, text = place.timed("GET", "/api/health", host)
        assert status == 503, text
        assert any(fault.says in problem for problem in json.loads(text)["problems"]), text
        time.sleep(STALE_SECONDS)
        status, text = place.timed("GET", "/operator", host)
        assert status == 200
        assert "Action needed" in text
        assert "?." not in text
        assert "The sweep has not run yet" not in text
        assert fault.says in text.replace("&#39;", "'"), re.findall("<li>.*</li>", text)
    found, took = status_of(place, address=app.app(host if fault.by_app else HOSTS[0]))
    place.note("status", f"{took:.1f} s")
    assert took < BOUND + place.calm["GET /operator"], f"status took {took:.1f} s"
    assert any(fault.says in trouble.says for trouble in found.troubles), [t.says for t in found.troubles]
    for name, path in (("home", "/"), ("search", "/search?q=fault")):
        status, text = place.timed("GET", path, host)
        assert status == (503 if name in fault.refuses else 200), (name, status, text[-300:])
    # A full disk may have space for one message.
    status, text = place.upload_timed(host, times=LARGE if "disk" in place.named else 1)
    assert status == (503 if "upload" in fault.refuses else 202), text


async def left_over(app: World) -> tuple[list[str], list[Finding]]:
    """Return the dead letters, and the findings of the checks."""
    clients = await Clients.connect(app.settings())
    try:
        letters = await diagnosed_dead_letters(clients, list(QUEUES), most=100, judged=True)
        found: list[Finding] = []
        done = await verify(clients, VerifyOptions(grace=timedelta(0), found=found.append))
        assert done.errors == []
        return [letter.cause.error for letter in letters], found
    finally:
        await clients.close()


@pytest.mark.parametrize("named", FAULTS)
def test_a_fault_is_named_and_afterwards_nothing_is_missing(place: Place, named: str) -> None:
    fault, app, place.named = FAULTS[named], place.app, named
    if "disk" in named and not (app.folder / ("spool" if "uploads" in named else STORAGE)).is_mount():
        pytest.skip("a small disk can be mounted by root only")
    place.upload()
    with fault.change(app):
        if named == "missing model":
            wait_for(lambda: answers(place, HOSTS[1]), seconds=60, what="the host")
            place.timed("GET", "/", HOSTS[1], calm=True)  # a start takes longer
        time.sleep(2.1)  # health keeps an answer for two seconds
        look(place, fault)
    if named == "missing model":
        restart(app)
    wait_for(lambda: answers(place, HOSTS[0]) and answers(place, HOSTS[1]), seconds=90, what="the hosts")
    healed = time.monotonic()
    place.upload()
    for archive in place.archives:
        wait_for(lambda a=archive: is_complete(app, a), seconds=PATIENCE, what=archive)
    place.note("complete", f"{len(place.archives)} archives in {time.monotonic() - healed:.0f} s")
    wait_for(lambda: asyncio.run(digests_are_made(app)), seconds=PATIENCE, what="the digests")
    letters, findings = asyncio.run(left_over(app))
    place.note("dead letters", len(letters))
    place.note("findings", len(findings))
    assert (letters, findings) == ([], [])


def answers(place: Place, host: str) -> bool:
    try:
        return place.timed("GET", "/api/health", host, calm=True)[0] == 200 or not place.app.model.exists()  # type: ignore[union-attr]
    except OSError:
        return False


def test_an_archive_that_comes_again_after_its_deletion_is_as_fast_as_the_first_time(place: Place) -> None:
    content, place.named = place.mail() * 3, "deleted and fetched again"
    took = []
    for _ in range(2):
        started = time.monotonic()
        archive = upload(place.app, "list", "again.mbox", content, HOSTS[1])
        wait_for(lambda a=archive: is_complete(place.app, a), seconds=PATIENCE, what=archive)
        took.append(time.monotonic() - started)
        place.timed("DELETE", f"/api/archives/{archive}", HOSTS[1])
        wait_for(
            lambda a=archive: place.timed("GET", f"/api/archives/{a}", HOSTS[1])[0] == 404,
            seconds=120,
            what="deletion",
        )
    assert took[1] < 2 * took[0] + 3, took
