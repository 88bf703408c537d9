"""Summarization: a thread that is ready becomes a summary whose every claim is cited and verified.

A summary's id is made of the thread, its version, the template and the model. Earlier ones stay.
"""

import logging
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace

import azure.functions as func

from shared.azure.cosmos.lease import Lease
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import thread_summary_id
from shared.models.reports import Summary
from shared.models.threads import Thread
from shared.models.values import SummaryType
from shared.operations.requeue import request_summary
from shared.pipeline import topology
from shared.pipeline.event_builders import summary_complete
from shared.pipeline.event_types import SummarizationRequested, SummaryComplete
from shared.pipeline.events import Event
from shared.pipeline.readiness import ReadyThread, uncorrected_version, version_of_members
from shared.pipeline.stage import Stage, StageContext, StageResult
from shared.pipeline.state.summaries import (
    CurrentChangedError,
    read_latest_thread,
    supersedes,
)
from shared.pipeline.state.threads import request_reread, set_summary
from shared.summaries.models import ThreadSummary
from shared.summarization.record_flags import marked_claims
from shared.summarization.report_document import evidence_of
from shared.summarization.summarizers import EXTRACTIVE, check_backend, summarizer_for
from shared.summarization.summary_document import load_corrections, summary_fields, thread_summary
from shared.summarization.thread_context import VotePair, find_vote_pair, load_context, result_mail
from shared.thread_store.moving import ThreadMovedError, find_resolved
from shared.thread_store.placements import placement_notes, shown_placements
from shared.thread_store.thread_documents import describe_inexact
from stages.registration import register_stage

blueprint = func.Blueprint()
STORING_SECONDS = 60.0
POLL_SECONDS = 0.5
log = logging.getLogger(__name__)
MAX_OFFERS = 5  # of a summary to its thread: others may change the thread at the same time


class _OutdatedRequestError(Exception):
    """The thread has other content by now: its change, or else the sweep, asks for a summary of that."""


async def summarize(event: Event[SummarizationRequested], work: StageContext) -> StageResult:
    data = event.data
    check_backend(data, work.clients.settings)
    versions = data.content_hashes or [""] * len(data.thread_ids)
    announced, unread = list[SummaryComplete](), list[VotePair]()
    for thread, version in zip(data.thread_ids, versions, strict=True):
        try:
            complete, pair = await _summarize_thread(thread, version, data, work)
        except _OutdatedRequestError:
            log.info("thread %s has another version than the one that a summary was asked for", thread)
            continue
        announced += [complete] if complete is not None else []
        unread += [pair] if pair is not None and pair.is_unread else []

    async def renew_votes() -> None:
        """A crash before it leads to the same event again, which finds the vote still unread."""
        for pair in unread:
            await request_reread(work.clients.store, pair.vote, f"result-{pair.result}", work.session)
            await request_summary(work.clients, pair.vote, work.session)

    return StageResult(announced, after_announcing=renew_votes, counts={"threads": len(announced)})


async def _summarize_thread(
    thread_id: str, version: str, data: SummarizationRequested, work: StageContext
) -> tuple[SummaryComplete | None, VotePair | None]:
    started, session = work.runtime.monotonic(), work.session
    thread = await find_resolved(work.clients, thread_id, session)
    if thread is None:
        raise DocumentNotFoundError(f"thread {thread_id} does not exist")
    if thread.inexact:
        await describe_inexact(work.clients, [ReadyThread(thread, version)], session)
        thread = await work.clients.store.read(Thread, thread.id, session)
    id_ = thread_summary_id(thread.id, version, data.prompt_template, data.llm_backend, data.llm_model)
    summary, covers_all = await work.clients.store.find(Summary, id_, session, partition=thread.id), None
    if summary is None:
        async with _turn(id_, data, work):
            summary, covers_all = await _made_once(id_, thread, version, data, work)
    number = await _offer(thread, summary, work, covers_all=covers_all)
    pair = await find_vote_pair(work.clients, thread, session)
    if number is None:
        return None, pair
    complete = summary_complete(
        summary,
        number,
        backend=data.llm_backend,
        model=data.llm_model,
        citations=summary.citations,
        usage=summary.metadata,
        latency_ms=(work.runtime.monotonic() - started) * 1000,
    )
    return complete, pair


def _turn(id_: str, data: SummarizationRequested, work: StageContext) -> AbstractAsyncContextManager[None]:
    """Of two workers with the same event one waits for the other, so that a chat model is asked once."""
    if data.llm_backend == EXTRACTIVE:
        return nullcontext()
    longest = work.clients.settings.SUMMARY_TIMEOUT_SECONDS + STORING_SECONDS
    lease = Lease(
        work.clients.store,
        f"summary-{id_}",
        work.clients.runtime,
        seconds=longest,
        patience=longest,
        poll=POLL_SECONDS,
    )
    return lease.held(for_good=True)


