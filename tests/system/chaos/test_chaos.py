"""Forward progress: after any kills and faults the end state is that of a calm run.

Two hosts, whose clocks differ by thirteen seconds, share one database, broker, index and blob storage. While
archives arrive and some are deleted, everything is killed, frozen or refused.
"""

import asyncio
import http.client
import json
import random
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import removal_id
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.models.queries.named_query import NamedQuery
from shared.models.sources import Archive, Removal
from shared.operations.deadletters.diagnosis import diagnosed_dead_letters
from shared.pipeline.event_builders import archive_ingested
from shared.pipeline.events import Event
from shared.pipeline.topology import QUEUES
from shared.summarization.digests import refresh_due
from tests.support.cloud import frozen, wait_for
from tests.support.services import ROOT
from tests.system.chaos.end_state import QUERIES, end_state
from tests.system.chaos.world import CLOCKS, DUPLICATE_SECONDS, HOSTS, World, world
from tools.run_archives.client import archives_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    # If a connection breaks while it opens, the Service Bus SDK does not close its socket.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model"),
]
SAMPLES = archives_at(ROOT / "samples")
ROUNDS = 36
PATIENCE_SECONDS = 420
FROZEN_SECONDS = 1.0
HIT_SECONDS = 60
ALL_ARCHIVES = NamedQuery("everything", "archives", "SELECT * FROM c WHERE NOT c.removing")
PASSING = (
    "From {0}@example.org Mon Jan  5 10:00:00 2026\nFrom: {0}@example.org\nMessage-ID: <{0}@passing>\n"
    "Subject: Passing {0}\n\nThis is message {0}, which goes again.\n"
)


def ask(method: str, address: str, body: bytes | None = None) -> Any:
    """Return the app's answer, or None while it is away."""
    request = urllib.request.Request(address, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())
    except (OSError, http.client.HTTPException):
        return None


def upload(app: World, source: str, name: str, content: bytes, host: str = HOSTS[0]) -> str:
    """Send a file until it is accepted, and return the archive's id."""
    address = f"{app.app(host)}/api/archives?source={source}&filename={name}"
    taken = wait_for(lambda: ask("POST", address, content), seconds=180, what=f"the upload of {name}")
    return str(taken["archive_id"])


def upload_samples(app: World) -> list[str]:
    """Upload to one host and the other in turn."""
    return [
        upload(app, sample.source, sample.path.name, sample.path.read_bytes(), HOSTS[number % len(HOSTS)])
        for number, sample in enumerate(SAMPLES)
    ]


@dataclass
class Passing:
    """Archives that are deleted while they are still being processed."""

    app: World
    ids: list[str] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)

    def come(self) -> None:
        name = f"passing{len(self.ids)}"
        content = PASSING.format(name).encode()
        self.ids.append(upload(self.app, "passing", f"{name}.mbox", content, HOSTS[len(self.ids) % 2]))

    def delete(self, id_: str) -> None:
        wait_for(
            lambda: ask("DELETE", f"{self.app.app()}/api/archives/{id_}"), seconds=120, what="the deletion"
        )
        self.deleted.add(id_)

    def delete_rest(self) -> None:
        for id_ in self.ids:
            if id_ not in self.deleted:
                self.delete(id_)


Act = Callable[[World, Passing], None]


def kill_and_start(name: str) -> Act:
    def act(app: World, _passing: Passing) -> None:
        app.kill(name)
        app.start(name)

    return act


def stands_still(name: str) -> Act:
    def act(app: World, _passing: Passing) -> None:
        with frozen(app.running[name].process):
            time.sleep(FROZEN_SECONDS)  # its connections stay open, but get no answers

    return act


def deletes_under_way(_app: World, passing: Passing) -> None:
    passing.come()
    passing.delete(passing.ids[-1])


def window_passes(app: World, _passing: Passing) -> None:
    """Wait until the topic has forgotten the archives' events and gets them again."""
    time.sleep(DUPLICATE_SECONDS + 1)
    wait_for(lambda: _announced_again(app), seconds=120, what="the events to be sent again")


def _announced_again(app: World) -> bool:
    try:
        return asyncio.run(_announce_again(app)) > 0
    except Exception as error:  # noqa: BLE001 - a service is away: try again
        print("not sent again:", type(error).__name__)
        return False


async def _announce_again(app: World) -> int:
    clients = await Clients.connect(app.settings())
    try:
        archives = await clients.store.query_documents(Archive, ALL_ARCHIVES, Session())
        events = [
            archive_ingested(
                archive.id,
                archive.to_cosmos(),
                started_at=archive.ingestion_date,
                completed_at=archive.ingestion_date,
            )
            for archive in archives
        ]
        now = clients.runtime.now()
        await clients.bus.publish([Event.of(data, now=now) for data in events])
        return len(events)
    finally:
        await clients.close()


KILLED = {
    "a host is killed": HOSTS[0],
    "the other host is killed": HOSTS[1],
    "the database is killed": "cosmos",
    "the broker is killed": "servicebus",
    "the index is killed": "search",
    "the blob storage is killed": "storage",
}
FROZEN = {
    "a host stands still": HOSTS[0],
    "the database stands still": "cosmos",
    "the broker stands still": "servicebus",
    "the index stands still": "search",
    "the blob storage stands still": "storage",
}
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "the database is away": (
        "cosmos",
        {"kind": "status", "operation": "docs.*", "times": 6, "args": {"status": 503}},
    ),
    "the database is busy": (
        "cosmos",
        {
            "kind": "status",
            "operation": "docs.*",
            "times": 9,
            "args": {"status": 429, "retry_after_ms": 20},
        },
    ),
    "answers of the database are lost": (
        "cosmos",
        {"kind": "reset_after", "operation": "docs.*", "times": 4},
    ),
    "the index refuses": ("search", {"kind": "status", "operation": "docs.index", "times": 3}),
    "the index takes part of a batch": (
        "search",
        {"kind": "partial", "operation": "docs.index", "times": 2},
    ),
    "the broker drops connections": ("servicebus", {"kind": "drop", "operation": "*", "times": 3}),
    "the broker's answers are lost": ("servicebus", {"kind": "lose-ack", "operation": "send", "times": 3}),
    "messages come twice": ("servicebus", {"kind": "deliver-twice", "operation": "receive", "times": 5}),
}


