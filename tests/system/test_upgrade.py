"""Upgrade and rollback: the previous version and this one share a database and bus, with events in flight.

The previous version has a fault of its own. It never asks Cosmos DB for the whole answer to a write, and then
the SDK mixes up the session tokens of several containers. Cosmos DB refuses a read with a token that its
container has not reached, and no replica lags behind here. Before the SDK reports that, it forgets a token of
the container that answered last, and raises KeyError if that token is gone. The previous version treats the
KeyError as permanent, and may meet the other error until its attempts are used up. This version asks for
whole answers and retries the KeyError. So it finishes the failed work when an operator requeues its dead
letters, as after any deployment of a fix. A dead letter of any other cause, or of this version, fails the
test.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from azure.cosmos import CosmosClient

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.models.queries.named_query import NamedQuery
from shared.models.sources import Archive, ArchiveStatus
from shared.operations.audit import Operator
from shared.operations.deadletters.diagnosis import Diagnosed, diagnosed_dead_letters
from shared.operations.deadletters.journal import REQUEUE
from shared.operations.deadletters.operations import request_operation, run_operation
from shared.operations.oversight.stuck_documents import find_blockers
from shared.operations.provisioning import provision
from shared.operations.sweep import sweep
from shared.pipeline.progress import archive_progress
from shared.pipeline.topology import QUEUES
from tests.support.cloud import AppCloud, servicebus, wait_for
from tests.support.host import Host
from tests.support.services import ROOT, start_service
from tests.system.version_before import BEFORE, unpack_version_before
from tests.web.site import environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
LATER_FIELD = "of_a_later_version"
COMPLETE_SECONDS = 360
UPLOAD_SECONDS = START_SECONDS = 90
BACK_SECONDS = 180  # for the previous version, after it is restored
AHEAD = (
    "Sub Status: 1002"  # a read with a token that its container has not reached, until all attempts were used
)
GAVE_UP = " gave up on "  # the stage's text in the log
# The interval at which the sweep looks for an upload whose event was never sent: see the fault above.
SOON: dict[str, float] = {"RETRY_JOB_INTERVAL_SECONDS": 6}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the previous version."""
    folder = tmp_path_factory.mktemp("before")
    if not unpack_version_before(folder):
        pytest.skip(f"this clone has no history with the version before; {BEFORE} may name a commit")
    if not (ROOT / "models").exists():
        pytest.skip("the model is not built: make model")
    (folder / "models").symlink_to(ROOT / "models")
    return folder


@contextmanager
def host_of(tree: Path, data: Path, environ: dict[str, str]) -> Iterator[Host]:
    service = start_service("functions", "--root", str(tree), data=data, env=environ, tree=tree)
    try:
        yield Host(service)
    finally:
        service.stop(60)
        for stream in (service.process.stdin, service.process.stdout):
            if stream is not None:
                stream.close()


def mails(word: str, count: int = 60) -> bytes:
    """Build threads of three messages each."""
    return "".join(
        f"From a@example.org Mon Jan  5 10:00:00 2026\nFrom: Ada <a{number}@example.org>\n"
        f"Date: Mon, 5 Jan 2026 10:{number % 60:02d}:00 +0000\nMessage-ID: <{word}-{number}@x>\n"
        + (f"In-Reply-To: <{word}-{number - number % 3}@x>\n" if number % 3 else "")
        + f"Subject: {word} {number // 3}\n\nI agree with {word} as it is proposed here, number {number}.\n\n"
        for number in range(count)
    ).encode()


def upload(host: Host, word: str) -> str:
    sent = host.ask("POST", upload_address(word), mails(word), timeout=60)
    assert sent.status == 202, sent.text
    return str(sent.json()["archive_id"])


def upload_address(word: str) -> str:
    return f"/api/archives?source={word}&filename={word}.mbox"


def upload_to_before(host: Host, word: str) -> str:
    """Upload to a host of the previous version. Its fault may require a retry after the file is stored."""

    def taken() -> Any:
        sent = host.ask("POST", upload_address(word), mails(word), timeout=60)
        return sent.json() if sent.status in {200, 202} else None

    return str(wait_for(taken, seconds=UPLOAD_SECONDS, what=f"the upload of {word}")["archive_id"])


