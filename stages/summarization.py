"""Summarization: make a summary of a thread that is ready, with a verified citation for each claim.

The summary's id contains the thread, its version, the template and the model, so earlier summaries stay.
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
MAX_CONFLICTS = 5  # attempts to set the thread's summary while other workers change the thread


class _OutdatedRequestError(Exception):
    """The thread has changed since the request. The change, or else the sweep, requests the newer version."""


async def summarize_threads(event: Event[SummarizationRequested], context: StageContext) -> StageResult:
    """Make and announce the summary of each thread. A changed vote thread is read again afterwards."""
    data = event.data
    check_backend(data, context.clients.settings)
    versions = data.content_hashes or [""] * len(data.thread_ids)
    announced, unread = list[SummaryComplete](), list[VotePair]()
    for thread, version in zip(data.thread_ids, versions, strict=True):
        try:
            complete, pair = await _summarize_thread(thread, version, data, context)
        except _OutdatedRequestError:
            log.info("thread %s has changed since this summary was requested", thread)
            continue
        announced += [complete] if complete is not None else []
        unread += [pair] if pair is not None and pair.is_unread else []

    async def renew_votes() -> None:
        """Run after announcing. After a crash, the redelivered event finds the vote still unread."""
        for pair in unread:
            await request_reread(context.clients.store, pair.vote, f"result-{pair.result}", context.session)
            await request_summary(context.clients, pair.vote, context.session)

    return StageResult(announced, after_announcing=renew_votes, counts={"threads": len(announced)})


async def _summarize_thread(
    thread_id: str, version: str, data: SummarizationRequested, context: StageContext
) -> tuple[SummaryComplete | None, VotePair | None]:
    started, session = context.runtime.monotonic(), context.session
    thread = await find_resolved(context.clients, thread_id, session)
    if thread is None:
        raise DocumentNotFoundError(f"thread {thread_id} does not exist")
    if thread.inexact:
        await describe_inexact(context.clients, [ReadyThread(thread, version)], session)
        thread = await context.clients.store.read(Thread, thread.id, session)
    id_ = thread_summary_id(thread.id, version, data.prompt_template, data.llm_backend, data.llm_model)
    summary, covers_all = await context.clients.store.find(Summary, id_, session, partition=thread.id), None
    if summary is None:
        async with _summary_lease(id_, data, context):
            summary, covers_all = await _find_or_make(id_, thread, version, data, context)
    number = await _make_current(thread, summary, context, covers_all=covers_all)
    pair = await find_vote_pair(context.clients, thread, session)
    if number is None:
        return None, pair
    complete = summary_complete(
        summary,
        number,
        backend=data.llm_backend,
        model=data.llm_model,
        citations=summary.citations,
        usage=summary.metadata,
        latency_ms=(context.runtime.monotonic() - started) * 1000,
    )
    return complete, pair


def _summary_lease(
    id_: str, data: SummarizationRequested, context: StageContext
) -> AbstractAsyncContextManager[None]:
    """Return a lease, so that of two workers with the same event only one asks the chat model."""
    if data.llm_backend == EXTRACTIVE:
        return nullcontext()
    longest = context.clients.settings.SUMMARY_TIMEOUT_SECONDS + STORING_SECONDS
    lease = Lease(
        context.clients.store,
        f"summary-{id_}",
        context.clients.runtime,
        seconds=longest,
        patience=longest,
        poll=POLL_SECONDS,
    )
    return lease.hold(delete_after=True)


async def _find_or_make(
    id_: str, thread: Thread, version: str, data: SummarizationRequested, context: StageContext
) -> tuple[Summary, bool | None]:
    """Return the summary, and True if it was made here: from all members of the thread as it was read."""
    store, session = context.clients.store, context.session
    waited = data.llm_backend != EXTRACTIVE
    made = await store.find(Summary, id_, session, partition=thread.id) if waited else None
    if made is None:
        made = await _make(id_, thread, version, data, context)
        if await store.create(made, session):
            return made, True
        made = await store.read(Summary, id_, session, partition=thread.id)
    return made, None


async def _make(
    id_: str, thread: Thread, version: str, data: SummarizationRequested, context: StageContext
) -> Summary:
    clients, read_at = context.clients, context.now()
    summarizer = await summarizer_for(clients, data, thread)
    pair = await find_vote_pair(clients, thread, context.session)
    result = await result_mail(clients, thread, pair, context.session)
    window = data.context_window_tokens
    thread_context = await load_context(clients, thread, context.session, window=window, result=result)
    if version not in ("", thread_context.version) and (thread.content_hash or thread.requesting):
        raise _OutdatedRequestError
    corrections = await load_corrections(clients, thread, thread_context, context.session)
    thread_context = corrections.of_context(thread_context)
    before = await _find_uncorrected(thread, version, data, context)
    made = corrections.of_summary(before or await summarizer.summarize(thread_context), thread_context)
    placements = await shown_placements(clients.store, thread, context.session)
    notes = (*made.notes, *thread_context.gaps, *placement_notes(placements))
    made = replace(made, notes=tuple(dict.fromkeys(notes)))
    fields = summary_fields(made, thread, thread_context.messages)
    reading = corrections.marked(fields["reading"]).model_copy(update={"placements": placements})
    fields["reading"] = marked_claims(reading, thread_context.marks)
    fields["metadata"].flags = dict(thread_context.flags)
    if pair is not None and result is not None:
        fields["metadata"].result_thread = pair.result
    return Summary(
        id=id_,
        summary_id=id_,
        scope=thread.id,
        thread_id=thread.id,
        thread_ids=[thread.id],
        summary_type=SummaryType.THREAD,
        generated_at=read_at,  # a later summary has read more, however long each took to make
        created_at=context.now(),
        content_hash=version,
        evidence=await evidence_of(clients, [thread], context.session),
        prompt_template=data.prompt_template,
        **fields,
    )


async def _find_uncorrected(
    thread: Thread, version: str, data: SummarizationRequested, context: StageContext
) -> ThreadSummary | None:
    """Return the chat model's summary of the same mails before corrections, so that it is not asked again."""
    content = uncorrected_version(version)
    if data.llm_backend == EXTRACTIVE or content == version:
        return None
    id_ = thread_summary_id(thread.id, content, data.prompt_template, data.llm_backend, data.llm_model)
    made = await context.clients.store.find(Summary, id_, context.session, partition=thread.id)
    if made is None or made.reading is None or made.reading.corrections:
        return None
    return thread_summary(made)