def plans(named: str) -> Act:
    service, fault = FAULTS[named]
    return lambda app, _passing: app.plan(service, fault, named)


ACTS: dict[str, Act] = {
    **{named: kill_and_start(service) for named, service in KILLED.items()},
    **{named: stands_still(service) for named, service in FROZEN.items()},
    **{named: plans(named) for named in FAULTS},
    "an archive is deleted under way": deletes_under_way,
    "the duplicate window passes": window_passes,
}


def hit_the_rest(app: World, passing: Passing) -> None:
    """Upload another archive for each kind of fault that has not hit yet, until it hits."""
    for named in FAULTS:
        if not app.was_hit(named):
            ACTS[named](app, passing)
            passing.come()
            wait_for(lambda n=named: app.was_hit(n), seconds=HIT_SECONDS, what=f"{named}, to be noticed")


def is_complete(app: World, archive: str) -> bool:
    found = ask("GET", f"{app.app()}/api/archives/{archive}")
    return bool(found and found["progress"]["complete"])


def settle(app: World, archives: list[str], passing: Passing) -> dict[str, Any]:
    for archive in archives:
        wait_for(lambda a=archive: is_complete(app, a), seconds=PATIENCE_SECONDS, what=f"archive {archive}")
    wait_for(
        lambda: not asyncio.run(_unrest(app, passing.ids)), seconds=PATIENCE_SECONDS, what="all to be quiet"
    )
    wait_for(lambda: asyncio.run(digests_are_made(app)), seconds=PATIENCE_SECONDS, what="the digests")
    return end_state(app.settings())


async def digests_are_made(app: World) -> bool:
    """Refresh due digests now, because the timer runs only every five minutes. Return whether all is done."""
    clients = await Clients.connect(app.settings())
    try:
        made = await refresh_due(clients, clients.runtime.now())
        waiting = [queue for queue in QUEUES if await clients.bus.peek(queue, count=1)]
        return not made and not waiting
    finally:
        await clients.close()


async def _unrest(app: World, deleted: list[str]) -> list[str]:
    """Return running deletions, and dead letters that the sweep has not resolved yet."""
    clients = await Clients.connect(app.settings())
    try:
        keys = [removal_id("archive", archive) for archive in deleted]
        removals = await clients.store.find_many(Removal, keys, Session())
        left = [f"the deletion of {removal.target} is {removal.status}" for removal in removals.values()
                if removal.status != "succeeded"]  # fmt: skip
        dead_letters = await diagnosed_dead_letters(clients, list(QUEUES), judged=True)
        left += [f"{row.dead_letter.queue}: {row.cause.error[:200]}" for row in dead_letters]
        if left:
            print(left[:5])
        return left if len(removals) == len(keys) else [*left, "a deletion is not on record"]
    finally:
        await clients.close()


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with world(tmp_path_factory.mktemp("calm")) as app:
        ended = settle(app, upload_samples(app), Passing(app))
        _check_clocks(app)
    # The compared lists must not be empty, because an empty list equals any other.
    assert all(ended[kind] for kind in (*QUERIES, "vectors")), {kind: len(ended[kind]) for kind in ended}
    return ended


def _check_clocks(app: World) -> None:
    """Check that each clock is off. Correct clocks would prove nothing."""
    for number, (host, off_by) in enumerate(CLOCKS.items()):
        sent = datetime.now(UTC)
        id_ = upload(app, "clocks", f"{number}.mbox", PASSING.format(f"clock{number}").encode(), host)
        slack, taken = timedelta(seconds=3), datetime.now(UTC)
        address = f"{app.app()}/api/archives/{id_}"
        found = wait_for(lambda a=address: ask("GET", a), seconds=60, what=address)
        noted = datetime.fromisoformat(found["ingestion_date"]) - timedelta(seconds=off_by)
        assert sent - slack < noted < taken + slack, (host, noted, sent, taken)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.requirement("R-610", "R-1106")
def test_kills_and_faults_change_nothing_about_the_end(
    tmp_path: Path, calm: dict[str, Any], seed: int
) -> None:
    chance, started = random.Random(seed), time.monotonic()
    with world(tmp_path) as app:
        passing, archives = Passing(app), upload_samples(app)
        every_act = chance.sample(sorted(ACTS), len(ACTS))
        for name in [*every_act, *chance.choices(sorted(ACTS), k=ROUNDS - len(ACTS))]:
            print(f"{time.monotonic() - started:6.1f}", name)
            ACTS[name](app, passing)
            time.sleep(chance.uniform(0.05, 0.6))  # the progress between two faults is random
        hit_the_rest(app, passing)
        app.calm()
        passing.delete_rest()
        ended = settle(app, archives, passing)
    # A fault that hit nothing proves nothing.
    assert all(app.hits[named] for named in FAULTS), app.hits
    assert passing.ids
    for kind, expected in calm.items():
        assert ended[kind] == expected, kind