def run(settings: Any, work: Callable[[Clients], Any]) -> Any:
    async def connected() -> Any:
        clients = await Clients.connect(settings)
        try:
            return await work(clients)
        finally:
            await clients.close()

    return asyncio.run(connected())


# A host of the previous version may fail to answer, so the tests read the database instead.


async def started(clients: Clients, archive: str) -> bool:
    found = await clients.store.find(Archive, archive, Session())
    return found is not None and found.status != ArchiveStatus.PENDING


async def incomplete(clients: Clients, archives: list[str]) -> list[str]:
    ways = {archive: await archive_progress(clients, archive) for archive in archives}
    return [archive for archive, way in ways.items() if way.failed or not way.complete]


async def plant(clients: Clients, archive: str) -> None:
    """Write a field as a later version would."""
    patch = Patch(archive, set={LATER_FIELD: {"kept": True}})
    await clients.store.patch(Archive, patch, Session())


async def field_of(clients: Clients, archive: str) -> Any:
    found = await clients.store.read(Archive, archive, Session())
    return (found.model_extra or {}).get(LATER_FIELD)


async def why(clients: Clients, archives: list[str]) -> str:
    """Return why these archives are not complete, and the failures."""
    said = [str(await find_blockers(clients, archive)) for archive in archives]
    query = NamedQuery(
        "failed", "failures", "SELECT c.stage, c.last_error, c.timestamp, c.abandoned_reason FROM c"
    )
    failures = [str(row) async for row in clients.store.query(query, Session())]
    return "\n".join([*said, *failures, str(await letters(clients))])


async def letters(clients: Clients) -> dict[str, int]:
    return {queue: found for queue in QUEUES if (found := len(await clients.bus.peek_dead_letters(queue)))}


def own_faults(settings: Any) -> set[str]:
    """Return the errors of the previous version's fault. The SDK's KeyError names a container, or None."""
    with CosmosClient(settings.COSMOS_ENDPOINT, settings.COSMOS_KEY.get_secret_value()) as cosmos:
        containers = cosmos.get_database_client(settings.COSMOS_DATABASE).list_containers()
        return {f"KeyError: {id_!r}" for id_ in (None, *(container["_rid"] for container in containers))}


async def dead_letters(clients: Clients) -> list[Diagnosed]:
    """Return all dead letters. Each must have the previous version's fault."""
    found = await diagnosed_dead_letters(clients, QUEUES)
    require_own_fault([letter.cause.error for letter in found], clients)
    return found


async def given_up(clients: Clients) -> list[str]:
    """Return the recorded errors. Dead letters may follow only after ten deliveries."""
    query = NamedQuery("failed", "failures", "SELECT VALUE c.last_error FROM c")
    found = [str(error) async for error in clients.store.query(query, Session())]
    require_own_fault(found, clients)
    return found


def require_own_fault(errors: list[str], clients: Clients) -> None:
    faults = own_faults(clients.settings)
    assert not [error for error in errors if error not in faults and AHEAD not in error], errors


async def send_again(clients: Clients, found: list[Diagnosed]) -> None:
    """Requeue by cause, as an operator does after a fix."""
    for queue, group in sorted({(row.dead_letter.queue, row.group) for row in found}):
        print(f"the version before gave up in {queue}: sent again")
        chosen = {"queues": [queue], "groups": [group]}
        asked = await request_operation(clients, REQUEUE, chosen, Operator("test"))
        await run_operation(clients, asked.id, patience=0, known=asked)


async def idle(clients: Clients) -> bool:
    """Return whether the queues are empty, including locked and scheduled messages."""
    return not any([await clients.bus.peek(queue, count=1) for queue in QUEUES])


def wait_until_started(archive: str, settings: Any) -> None:
    asked = partial(started, archive=archive)
    wait_for(lambda: run(settings, asked), seconds=START_SECONDS, what=f"parsing of {archive}")


