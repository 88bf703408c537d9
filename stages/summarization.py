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
from markdown_it import MarkdownIt

from shared.consensus import analyse_thread
from shared.documents import Chunk, Message, Status, Summary, SummaryType, Thread, read_document
from shared.errors import DocumentNotFoundError, Failure, PermanentError
from shared.events import Event, SummarizationFailed, SummarizationRequested, SummaryComplete
from shared.events.data import EventCitation
from shared.stage import Outcome, Stage, Subject, Work
from shared.stage.functions import register_stage
from shared.store import Patch
from shared.store.queries import CHUNKS_OF_THREAD, MESSAGES_OF_THREAD, OTHER_SUMMARIES
from shared.summaries import (
    ContextChunk,
    ContextMessage,
    ExtractiveSummarizer,
    ThreadContext,
    render_markdown,
)
from shared.summaries.models import ThreadSummary
from shared.threads.moving import resolve_thread

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
        context = await _context(thread, data, work)
        made = await ExtractiveSummarizer().summarize(context)
        summary = _document(id_, thread, version, data, made, work)
        await work.clients.store.create(summary, session)
    await _mark_outdated(summary, work)
    await _note_on_thread(thread, summary, work)
    return _announcement(summary, data, (time.perf_counter() - started) * 1000)


def _summary_id(thread_id: str, version: str, data: SummarizationRequested) -> str:
    identity = [thread_id, version, data.prompt_template, data.llm_backend, data.llm_model]
    return str(uuid.uuid5(_NAMESPACE, json.dumps(identity)))


async def _context(thread: Thread, data: SummarizationRequested, work: Work) -> ThreadContext:
    store, session = work.clients.store, work.session
    messages = [
        read_document(Message, each)
        async for each in store.query(MESSAGES_OF_THREAD, session, partition=thread.id)
    ]
    if len(messages) < thread.message_count:
        raise DocumentNotFoundError(f"{len(messages)} of {thread.message_count} messages are there")
    chunks = [
        read_document(Chunk, each)
        async for each in store.query(CHUNKS_OF_THREAD, session, partition=thread.id)
    ]
    context = [_context_message(each) for each in messages]
    order = {message.id: position for position, message in enumerate(messages)}
    chunks.sort(key=lambda chunk: (order.get(chunk.message_key, len(order)), chunk.chunk_index))
    return ThreadContext(
        thread_id=thread.id,
        subject=thread.subject,
        messages=context,
        chunks=[
            ContextChunk(each.id, each.message_key, each.chunk_index, each.text, each.token_count)
            for each in chunks
        ],
        consensus=analyse_thread(each.for_consensus() for each in context),
        context_window_tokens=data.context_window_tokens,
        top_k=data.top_k,
    )


def _context_message(message: Message) -> ContextMessage:
    return ContextMessage(
        key=message.id,
        message_id=message.message_id,
        sender_email=message.from_.email,
        sender_name=message.from_.name,
        text=message.body_normalized,
        date=message.date,
        subject=message.subject,
        in_reply_to=message.in_reply_to,
    )


def _document(
    id_: str, thread: Thread, version: str, data: SummarizationRequested, made: ThreadSummary, work: Work
) -> Summary:
    markdown = render_markdown(made)
    return Summary(
        id=id_,
        summary_id=id_,
        thread_id=thread.id,
        summary_type=SummaryType.THREAD,
        title=made.title,
        content_markdown=markdown,
        content_html=_html(markdown),
        citations=made.citations,
        generated_by=made.generated_by,
        generated_at=work.now(),
        content_hash=version,
        prompt_template=data.prompt_template,
        metadata=_metadata(thread, made),
    )


def _html(markdown: str) -> str:
    """Without any HTML that the Markdown itself may hold, and with links to safe addresses only."""
    return str(MarkdownIt("js-default", {"html": False, "linkify": False}).render(markdown))


def _metadata(thread: Thread, made: ThreadSummary) -> dict[str, Any]:
    consensus = made.consensus
    stored = thread.to_cosmos()
    return {
        "has_consensus": consensus.has_consensus,
        "consensus_type": consensus.consensus_type.value if consensus.consensus_type else None,
        "reason": consensus.reason,
        "participants": [each.model_dump() for each in thread.participants],
        "first_message_date": stored["first_message_date"],
        "last_message_date": stored["last_message_date"],
        "draft_mentions": thread.draft_mentions,
        "source": thread.source,
        "notes": list(made.notes),
        "outdated": False,
    }


async def _mark_outdated(summary: Summary, work: Work) -> None:
    """Earlier versions of the same thread are kept, and say that they are not the last word."""
    others = [
        each["id"]
        async for each in work.clients.store.query(
            OTHER_SUMMARIES, work.session, partition=str(summary.thread_id), summary=summary.id
        )
    ]
    patches = [Patch(each, str(summary.thread_id), set={"metadata/outdated": True}) for each in others]
    await work.clients.store.patch_all(Summary, patches, work.session)


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
