"""Dead letters whose work is already done are recognized, removed and recorded."""

from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage

from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.models.records import AuditStatus
from shared.models.sources import Archive, ArchiveStatus
from shared.operations.audit import Operator
from shared.operations.deadletters.diagnosis import diagnosed_dead_letters, group_dead_letters
from shared.operations.deadletters.operations import resolve_satisfied
from shared.pipeline.event_types import (
    ArchiveIngested,
    ChunksPrepared,
    EventData,
    JSONParsed,
    SummarizationRequested,
    SummaryComplete,
)
from shared.pipeline.events import Event
from tests.ops.environment import OpsPlace
from tests.stages.mail_in import archive_of
from tests.support.documents import new_chunk, new_message, new_report, new_summary, new_thread
from tests.support.events import event_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
ACTOR = Operator("sweep", "timer")


async def store_archive(place: OpsPlace, event: Event[ArchiveIngested], status: ArchiveStatus) -> None:
    content = place.bench.name("x").encode()
    archive = archive_of(content).model_copy(
        update={"id": event.data.archive_id, "archive_id": event.data.archive_id, "status": status}
    )
    await place.clients.store.upsert(Archive.model_validate(archive.to_cosmos()), Session())


async def test_letters_whose_documents_are_done_are_counted_and_resolved_and_the_others_stay(
    place: OpsPlace,
) -> None:
    done, pending, given_up, missing = await place.failed_events(4, "TimeoutError", "it was down")
    await store_archive(place, done, ArchiveStatus.PROCESSED)
    await store_archive(place, pending, ArchiveStatus.PENDING)
    await store_archive(place, given_up, ArchiveStatus.FAILED_MAX_RETRIES)
    await place.dead_letter([ServiceBusMessage(b"no event", message_id=place.bench.name("no event"))])
    groups = group_dead_letters(await diagnosed_dead_letters(place.clients, ["parsing"], judged=True))
    assert {group.error_type: (group.count, group.satisfied) for group in groups} == {
        "TimeoutError": (4, 1),
        "": (1, 0),
    }
    audit = await resolve_satisfied(place.clients, ACTOR)
    assert audit is not None
    assert (audit.action, audit.status, audit.actor) == ("dlq.resolve", AuditStatus.SUCCEEDED, "sweep")
    assert (audit.counts["planned"], audit.counts["resolved"]) == (1, 1)
    left = {letter.message_id for letter in await place.dead()}
    assert left == {
        *(letter.message_id for letter in (pending, given_up, missing)),
        place.bench.name("no event"),
    }
    assert await resolve_satisfied(place.clients, ACTOR) is None


def parsed(key: str, thread: str) -> JSONParsed:
    return JSONParsed(
        archive_id="a1", message_count=1, message_keys=[key], thread_count=1, thread_ids=[thread],
        parsing_duration_seconds=0.1, message_threads=[thread],
    )  # fmt: skip


def prepared(chunk: str, thread: str) -> ChunksPrepared:
    return ChunksPrepared(
        message_keys=["m"], chunk_count=1, chunk_ids=[chunk], chunks_ready=True, chunking_strategy="toy",
        avg_chunk_size_tokens=1.0, chunk_threads=[thread],
    )  # fmt: skip


def requested(thread: str) -> SummarizationRequested:
    return SummarizationRequested(
        thread_ids=[thread], top_k=1, llm_backend="x", llm_model="x", context_window_tokens=10,
        prompt_template="x",
    )  # fmt: skip


def summarized(thread: str, summary: str) -> SummaryComplete:
    return SummaryComplete(
        thread_id=thread, summary_markdown="", citations=[], llm_backend="x", llm_model="x", tokens_prompt=0,
        tokens_completion=0, latency_ms=0.0, summary_id=summary,
    )  # fmt: skip


@pytest.mark.parametrize("queue", ["chunking", "embedding", "summarization", "reporting"])
async def test_each_stage_has_its_own_idea_of_done(place: OpsPlace, queue: str) -> None:
    done, undone = place.bench.name("done"), place.bench.name("undone")
    events: dict[str, list[EventData]] = {
        "chunking": [parsed(done, "t1"), parsed(undone, "t1")],
        "embedding": [prepared(done, "t1"), prepared(undone, "t1")],
        "summarization": [requested(done), requested(undone)],
        "reporting": [summarized(done, done), summarized(undone, undone)],
    }
    stored: dict[str, list[Any]] = {
        "chunking": [new_message(done, status="processed"), new_message(undone)],
        "embedding": [
            new_chunk(done, status="processed", embedding_generated=True),
            new_chunk(undone, status="failed_max_retries"),
        ],
        "summarization": [new_thread(done, status="processed"), new_thread(undone)],
        "reporting": [new_report(new_summary(done, thread=done))],
    }
    await place.clients.store.upsert_all(stored[queue], Session())
    letters = [to_message(event_of(data)) for data in events[queue]]
    await place.dead_letter(letters, queue=queue)
    found = await diagnosed_dead_letters(place.clients, [queue], judged=True)
    assert {checked.dead_letter.message_id: checked.satisfied for checked in found} == {
        str(letters[0].message_id): True,
        str(letters[1].message_id): False,
    }


@pytest.mark.parametrize("reported", [True, False])
async def test_a_summary_that_another_has_replaced_needs_no_report_once_that_one_has(
    place: OpsPlace, reported: bool
) -> None:
    replaced, current, thread_id = (place.bench.name(name) for name in ("replaced", "current", "thread"))
    report = f"rpt-{current}" if reported else None
    thread = new_thread(thread_id, summary_id=current, report_id=report)
    await place.clients.store.upsert(thread, Session())
    letters = [to_message(event_of(summarized(thread_id, id_))) for id_ in (replaced, current)]
    await place.dead_letter(letters, queue="reporting")
    assert await satisfied_by_id(place, "reporting", letters) == [reported, False]


async def test_a_summary_of_a_thread_that_is_part_of_another_needs_no_report(place: OpsPlace) -> None:
    thread_id, summary_id = place.bench.name("merged"), place.bench.name("old")
    await place.clients.store.upsert(
        new_thread(thread_id, merged_into="t1", summary_id=summary_id), Session()
    )
    letters = [to_message(event_of(summarized(thread_id, summary_id)))]
    await place.dead_letter(letters, queue="reporting")
    assert await satisfied_by_id(place, "reporting", letters) == [True]


async def satisfied_by_id(place: OpsPlace, queue: str, letters: list[ServiceBusMessage]) -> list[bool]:
    found = await diagnosed_dead_letters(place.clients, [queue], judged=True)
    satisfied = {checked.dead_letter.message_id: checked.satisfied for checked in found}
    return [satisfied[str(letter.message_id)] for letter in letters]