def wait_until_complete_or_given_up(archives: list[str], settings: Any) -> None:
    """Wait until the previous version is done, or has given up because of its fault, which may be slow."""
    deadline = time.monotonic() + BACK_SECONDS
    while left := run(settings, partial(incomplete, archives=archives)):
        late = time.monotonic() > deadline
        if run(settings, given_up) and (late or run(settings, idle)):
            print(f"the version before has given up in {len(left)} archives")
            return
        assert not late, run(settings, partial(why, archives=left))
        time.sleep(1)


def recover(archives: list[str], settings: Any) -> None:
    """Recover with this version as operate.md says: requeue dead letters, and sweep the rest."""
    deadline = time.monotonic() + COMPLETE_SECONDS

    async def help_on(clients: Clients) -> None:
        if not await idle(clients):
            return
        if found := await dead_letters(clients):
            await send_again(clients, found)
        else:
            await sweep(clients)

    while left := run(settings, partial(incomplete, archives=archives)):
        assert time.monotonic() < deadline, run(settings, partial(why, archives=left))
        run(settings, help_on)
        time.sleep(1)


async def send_rest(clients: Clients) -> None:
    """Requeue the remaining dead letters. Their work is already done."""
    await send_again(clients, await dead_letters(clients))


def given_up_by(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if GAVE_UP in line]


async def stored_fields(clients: Clients) -> dict[tuple[str, str], set[str]]:
    """Return the names of the fields of each document, by container and id."""
    found = {}
    for container in ("archives", "messages", "threads", "chunks"):
        query = NamedQuery("all", container, "SELECT * FROM c")
        async for stored in clients.store.query(query, Session()):
            found[container, stored["id"]] = set(stored)
    return found


def test_up_and_back_with_events_in_flight_loses_nothing(
    cloud: AppCloud, earlier: Path, tmp_path: Path
) -> None:
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    with ExitStack() as stack:
        bus = stack.enter_context(servicebus(tmp_path))
        settings = cloud.settings(bus, SERVICEBUS_ADMIN_ENDPOINT=bus.addresses["admin"])
        defaults = set(type(settings).model_fields) - settings.model_fields_set  # each version has its own
        everything = environment(cloud, bus, settings)
        environ = {name: value for name, value in everything.items() if name not in defaults}
        subprocess.run(
            [sys.executable, "-m", "shared.operations.provisioning"],
            cwd=earlier, env={**os.environ, **environ}, check=True,
        )  # fmt: skip
        archives: list[str] = []
        with host_of(earlier, tmp_path / "before", environ) as before:
            archives.append(upload_to_before(before, "first"))
            wait_until_started(archives[0], settings)  # and the rest is in flight
            asyncio.run(provision(settings))
            with host_of(ROOT, tmp_path / "now", environ) as now:
                archives += [upload(now, "second"), upload_to_before(before, "third")]
                wait_until_started(archives[2], settings)  # by either version
                run(settings, partial(plant, archive=archives[0]))
                before.service.stop(60)
                archives.append(upload(now, "fourth"))
                wait_until_started(archives[3], settings)  # by this version alone
                fields = run(settings, stored_fields)
                with host_of(earlier, tmp_path / "back", environ) as back:
                    archives.append(upload_to_before(back, "fifth"))
                    now.service.stop(60)
                    archives.append(upload_to_before(back, "sixth"))
                    wait_until_complete_or_given_up(archives, settings)
            with host_of(ROOT, tmp_path / "again", environ) as again:
                recover(archives, settings.model_copy(update=SOON))
                wait_for(lambda: run(settings, idle), seconds=90, what="empty queues")
                run(settings, send_rest)
                wait_for(lambda: not run(settings, letters), seconds=90, what="no dead letter")
                for archive in archives:
                    detail = again.get(f"/api/archives/{archive}").json()
                    assert detail["message_count"] == 60, detail
                reports = again.get("/api/reports?limit=200&type=thread").json()["items"]
        assert sorted(report["source"] for report in reports) == sorted(20 * words)
        assert run(settings, partial(field_of, archive=archives[0])) == {"kept": True}
        kept = run(settings, stored_fields)
        lost = {key: named - kept[key] for key, named in fields.items() if key in kept and named - kept[key]}
        assert lost == {}
        assert fields
        assert run(settings, letters) == {}
        for name in ("now", "again"):
            assert given_up_by(tmp_path / f"{name}.log") == []
