"""Dead letters are deleted with the archive or source that they are about, and with no other."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import AutoLockRenewer

from shared.azure.classify import classify
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.core.errors import DocumentNotFoundError, ErrorKind
from shared.core.ids import removal_id, thread_id
from shared.models.queries.named_query import NamedQuery
from shared.models.records import Audit, AuditStatus
from shared.models.sources import Operation, OperationStatus, Removal
from shared.operations.audit import Operator
from shared.operations.deadletters.journal import CONTAINER, DELETE, PURGE, RESTORE, Journal
from shared.operations.deadletters.operations import request_operation, run_operation
from shared.operations.removal.letters import ArchiveJudge, DeadLettersLeftError
from shared.operations.removal.requests import request_removal
from shared.operations.removal.run import RemovalRun, run_removal
from shared.pipeline import event_types as data
from tests.operations.removal.finished import FIRST, NOW, SECOND, everything, finish, take_all_in
from tests.ops.environment import LOCK_SECONDS, OpsPlace, namespace_with_short_locks
from tests.stages.mail_in import NOW as ARRIVED
from tests.stages.mail_in import MailIn, archive_of, ingested, mail_in
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import RunningService
from tests.support.toy_stages import Crash

LIST = "letters"
ME = Operator("ada@example.org")
ROOT, LUNCH, OTHER = (thread_id(f"<m{number}@example.org>", LIST) for number in (0, 5, 7))
AUDITS = NamedQuery("audits", "audits", "SELECT * FROM c")
QUEUES = (
    "parsing", "chunking", "embedding", "orchestration", "summarization", "reporting", "failures", "removal",
    "ingestion",
)  # fmt: skip


@pytest.fixture
def short_locks(tmp_path: Path) -> Iterator[RunningService]:
    """A namespace for each test, because emptying the queues of the previous test takes ten times as long."""
    with namespace_with_short_locks(tmp_path) as running:
        yield running


def body_of(event: data.EventData | dict[str, Any] | bytes) -> bytes:
    if isinstance(event, data.EventData):
        return event_of(event).to_json()
    return event if isinstance(event, bytes) else json.dumps(event).encode()


class Letters(OpsPlace):
    """Two archives that share a message, and a name for each dead letter."""

    mail: MailIn
    first: str
    second: str

    async def put(self, queue: str, name: str, event: data.EventData | dict[str, Any] | bytes) -> None:
        if isinstance(event, data.EventData):
            message = to_message(event_of(event))
        else:
            message = ServiceBusMessage(body_of(event))
        message.message_id = name
        await self.dead_letter([message], queue=queue)

    async def put_all(self, queue: str, events: dict[str, Any]) -> None:
        for name, event in events.items():
            await self.put(queue, name, event)

    async def names(self) -> list[str]:
        # Read all queues at once, here and below, because opening links takes most of the time.
        found = await asyncio.gather(*map(self.dead, QUEUES))
        return sorted(str(letter.message_id) for letters in found for letter in letters)

    async def audits(self) -> list[Audit]:
        found = [Audit.model_validate(row) async for row in self.clients.store.query(AUDITS, Session())]
        return [audit for audit in found if audit.action == DELETE]

    async def key_of(self, number: int) -> str:
        messages = await self.mail.stored("messages")
        return str(next(row["id"] for row in messages if row["message_id"] == f"<m{number}@example.org>"))


@asynccontextmanager
async def two_archives(cloud: AppCloud, bus: RunningService) -> AsyncIterator[Letters]:
    async with mail_in(cloud, bus) as mail:
        place = Letters(mail.place, bus)
        await place.clients.blobs.ensure_container(CONTAINER)
        place.mail = mail
        place.first = await take_all_in(mail, FIRST, LIST)
        place.second = await take_all_in(mail, SECOND, LIST)
        for queue in QUEUES:
            place.empty(queue)  # the messages that the stages have sent
        yield place


async def remove(place: Letters, kind: str = "archive", **options: Any) -> Removal:
    target = place.first if kind == "archive" else LIST
    asked = await request_removal(place.clients, kind, target, requested_by="test", now=NOW)
    assert asked is not None
    return await run_removal(asked.id, place.clients, RemovalRun(**options))


def parsed(archive: str, *keys: str) -> data.JSONParsed:
    return data.JSONParsed(
        archive_id=archive,
        message_count=len(keys),
        message_keys=list(keys),
        thread_count=1,
        thread_ids=[ROOT],
        parsing_duration_seconds=0.1,
    )


def prepared(archive: str | None, *chunks: str) -> data.ChunksPrepared:
    return data.ChunksPrepared(
        message_keys=[],
        chunk_count=len(chunks),
        chunk_ids=list(chunks),
        chunks_ready=True,
        chunking_strategy="own",
        avg_chunk_size_tokens=1.0,
        archive_id=archive,
    )


def requested(*threads: str) -> data.SummarizationRequested:
    return data.SummarizationRequested(
        thread_ids=list(threads),
        top_k=3,
        llm_backend="none",
        llm_model="none",
        context_window_tokens=100,
        prompt_template="t",
    )


def complete(thread: str) -> data.SummaryComplete:
    return data.SummaryComplete(
        thread_id=thread,
        summary_markdown="Ada proposes TLS 1.3.",
        citations=[],
        llm_backend="none",
        llm_model="none",
        tokens_prompt=0,
        tokens_completion=0,
        latency_ms=0.0,
    )


async def letters_about(place: Letters) -> dict[str, tuple[str, Any]]:
    """Return the queue and content of each dead letter, named after its fate when the first archive is deleted."""
    first, second = archive_of(FIRST, LIST), archive_of(SECOND, LIST)
    own, shared, other = [await place.key_of(number) for number in (5, 1, 7)]
    chunks = {row["message_key"]: row["id"] for row in await place.mail.stored("chunks")}
    failed: dict[str, Any] = {"error_message": "no", "error_type": "X", "retry_count": 1}
    return {
        "goes: the archive": ("parsing", ingested(first)),
        "goes: its message": ("chunking", parsed(first.id, own)),
        "goes: its message is gone": ("chunking", parsed(first.id, "0" * 16)),
        "goes: its chunk": ("embedding", prepared(first.id, chunks[own])),
        "goes: its chunk, of a version that named no archive": ("embedding", prepared(None, chunks[own])),
        "goes: its thread": ("summarization", requested(LUNCH)),
        "goes: its summary": ("reporting", complete(LUNCH)),
        "goes: the summary of a thread that loses a message": ("reporting", complete(ROOT)),
        "goes: the failure": (
            "failures",
            data.ParsingFailed(
                archive_id=first.id, file_path="f", messages_parsed_before_failure=0, failed_at=NOW, **failed
            ),
        ),
        "goes: the deletion itself": ("removal", {"removal_id": removal_id("archive", first.id)}),
        "stays: the other archive": ("parsing", ingested(second)),
        "stays: a message of both": ("chunking", parsed(first.id, own, shared)),
        "stays: a message of the other": ("chunking", parsed(second.id, other)),
        "stays: a chunk of both": ("embedding", prepared(first.id, chunks[own], chunks[shared])),
        "stays: a thread of both": ("summarization", requested(LUNCH, ROOT)),
        "stays: a summary of the other": ("reporting", complete(OTHER)),
        "stays: a thread that nobody knows": ("summarization", requested("thread-0000")),
        "stays: no event": ("parsing", b"\xff"),
        "stays: another deletion": ("removal", {"removal_id": removal_id("archive", second.id)}),
        "stays: another version": ("parsing", {"event_type": "ArchiveIngested", "version": "9.0"}),
        "stays: a fetch": ("ingestion", {"operation_id": "nobody's"}),
    }


async def put_letters(place: Letters, queues: Collection[str] = QUEUES) -> list[str]:
    """Put the dead letters of these queues, and return the names that must stay."""
    about = await letters_about(place)
    letters = {name: letter for name, letter in about.items() if letter[0] in queues}
    by_queue: dict[str, dict[str, Any]] = {}
    for name, (queue, event) in letters.items():
        by_queue.setdefault(queue, {})[name] = event
    await asyncio.gather(*(place.put_all(queue, events) for queue, events in by_queue.items()))
    assert await place.names() == sorted(letters)
    return sorted(name for name in letters if name.startswith("stays"))


async def test_a_letter_belongs_to_the_archive_by_what_it_names(
    cloud: AppCloud, short_locks: RunningService
) -> None:
    async with two_archives(cloud, short_locks) as place:
        letters = await letters_about(place)
        judge = ArchiveJudge(place.clients, place.first, Session())
        judged = await judge.of([(queue, body_of(event)) for queue, event in letters.values()])
        going = [name for name, belongs in zip(letters, judged, strict=True) if belongs]
        assert going == [name for name in letters if name.startswith("goes")]


@pytest.mark.parametrize(
    ("queues", "going"),
    [
        pytest.param(("parsing", "chunking"), 3, id="two queues"),
        pytest.param(QUEUES, 10, marks=pytest.mark.slow, id="all queues"),  # each queue takes two seconds
    ],
)
async def test_an_archive_takes_its_dead_letters_with_it_and_no_other(
    cloud: AppCloud, short_locks: RunningService, queues: tuple[str, ...], going: int
) -> None:
    async with two_archives(cloud, short_locks) as place:
        staying = await put_letters(place, queues)
        done = await remove(place)
        assert (done.status, done.counts["dead_letters"]) == (OperationStatus.SUCCEEDED, going)
        assert await place.names() == staying
        (audit,) = await place.audits()
        assert (audit.status, audit.actor, audit.via) == (AuditStatus.SUCCEEDED, "test", "deletion")
        assert (audit.selection["archive"], audit.counts["deleted"]) == (place.first, going)
        names = await place.clients.blobs.names(CONTAINER, "")
        assert not [name for name in names if audit.id in name]  # no trace of them is stored


@pytest.mark.slow
async def test_what_was_purged_of_it_goes_too_and_what_was_purged_with_it_can_be_restored(
    cloud: AppCloud, short_locks: RunningService
) -> None:
    async with two_archives(cloud, short_locks) as place:
        first, second = archive_of(FIRST, LIST), archive_of(SECOND, LIST)
        await place.put("parsing", "goes", ingested(first))
        await place.put("parsing", "stays", ingested(second))
        purge = await request_operation(place.clients, PURGE, {"queues": ["parsing"]}, ME)
        assert (await run_operation(place.clients, purge.id, patience=15)).counts["purged"] == 2
        await place.put("reporting", "goes", complete(ROOT))
        alone = await request_operation(place.clients, PURGE, {"queues": ["reporting"]}, ME)
        assert (await run_operation(place.clients, alone.id, patience=15)).counts["purged"] == 1
        done = await remove(place)
        assert (done.counts["archived_letters"], done.counts["dead_letters"]) == (2, 0)
        kept = [record async for record in Journal(place.clients.blobs, purge.id).archived()]
        assert [record["message_id"] for record in kept] == ["stays"]
        with pytest.raises(DocumentNotFoundError):
            assert [record async for record in Journal(place.clients.blobs, alone.id).archived()]
        restore = await request_operation(place.clients, RESTORE, {"purge": purge.id}, ME)
        assert (await run_operation(place.clients, restore.id)).counts["restored"] == 1
        assert len(await place.waiting("parsing")) == 1
        # The rest belongs to the other archive. Its deletion removes it from the blob that was written then.
        place.first = place.second
        assert (await remove(place)).counts["archived_letters"] == 1
        with pytest.raises(DocumentNotFoundError):
            assert [record async for record in Journal(place.clients.blobs, purge.id).archived()]


@pytest.mark.slow
async def test_letters_that_another_receiver_holds_do_not_keep_the_documents_and_are_taken_later(
    cloud: AppCloud, short_locks: RunningService
) -> None:
    async with two_archives(cloud, short_locks) as place:
        await place.put("parsing", "held", ingested(archive_of(FIRST, LIST)))
        async with AutoLockRenewer() as renewing, place.clients.bus.dead_letters("parsing") as receiver:
            (held,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
            renewing.register(receiver, held, max_lock_renewal_duration=300)
            with pytest.raises(DeadLettersLeftError):
                await remove(place)
        assert [row["archive_id"] for row in await place.mail.stored("archives")] != []
        assert LUNCH not in [row["id"] for row in await place.mail.stored("threads")]
        assert await place.names() == ["held"]
        done = await run_until_done(place)
        assert done.counts["dead_letters"] == 1
        assert await place.names() == []


async def run_until_done(place: Letters, **options: Any) -> Removal:
    """Run the removal as the broker redelivers its request, until the killed process's locks expire."""
    for _ in range(10):
        try:
            return await remove(place, **options)
        except Exception as error:
            if classify(error).kind is ErrorKind.PERMANENT:
                raise
            await asyncio.sleep(LOCK_SECONDS / 2)  # the end of a lock raises no event
    raise AssertionError("the letters are never free")


