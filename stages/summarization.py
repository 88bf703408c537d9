"""Summarization: a thread that is ready becomes a summary whose every claim is cited and verified.

A summary's id is made of the thread, its version, the template and the model: so there is one for each,
however often it is asked for. Earlier versions stay, marked as outdated.
"""

import json
import time
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import azure.functions as func

from shared.documents import Status, Summary, SummaryType, Thread
from shared.errors import Failure, PermanentError
from shared.events import Event, SummarizationFailed, SummarizationRequested, SummaryComplete
from shared.events.data import EventCitation
from shared.stage import Outcome, Stage, Subject, Work
from shared.stage.functions import register_stage
from shared.store import Patch
from shared.summaries import ExtractiveSummarizer
from shared.summaries.documents import summary_fields
from shared.summaries.loading import load_context
from shared.summaries.outdated import mark_all_outdated, settle_current
from shared.threads.moving import resolve_thread
from shared.threads.places import ThreadMovedError

__all__ = ["SUMMARIZATION", "blueprint"]

blueprint = func.Blueprint()
EXTRACTIVE = "extractive"
MARKDOWN_IN_EVENT = 4000
_NAMESPACE = uuid.UUID("6f1c1c62-6a3e-4f0a-9b57-2d6f3a5f0c11")


class UnknownBackendError(PermanentError):
    """The event asks for a summarizer that this app does not have."""


async def summarize(event: Event[SummarizationRequested], work: Work) -> Outcome:
    data = event.data
    if data.llm_backend != EXTRACTIVE:
        raise UnknownBackendError(f"llm_backend {data.llm_backend!r} is not one of: {EXTRACTIVE}")
    versions = data.content_hashes or [""] * len(data.thread_ids)
    pairs = zip(data.thread_ids, versions, strict=True)
    announced = [await _summarize_thread(thread, version, data, work) for thread, version in pairs]
    return Outcome(announced, counts={"threads": len(announced)})


async def _summarize_thread(
    thread_id: str, version: str, data: SummarizationRequested, work: Work
) -> SummaryComplete:
    started, session = time.perf_counter(), work.session
    place = await resolve_thread(work.clients, thread_id, session)
    thread = await work.clients.store.read(Thread, place, place, session)
    id_ = _summary_id(place, version, data)
    summary = await work.clients.store.find(Summary, id_, place, session)
    if summary is None:
        summary = await _make(id_, thread, version, data, work)
        await work.clients.store.create(summary, session)
        await _check_place(place, work)
    if await settle_current(work.clients.store, place, session) == summary.id:
        await _note_on_thread(thread, summary, work)
    return _announcement(summary, data, (time.perf_counter() - started) * 1000)


def _summary_id(thread_id: str, version: str, data: SummarizationRequested) -> str:
    identity = [thread_id, version, data.prompt_template, data.llm_backend, data.llm_model]
    return str(uuid.uuid5(_NAMESPACE, json.dumps(identity)))


async def _make(id_: str, thread: Thread, version: str, data: SummarizationRequested, work: Work) -> Summary:
    context = await load_context(
        work.clients, thread, work.session, window=data.context_window_tokens, top_k=data.top_k
    )
    made = await ExtractiveSummarizer().summarize(context)
    return Summary(
        id=id_,
        summary_id=id_,
        scope=thread.id,
        thread_id=thread.id,
        thread_ids=[thread.id],
        summary_type=SummaryType.THREAD,
        generated_at=work.now(),
        content_hash=version,
        prompt_template=data.prompt_template,
        **summary_fields(made, thread, context.messages),
    )


async def _check_place(thread_id: str, work: Work) -> None:
    """A summary of a thread that was merged meanwhile is not the last word on anything."""
    if await resolve_thread(work.clients, thread_id, work.session) != thread_id:
        await mark_all_outdated(work.clients.store, thread_id, work.session)
        raise ThreadMovedError(f"thread {thread_id} was merged into another")


async def _note_on_thread(thread: Thread, summary: Summary, work: Work) -> None:
    done = {
        "summary_id": summary.id,
        "has_consensus": summary.metadata["has_consensus"],
        "consensus_type": summary.metadata["consensus_type"],
        "status": Status.PROCESSED.value,
        "lastError": None,
    }
    await work.clients.store.patch(Thread, Patch(thread.id, thread.id, set=done), work.session)


def _announcement(summary: Summary, data: SummarizationRequested, milliseconds: float) -> SummaryComplete:
    return SummaryComplete(
        thread_id=str(summary.thread_id),
        summary_id=summary.id,
        summary_markdown=summary.content_markdown[:MARKDOWN_IN_EVENT],
        citations=_cited(summary.citations),
        llm_backend=data.llm_backend,
        llm_model=data.llm_model,
        tokens_prompt=0,
        tokens_completion=0,
        latency_ms=round(milliseconds, 1),
    )


def _cited(citations: Sequence[Any]) -> list[EventCitation]:
    return [
        EventCitation(message_id=each.message_id, chunk_id=each.chunk_id, offset=each.offset or 0)
        for each in citations[:100]
    ]


def _failed(
    event: Event[SummarizationRequested],
    failure: Failure,
    attempts: int,
    now: datetime,  # noqa: ARG001 - this event has no time of its own
) -> SummarizationFailed:
    return SummarizationFailed(
        thread_id=event.data.thread_ids[0],
        error_message=failure.message,
        error_type=failure.error_type,
        retry_count=attempts,
    )


def _subjects(data: SummarizationRequested) -> list[Subject]:
    return [Subject(Thread, each, each) for each in data.thread_ids]


SUMMARIZATION = Stage(
    "summarization", SummarizationRequested, summarize, _failed, _subjects, counts_before=True
)

register_stage(blueprint, SUMMARIZATION)
