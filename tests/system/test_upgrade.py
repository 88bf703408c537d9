"""The version before and this one on one database and bus, with events in flight: up, and back.

The version before is the last tag, or, where there is none, what stood before this version's number did.
"""

import asyncio
import io
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shared.clients.connections import Clients
from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.documents.archives import Archive
from shared.documents.queries.named_query import NamedQuery
from shared.pipeline.topology import QUEUES
from shared.upkeep.audit import Actor
from shared.upkeep.deadletters.actions import REQUEUE
from shared.upkeep.deadletters.groups import diagnosed_letters
from shared.upkeep.deadletters.operations import request_operation, run_operation
from shared.upkeep.oversight.archive_why import why_not_done
from shared.upkeep.provisioning import provision
from tests.localcloud.functions.support import Host
from tests.support.cloud import LocalCloud, servicebus, wait_for
from tests.support.services import ROOT, start_service
from tests.web.site import environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
BEFORE = "ROUGH_CONSENSUS_BEFORE"
LATER_FIELD = "of_a_later_version"
COMPLETE_SECONDS = 360
# The SDK keeps the session tokens of containers apart only after a whole answer to a write, which the version
# before never asks for. When it forgets such a token twice, it raises this, which that version gives up at.
OWN_FAULT = "KeyError: None"


def git(*arguments: str) -> bytes | None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def version_before() -> str | None:
    """A commit; None where there is no history to find it in."""
    if named := os.environ.get(BEFORE):
        return named
    if tag := git("describe", "--tags", "--abbrev=0", "HEAD"):
        return tag.decode().strip()
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    set_by = git("log", "--format=%H", f'-Sversion = "{version[1]}"', "--", "pyproject.toml")
    return f"{set_by.decode().split()[0]}^" if set_by and set_by.strip() else None


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the version before."""
    commit = version_before()
    content = git("archive", "--format=tar", commit) if commit else None
    if content is None:
        pytest.skip(f"there is no git history with a version before this one; {BEFORE} may name a commit")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=io.BytesIO(content)) as tree:
        tree.extractall(folder, filter="data")
    if not (ROOT / "models").exists():
        pytest.skip("the model is not built: make model")
    (folder / "models").symlink_to(ROOT / "models")
    return folder


@contextmanager
def host_of(tree: Path, data: Path, environ: dict[str, str]) -> Iterator[Host]:
    service = start_service("localcloud.functions", "--root", str(tree), data=data, env=environ, tree=tree)
    try:
        yield Host(service)
    finally:
        service.stop(60)
        for stream in (service.process.stdin, service.process.stdout):
            if stream is not None:
                stream.close()


def mails(word: str, count: int = 60) -> bytes:
    """Threads of three mails each."""
    return "".join(
        f"From a@example.org Mon Jan  5 10:00:00 2026\nFrom: Ada <a{number}@example.org>\n"
        f"Date: Mon, 5 Jan 2026 10:{number % 60:02d}:00 +0000\nMessage-ID: <{word}-{number}@x>\n"
        + (f"In-Reply-To: <{word}-{number - number % 3}@x>\n" if number % 3 else "")
        + f"Subject: {word} {number // 3}\n\nI agree with {word} as it is proposed here, number {number}.\n\n"
        for number in range(count)
    ).encode()


def upload(host: Host, word: str, *, tries: int = 1) -> str:
    """A host of the version before may need another try: see OWN_FAULT."""
    address = f"/api/archives?source={word}&filename={word}.mbox"
    for _ in range(tries):
        sent = host.ask("POST", address, mails(word), timeout=60)
        if sent.status in {200, 202}:
            return str(sent.json()["archive_id"])
    raise AssertionError(sent.text)


def started(host: Host, archive: str) -> bool:
    answer = host.get(f"/api/archives/{archive}")
    return answer.status == 200 and answer.json()["status"] != "pending"


def complete(host: Host, archive: str) -> bool:
    try:
        answer = host.get(f"/api/archives/{archive}")
    except TimeoutError:  # a busy machine: who waits for it has a deadline
        return False
    if answer.status != 200:  # a replica that is behind: it will have caught up
        return False
    progress = answer.json()["progress"]
    return bool(progress["complete"]) and not progress["failed"]


def wait_until_complete(host: Host, archives: list[str], settings: Any) -> None:
    """With an operator who sends the letters of the version before's own fault again."""
    deadline = time.monotonic() + COMPLETE_SECONDS
    while not all(complete(host, archive) for archive in archives):
        left = [archive for archive in archives if not complete(host, archive)]
        assert time.monotonic() < deadline, run(with_clients(settings, partial(why, archives=left)))
        run(with_clients(settings, requeue_own_fault))
        time.sleep(2)


