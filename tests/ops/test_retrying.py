"""Failed documents are retried or reset. Other documents are skipped and reported."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import message_key
from shared.models.base import ProcessingStatus
from shared.models.sources import Archive, ArchiveStatus
from shared.models.threads import Message, Thread
from shared.operations.oversight.stuck_documents import (
    collection_named,
    documents_by_id,
    reset_documents,
    retry_documents,
)
from shared.operations.removal.run import run_removal
from shared.pipeline.events import parse_event
from tests.ops.commands import Commands
from tests.ops.environment import OpsPlace, an_archive, read_archive
from tests.support.documents import CREATED

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOW = datetime.now(UTC)


@pytest_asyncio.fixture(loop_scope="module")
async def ops(place: OpsPlace, tmp_path: Path) -> AsyncIterator[Commands]:
    yield Commands(place, tmp_path)


async def failed_thread(place: OpsPlace, name: str, message: ProcessingStatus) -> Thread:
    """Store a failed thread, with one message in this state."""
    id_ = place.bench.name(name)
    node = f"<{id_}@example.org>"
    key = message_key(node, "list")
    thread = Thread(created_at=CREATED,
        id=id_, thread_id=id_, root_message_id=node, archive_id="a1", message_count=1, source="list",
        threading={"members": [{"id": node}], "subjects": []},
        status=ProcessingStatus.FAILED_MAX_RETRIES, attemptCount=3, lastAttemptTime=NOW, lastError="X: y",
    )  # fmt: skip
    only = Message(created_at=CREATED,
        id=key, message_key=key, message_id=node, archive_id="a1", thread_id=id_, status=message,
    )  # fmt: skip
    await place.clients.store.upsert(thread, Session())
    await place.clients.store.upsert(only, Session())
    return thread


async def read_thread(place: OpsPlace, id_: str) -> Thread:
    found: Thread = await place.clients.store.read(Thread, id_, Session())
    return found


async def test_a_thread_that_is_not_ready_is_left_as_it_is_and_holds_up_no_other(
    place: OpsPlace, ops: Commands
) -> None:
    first, waits, last = [
        await failed_thread(place, name, status)
        for name, status in (
            ("first", ProcessingStatus.PROCESSED),
            ("waits", ProcessingStatus.PENDING),
            ("last", ProcessingStatus.PROCESSED),
        )
    ]
    ids = [first.id, waits.id, last.id]
    try:
        ended = await ops("documents", "retry", "threads", *ids, "--yes", "--json")
        assert ended.code == 3
        assert (ended.json()["changed"], [letter["id"] for letter in ended.json()["left"]]) == (
            2,
            [waits.id],
        )
        sent = [parse_event(b"".join(event.body)).data for event in await place.waiting("summarization")]
        assert [event.thread_ids for event in sent] == [[first.id], [last.id]]
        states = {id_: (await read_thread(place, id_)).status for id_ in ids}
        assert states == {
            first.id: ProcessingStatus.PENDING,
            waits.id: ProcessingStatus.FAILED_MAX_RETRIES,
            last.id: ProcessingStatus.PENDING,
        }
        assert (await read_thread(place, waits.id)).attemptCount == 3
        audit = (await ops("audit", "--limit", "1", "--json")).json()[0]
        assert audit["counts"] == {"planned": 3, "changed": 2, "left": 1}
        told = await ops("documents", "retry", "threads", waits.id, "--yes")
        assert (told.code, told.out) == (3, "")
        assert told.err.splitlines()[0].startswith(f"threads/{waits.id} was skipped: it is not ready: ")
        assert told.err.splitlines()[-1] == "0 threads sent (1 skipped)."
    finally:
        place.empty("summarization")


async def test_what_is_done_or_gone_meanwhile_is_left_out_of_a_reset_and_a_retry(place: OpsPlace) -> None:
    wanted = [
        await an_archive(place, name, status=ArchiveStatus.FAILED, attemptCount=1)
        for name in ("done", "gone", "failed")
    ]
    done, gone, failed = wanted
    chosen = await documents_by_id(
        place.clients, collection_named("archives"), [archive.id for archive in wanted]
    )
    await place.clients.store.upsert(done.model_copy(update={"status": ArchiveStatus.PROCESSED}), Session())
    await place.clients.store.delete(Archive, gone.id, Session())
    for act in (reset_documents, retry_documents):
        outcome = await act(place.clients, chosen)
        assert outcome.changed == 1
        assert dict(outcome.left) == {
            done.id: "it is already processed",
            gone.id: f"archives/{gone.id} does not exist",
        }
    assert (await read_archive(place, done.id)).status is ArchiveStatus.PROCESSED
    assert (await read_archive(place, failed.id)).attemptCount == 1


async def test_only_archives_that_were_given_up_are_purged_and_the_rest_is_told_why(
    place: OpsPlace, ops: Commands, tmp_path: Path
) -> None:
    gone = await an_archive(place, "gone", status=ArchiveStatus.FAILED_MAX_RETRIES)
    waits = await an_archive(place, "waits", status=ArchiveStatus.PENDING)
    chosen = ("archives", gone.id, waits.id, "--output", str(tmp_path / "purged"))
    ended = await ops("documents", "purge", *chosen, "--yes", "--json")
    assert ended.code == 3
    told = ended.json()
    assert (told["changed"], [left["id"] for left in told["left"]]) == (1, [waits.id])
    assert "not failed" in told["left"][0]["why"]
    assert [(await read_archive(place, archive.id)).removing for archive in (gone, waits)] == [True, False]
    (asked,) = await place.waiting("removal")
    await run_removal(json.loads(b"".join(asked.body))["removal_id"], place.clients)
    with pytest.raises(DocumentNotFoundError):
        await read_archive(place, gone.id)
    place.empty("removal")