@pytest.mark.slow
async def test_killed_at_every_step_the_same_letters_go_and_the_receipt_is_the_same(
    cloud: AppCloud, short_locks: RunningService
) -> None:
    steps: Counter[str] = Counter()

    async with two_archives(cloud, short_locks) as place:
        staying = await put_letters(place)
        calm = await remove(place, progress=lambda step: steps.update([step]))
        assert await place.names() == staying
        await finish(place.mail)
        expected = await everything(place.mail)
        for queue in QUEUES:
            place.empty(queue)
    crashed: set[str] = set()

    def crash(step: str) -> None:
        if step not in crashed:
            crashed.add(step)
            raise Crash

    async with two_archives(cloud, short_locks) as place:
        assert await put_letters(place) == staying
        for _ in range(100):
            try:
                done = await run_until_done(place, progress=crash)
            except Crash:
                continue
            break
        assert crashed == set(steps)
        assert {"letters_counted", "letters_noted", "letters_completed", "letters"} <= crashed
        assert (done.status, done.counts) == (OperationStatus.SUCCEEDED, calm.counts)
        assert done.counts["dead_letters"] == 10
        assert await place.names() == staying
        await finish(place.mail)
        assert await everything(place.mail) == expected


@pytest.mark.slow
async def test_a_source_takes_the_letters_of_its_fetches_with_it(
    cloud: AppCloud, short_locks: RunningService
) -> None:
    async with two_archives(cloud, short_locks) as place:
        for name in (LIST, "others"):
            operation = Operation(id=f"fetch-{name}", source=name, requested_by="test", created_at=ARRIVED)
            await place.clients.store.create(operation, Session())
            await place.put("ingestion", f"fetch of {name}", {"operation_id": operation.id})
        await place.put("parsing", "the second archive", ingested(archive_of(SECOND, LIST)))
        done = await run_until_done(place, kind="source")
        assert (done.status, done.counts["dead_letters"]) == (OperationStatus.SUCCEEDED, 2)
        assert await place.names() == ["fetch of others"]


async def test_without_its_journal_an_operation_deletes_nothing(
    cloud: AppCloud, short_locks: RunningService
) -> None:
    async with two_archives(cloud, short_locks) as place:
        await place.put("parsing", "mine", ingested(archive_of(FIRST, LIST)))
        asked = await request_operation(place.clients, DELETE, {"queues": ["parsing"]}, ME)
        done = await run_operation(place.clients, asked.id, known=asked)
        assert (done.counts["planned"], done.counts["deleted"]) == (0, 0)
        assert await place.names() == ["mine"]