async def _made_once(
    id_: str, thread: Thread, version: str, data: SummarizationRequested, work: StageContext
) -> tuple[Summary, bool | None]:
    """The summary; True beside one that was made now, of all that the thread had when it was read."""
    store, session = work.clients.store, work.session
    waited = data.llm_backend != EXTRACTIVE
    made = await store.find(Summary, id_, session, partition=thread.id) if waited else None
    if made is None:
        made = await _make(id_, thread, version, data, work)
        if await store.create(made, session):
            return made, True
        made = await store.read(Summary, id_, session, partition=thread.id)
    return made, None


async def _make(
    id_: str, thread: Thread, version: str, data: SummarizationRequested, work: StageContext
) -> Summary:
    clients, read_at = work.clients, work.now()
    summarizer = await summarizer_for(clients, data, thread)
    pair = await find_vote_pair(clients, thread, work.session)
    result = await result_mail(clients, thread, pair, work.session)
    window = data.context_window_tokens
    context = await load_context(clients, thread, work.session, window=window, result=result)
    if version not in ("", context.version) and (thread.content_hash or thread.requesting):
        raise _OutdatedRequestError
    corrections = await load_corrections(clients, thread, context, work.session)
    context = corrections.of_context(context)
    before = await _made_uncorrected(thread, version, data, work)
    made = corrections.of_summary(before or await summarizer.summarize(context), context)
    placements = await shown_placements(clients.store, thread, work.session)
    notes = (*made.notes, *context.gaps, *placement_notes(placements))
    made = replace(made, notes=tuple(dict.fromkeys(notes)))
    fields = summary_fields(made, thread, context.messages)
    reading = corrections.marked(fields["reading"]).model_copy(update={"placements": placements})
    fields["reading"] = marked_claims(reading, context.marks)
    fields["metadata"].flags = dict(context.flags)
    if pair is not None and result is not None:
        fields["metadata"].result_thread = pair.result
    return Summary(
        id=id_,
        summary_id=id_,
        scope=thread.id,
        thread_id=thread.id,
        thread_ids=[thread.id],
        summary_type=SummaryType.THREAD,
        generated_at=read_at,  # the later one has read more, however long each took to be made
        created_at=work.now(),
        content_hash=version,
        evidence=await evidence_of(clients, [thread], work.session),
        prompt_template=data.prompt_template,
        **fields,
    )


async def _made_uncorrected(
    thread: Thread, version: str, data: SummarizationRequested, work: StageContext
) -> ThreadSummary | None:
    """The summary of a chat model of the same mails before corrections: the model is not asked again."""
    content = uncorrected_version(version)
    if data.llm_backend == EXTRACTIVE or content == version:
        return None
    id_ = thread_summary_id(thread.id, content, data.prompt_template, data.llm_backend, data.llm_model)
    made = await work.clients.store.find(Summary, id_, work.session, partition=thread.id)
    if made is None or made.reading is None or made.reading.corrections:
        return None
    return thread_summary(made)


async def _offer(
    thread: Thread, summary: Summary, work: StageContext, *, covers_all: bool | None
) -> int | None:
    """Name it in the thread, unless the thread has a better one. Its number; None where it is not named.

    `covers_all`: whether it was made of all that the thread had when it was read; None where that is unknown.
    """
    store, session = work.clients.store, work.session
    for _ in range(MAX_OFFERS):
        held = None
        if thread.summary_id not in (None, summary.id):
            # A replica may not show it yet.
            held = await store.find_latest(Summary, str(thread.summary_id), session, partition=thread.id)
        if not supersedes(summary, held, thread):
            return None
        if covers_all is None:
            covers_all = await _covers_all(summary, thread, work)
        number = await set_summary(store, thread, summary, session, now=work.now(), covers_all=covers_all)
        if number is not None:
            return number
        thread, covers_all = await _check_place(thread, summary, work), None
    raise CurrentChangedError(f"thread {thread.id} changed at every attempt to give it a summary")


async def _covers_all(summary: Summary, thread: Thread, work: StageContext) -> bool:
    """Whether the thread has this version now, and no mail has come since it was requested.

    Where that mail's event is a dead letter, only the sweep finds the thread, which is not done then.
    """
    if not summary.content_hash or summary.thread_id is None:
        return True
    return await version_of_members(work.clients, thread, work.session) == summary.content_hash


async def _check_place(read: Thread, summary: Summary, work: StageContext) -> Thread:
    """The thread at the primary. ThreadMovedError where it was merged or made anew since it was read."""
    store, session = work.clients.store, work.session
    now = await read_latest_thread(store, read.id, session)
    if now is None or now.created_at != read.created_at:
        # The summary may quote deleted messages.
        await store.delete(Summary, summary.id, session, partition=read.id)
        raise ThreadMovedError(f"thread {read.id} was made anew")
    if now.merged_into is not None:
        raise ThreadMovedError(f"thread {read.id} was merged into another")
    return now


def _documents(data: SummarizationRequested) -> list[str]:
    return data.thread_ids


SUMMARIZATION = Stage(topology.SUMMARIZATION, summarize, _documents)

register_stage(blueprint, SUMMARIZATION)