async def _make_current(
    thread: Thread, summary: Summary, context: StageContext, *, covers_all: bool | None
) -> int | None:
    """Set the thread's summary unless its current one is better. Return the summary's number, or None.

    `covers_all` tells whether it was made from all members of the thread as read. None means unknown.
    """
    store, session = context.clients.store, context.session
    for _ in range(MAX_CONFLICTS):
        held = None
        if thread.summary_id not in (None, summary.id):
            # A replica may not have it yet.
            held = await store.find_latest(Summary, str(thread.summary_id), session, partition=thread.id)
        if not supersedes(summary, held, thread):
            return None
        if covers_all is None:
            covers_all = await _covers_all(summary, thread, context)
        number = await set_summary(store, thread, summary, session, now=context.now(), covers_all=covers_all)
        if number is not None:
            return number
        thread, covers_all = await _reread_thread(thread, summary, context), None
    raise CurrentChangedError(f"thread {thread.id} changed at every attempt to set its summary")


async def _covers_all(summary: Summary, thread: Thread, context: StageContext) -> bool:
    """Return whether the summary is of the thread's current version, so that the thread is done.

    If a later mail's event is a dead letter, only the sweep finds the thread, and only if it is not done.
    """
    if not summary.content_hash or summary.thread_id is None:
        return True
    return await version_of_members(context.clients, thread, context.session) == summary.content_hash


async def _reread_thread(read: Thread, summary: Summary, context: StageContext) -> Thread:
    """Read the thread at the primary. Raise ThreadMovedError if it was merged or recreated after the read."""
    store, session = context.clients.store, context.session
    now = await read_latest_thread(store, read.id, session)
    if now is None or now.created_at != read.created_at:
        # The summary may quote deleted messages.
        await store.delete(Summary, summary.id, session, partition=read.id)
        raise ThreadMovedError(f"thread {read.id} was deleted and recreated")
    if now.merged_into is not None:
        raise ThreadMovedError(f"thread {read.id} was merged into another")
    return now


def _document_ids(data: SummarizationRequested) -> list[str]:
    return data.thread_ids


SUMMARIZATION = Stage(topology.SUMMARIZATION, summarize_threads, _document_ids)

register_stage(blueprint, SUMMARIZATION)
