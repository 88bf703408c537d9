"""Each kind of damage is planted, found, and repaired by the pipeline itself."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Patch, RawDocument, Session
from shared.core.ids import chunk_id, chunk_set, scope_id, thread_id
from shared.models.queries.named_query import NamedQuery
from shared.models.records import Run, RunStatus
from shared.models.reports import Report, Summary
from shared.models.threads import Chunk, Message, Thread
from shared.operations.integrity.checks import Finding, FindingKind
from shared.operations.integrity.repair import REPAIRS
from shared.operations.integrity.run import VerifyOptions, verify
from shared.pipeline.events import parse_event
from shared.pipeline.stage import Stage
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.operations.removal.finished import embed_all, take_all_in
from tests.stages.mail_in import MailIn, mail, mail_in
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.index_rows import indexed
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALL_ARCHIVES = NamedQuery("everything", "archives", "SELECT * FROM c")
TEXT = "I think that this is right, and here is why it is so."
ARCHIVE = (
    mail(0, subject="Require TLS 1.3", body=f"I propose it. {TEXT}")
    + mail(1, parent=0, body=f"I support this. {TEXT}")
    + mail(2, subject="Lunch", body=f"Where do we eat? {TEXT}")
    + mail(3, parent=2, body="> only a quote")
)
ROOT, OTHER = thread_id("<m0@example.org>", "list"), thread_id("<m2@example.org>", "list")
STAGES: dict[str, Stage[Any] | None] = {
    "parsing": PARSING,
    "chunking": CHUNKING,
    "embedding": None,  # vectors of the test
    "summarization": SUMMARIZATION,
    "reporting": REPORTING,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    async with mail_in(cloud, bus_service) as ready:
        await take_all_in(ready, ARCHIVE)
        yield ready


def later() -> datetime:
    return datetime.now(UTC) + timedelta(hours=2)


async def found(place: MailIn, now: Callable[[], datetime] = later) -> list[Finding]:
    findings: list[Finding] = []
    done = await verify(with_clock(place.clients, now), VerifyOptions(found=findings.append))
    assert done.errors == []
    return findings


async def work_off(place: MailIn) -> None:
    """Run the stages on the events of the repair, until no event is left."""
    worked, place.now = True, place.now + timedelta(minutes=1)
    while worked:
        worked = False
        for queue, stage in STAGES.items():
            receiver = await place.place.receiver(queue)
            while await receiver.peek_messages(max_message_count=1):
                for message in await receiver.receive_messages(max_message_count=20, max_wait_time=5):
                    event = parse_event(b"".join(message.body))
                    await receiver.complete_message(message)
                    worked = True
                    if stage is None:
                        await embed_all(place)
                    else:
                        await place.clients.bus.publish(await place.run(stage, event))


async def one(place: MailIn, container: str, thread: str) -> dict[str, Any]:
    query = NamedQuery("one", container, "SELECT TOP 1 * FROM c WHERE c.thread_id = @thread")
    (row,) = [document async for document in place.clients.store.query(query, Session(), thread=thread)]
    return row


def vector(chunk: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {"chunk_id": chunk, "thread_id": ROOT, "embedding": [1.0, 0, 0, 0], "embedding_date": now}


async def lose_a_vector(place: MailIn) -> None:
    await place.clients.index.delete([(await one(place, "chunks", ROOT))["id"]])


async def leave_a_vector(place: MailIn) -> None:
    await place.clients.index.upsert([vector("feedfeedfeedfeed")])


async def misplace_a_vector(place: MailIn) -> None:
    chunk = (await one(place, "chunks", OTHER))["id"]
    await place.clients.index.upsert([{"chunk_id": chunk, "thread_id": ROOT}])


async def lose_chunks(place: MailIn) -> None:
    chunk = await one(place, "chunks", OTHER)
    await place.clients.index.delete([chunk["id"]])
    await place.clients.store.delete(Chunk, chunk["id"], Session())


async def leave_a_chunk(place: MailIn) -> None:
    stray = {**(await one(place, "chunks", ROOT)), "id": "beef", "chunk_id": "beef", "message_key": "gone"}
    await place.clients.store.upsert(Chunk.model_validate(stray), Session())
    await place.clients.index.upsert([vector("beef")])


async def leave_an_earlier_text(place: MailIn) -> None:
    chunk = await one(place, "chunks", ROOT)
    id_ = chunk_id(chunk["message_key"], chunk_set(1, "whole"), 0)
    await place.clients.store.upsert(Chunk.model_validate({**chunk, "id": id_, "chunk_id": id_}), Session())
    await place.clients.index.upsert([vector(id_)])


async def lose_a_thread(place: MailIn) -> None:
    await place.clients.store.delete(Thread, OTHER, Session())


async def lose_a_message(place: MailIn) -> None:
    message = await one(place, "messages", OTHER)
    await place.clients.store.delete(Message, message["id"], Session())


async def miscount(place: MailIn) -> None:
    await place.clients.store.patch(Thread, Patch(ROOT, set={"message_count": 1}), Session())


async def current_summary(place: MailIn, thread: str) -> Summary:
    thread_ = await place.clients.store.read(Thread, thread, Session())
    return await place.clients.store.read(Summary, str(thread_.summary_id), Session(), partition=thread)


async def break_a_citation(place: MailIn) -> None:
    summary = await current_summary(place, ROOT)
    wrong = [{**citation.model_dump(), "quote": "nobody said this"} for citation in summary.citations]
    await place.clients.store.patch(
        Summary, Patch(summary.id, partition=ROOT, set={"citations": wrong}), Session()
    )


async def leave_a_summary(place: MailIn) -> None:
    summary = await current_summary(place, ROOT)
    stray = summary.model_copy(
        update={"id": "stray", "summary_id": "stray", "thread_id": "gone", "scope": "gone"}
    )
    await place.clients.store.upsert(stray, Session())


async def lose_a_report(place: MailIn) -> None:
    await place.clients.store.delete(Report, scope_id(ROOT), Session(), partition=ROOT)


async def leave_a_report(place: MailIn) -> None:
    report = await one(place, "reports", ROOT)
    stray = {**report, "id": scope_id("stray"), "scope": "stray", "summary_id": "gone"}
    await place.clients.store.upsert(Report.model_validate(stray), Session())


async def leave_an_entry(place: MailIn) -> None:
    """Change a subject entry of the thread so that it names another thread, too."""
    entry = next(entry for entry in await place.stored("entries") if entry["kind"] == "subject")
    changed = {**entry, "threads": {**entry["threads"], "gone": [1, 1]}}
    raw = RawDocument("threads", entry["pk"], changed)
    await place.clients.store.upsert_all([raw], Session())


Plant = Callable[[MailIn], Awaitable[None]]
STRAYS: dict[Plant, FindingKind] = {
    leave_a_vector: FindingKind.VECTOR_WITHOUT_CHUNK,
    leave_a_chunk: FindingKind.CHUNK_WITHOUT_MESSAGE,
    leave_an_earlier_text: FindingKind.CHUNK_STALE,
    leave_a_summary: FindingKind.SUMMARY_WITHOUT_THREAD,
    leave_a_report: FindingKind.REPORT_WITHOUT_SUMMARY,
    leave_an_entry: FindingKind.ENTRY_WITHOUT_THREAD,
}
LOSSES: dict[Plant, FindingKind] = {
    lose_a_vector: FindingKind.CHUNK_WITHOUT_VECTOR,
    misplace_a_vector: FindingKind.VECTOR_MISPLACED,
    lose_a_report: FindingKind.SUMMARY_WITHOUT_REPORT,
}
MAILS: dict[Plant, FindingKind] = {
    lose_a_message: FindingKind.THREAD_COUNT_WRONG,
    break_a_citation: FindingKind.CITATION_BROKEN,
}
CHUNKS: dict[Plant, FindingKind] = {
    lose_chunks: FindingKind.MESSAGE_WITHOUT_CHUNKS,
    miscount: FindingKind.THREAD_COUNT_WRONG,
}
THREADS: dict[Plant, FindingKind] = {lose_a_thread: FindingKind.MESSAGE_WITHOUT_THREAD}


@pytest.mark.requirement("R-1001", "R-1002")
async def test_nothing_is_wrong_with_what_the_pipeline_made(place: MailIn) -> None:
    assert await found(place) == []


@pytest.mark.parametrize("damage", [STRAYS, LOSSES, MAILS, CHUNKS, THREADS], ids=range(5))
@pytest.mark.requirement("R-1001", "R-1002")
async def test_damage_is_found_and_repaired_and_then_gone(
    place: MailIn, damage: dict[Plant, FindingKind]
) -> None:
    for plant in damage:
        await plant(place)
    assert await found(place, lambda: datetime.now(UTC)) == []  # it may be work in progress
    streamed: list[Finding] = []
    done = await verify(
        with_clock(place.clients, later),
        VerifyOptions(repair=True, found=streamed.append, requested_by="test"),
    )
    assert {problem.kind for problem in streamed} >= set(damage.values())
    assert done.errors == []
    for kind in damage.values():
        assert done.counts[kind]["repaired"] == done.counts[kind]["found"] >= 1
    await work_off(place)
    if await found(place):  # the next run finds a summary that was made of damaged data
        await verify(with_clock(place.clients, later), VerifyOptions(repair=True))
        await work_off(place)
    assert await found(place) == []


async def test_a_chunk_with_the_label_of_another_thread_gets_that_of_its_message(place: MailIn) -> None:
    chunk = await one(place, "chunks", ROOT)
    await place.clients.store.patch(Chunk, Patch(chunk["id"], set={"thread_id": "gone"}), Session())
    await place.clients.index.upsert([{"chunk_id": chunk["id"], "thread_id": "gone"}])
    done = await verify(with_clock(place.clients, later), VerifyOptions(repair=True, requested_by="test"))
    assert done.counts[FindingKind.CHUNK_MISLABELLED] == {"found": 1, "repaired": 1}
    await work_off(place)
    assert (await place.clients.store.read(Chunk, chunk["id"], Session())).thread_id == ROOT
    assert (await indexed(place.clients.index, chunk["id"]) or {})["thread_id"] == ROOT


async def test_a_lost_file_is_found_and_no_repair_is_promised(place: MailIn) -> None:
    (archive,) = [row async for row in place.clients.store.query(ALL_ARCHIVES, Session())]
    path = archive["file_path"]
    content = b"".join([piece async for piece in place.clients.blobs.read(ARCHIVES_CONTAINER, path)])
    await place.clients.blobs.delete(ARCHIVES_CONTAINER, path)
    (finding,) = await found(place)
    assert (finding.kind, finding.id) == (FindingKind.ARCHIVE_WITHOUT_FILE, archive["id"])
    assert path in finding.detail
    assert finding.kind not in REPAIRS
    done = await verify(with_clock(place.clients, later), VerifyOptions(repair=True))
    assert done.counts[finding.kind] == {"found": 1, "repaired": 0}
    await place.clients.blobs.upload(ARCHIVES_CONTAINER, path, content)
    assert await found(place) == []


@pytest.mark.requirement("R-1001", "R-1002")
async def test_a_look_without_repair_leaves_its_report_and_changes_nothing(place: MailIn) -> None:
    await leave_a_vector(place)
    for _ in range(2):
        done = await verify(with_clock(place.clients, later), VerifyOptions(requested_by="ops"))
        assert done.counts[FindingKind.VECTOR_WITHOUT_CHUNK] == {"found": 1, "repaired": 0}
    kept = await place.clients.store.read(Run, done.id, Session(), partition="verify")
    assert (kept.status, kept.dry_run, kept.counts) == (RunStatus.SUCCEEDED, True, done.counts)
    assert kept.examples == [
        {
            "kind": "vector_without_chunk", "container": "index", "id": "feedfeedfeedfeed",
            "partition": ROOT, "detail": "there is no such chunk",
        }
    ]  # fmt: skip
    await place.clients.index.delete(["feedfeedfeedfeed"])