def run(work: Any) -> Any:
    return asyncio.run(work)


async def plant(clients: Clients, archive: str) -> None:
    """As a later version would have it."""
    patch = Patch(archive, archive, set={LATER_FIELD: {"kept": True}})
    await clients.store.patch(Archive, patch, Session())


async def field_of(clients: Clients, archive: str) -> Any:
    found = await clients.store.read(Archive, archive, archive, Session())
    return (found.model_extra or {}).get(LATER_FIELD)


async def why(clients: Clients, archives: list[str]) -> str:
    """Why these are not complete, and what has failed."""
    said = [str(await why_not_done(clients, archive)) for archive in archives]
    query = NamedQuery(
        "failed", "failures", "SELECT c.stage, c.last_error, c.timestamp, c.abandoned_reason FROM c"
    )
    failures = [str(row) async for row in clients.store.query(query, Session())]
    return "\n".join([*said, *failures, str(await letters(clients))])


async def requeue_own_fault(clients: Clients) -> None:
    """Letters of this one cause, and no other."""
    found = await diagnosed_letters(clients, QUEUES)
    groups = {(letter.letter.queue, letter.group) for letter in found if letter.cause.error == OWN_FAULT}
    for queue, group in sorted(groups):
        print(f"the version before gave up in {queue}: {OWN_FAULT}")
        chosen = {"queues": [queue], "groups": [group]}
        asked = await request_operation(clients, REQUEUE, chosen, Actor("test"))
        await run_operation(clients, asked.id, patience=0, known=asked)


async def letters(clients: Clients) -> dict[str, int]:
    return {queue: found for queue in QUEUES if (found := len(await clients.bus.peek_dead_letters(queue)))}


def test_up_and_back_with_events_in_flight_loses_nothing(
    cloud: LocalCloud, earlier: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        bus = stack.enter_context(servicebus(tmp_path))
        settings = cloud.settings(bus, SERVICEBUS_ADMIN_ENDPOINT=bus.addresses["admin"])
        defaults = set(type(settings).model_fields) - settings.model_fields_set  # each version has its own
        everything = environment(cloud, bus, settings)
        environ = {name: value for name, value in everything.items() if name not in defaults}
        subprocess.run(
            [sys.executable, "-m", "shared.upkeep.provisioning"],
            cwd=earlier, env={**os.environ, **environ}, check=True,
        )  # fmt: skip
        archives: list[str] = []
        with host_of(earlier, tmp_path / "before", environ) as before:
            archives.append(upload(before, "first", tries=3))
            wait_for(
                lambda: started(before, archives[0]), seconds=60, what="parsing"
            )  # and the rest in flight
            run(provision(settings))
            with host_of(ROOT, tmp_path / "now", environ) as now:
                archives += [upload(now, "second"), upload(before, "third", tries=3)]
                wait_for(lambda: started(now, archives[2]), seconds=90, what="parsing beside each other")
                run(with_clients(settings, lambda clients: plant(clients, archives[0])))
                before.service.stop(60)
                archives.append(upload(now, "fourth"))
                wait_for(lambda: started(now, archives[3]), seconds=90, what="parsing by this version alone")
                with host_of(earlier, tmp_path / "back", environ) as back:
                    archives.append(upload(back, "fifth", tries=3))
                    now.service.stop(60)
                    archives.append(upload(back, "sixth", tries=3))
                    wait_until_complete(back, archives, settings)
            with host_of(ROOT, tmp_path / "again", environ) as again:
                wait_until_complete(again, archives, settings)
                for archive in archives:
                    detail = again.get(f"/api/archives/{archive}").json()
                    assert detail["message_count"] == 60, detail
                run(with_clients(settings, requeue_own_fault))  # of documents that are done by now
                wait_for(lambda: not run(with_clients(settings, letters)), seconds=90, what="no dead letter")
                reports = again.get("/api/reports?limit=200&type=thread").json()["items"]
        assert len(archives) == 6
        assert {report["source"] for report in reports} == {
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
        }
        assert len(reports) == 6 * 20
        assert run(with_clients(settings, letters)) == {}
        assert run(with_clients(settings, lambda clients: field_of(clients, archives[0]))) == {"kept": True}


async def with_clients(settings: Any, work: Any) -> Any:
    clients = await Clients.connect(settings)
    try:
        return await work(clients)
    finally:
        await clients.close()
