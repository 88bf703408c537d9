"""Orchestration: request one summary for each version of a thread that is ready.

The first event that sees a new version claims it with a conditional patch and schedules a re-check after the
quiet period (ORCHESTRATION_QUIET_SECONDS). If the version is unchanged then, the summary is requested.
Otherwise the newer version has a claim of its own. After a crash, the redelivered event finds its claim.

    EmbeddingsGenerated --> claim --> SummaryRecheck, scheduled on our own queue
    SummaryRecheck      --> same version? --> SummarizationRequested
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import azure.functions as func

from shared.core.concurrency import batches_of, gather_limited
from shared.core.times import stored_time
from shared.models.threads import Thread
from shared.pipeline import topology
from shared.pipeline.event_builders import summary_request
from shared.pipeline.event_types import EmbeddingsGenerated, SummaryRecheck
from shared.pipeline.events import Event
from shared.pipeline.readiness import ReadyThread, ready_threads
from shared.pipeline.stage import ScheduledEvent, Stage, StageContext, StageResult
from shared.pipeline.state.threads import claim_version, mark_requested
from shared.thread_store.moving import resolve_thread
from shared.thread_store.thread_documents import describe_inexact
from stages.registration import register_stage

blueprint = func.Blueprint()
MAX_QUIET_PERIODS = 10  # After that, a thread that still changes gets its summary.
CLAIMED_AT_ONCE = 8
THREADS_PER_RECHECK = 500  # about 20 KB, far below the largest event


async def request_summaries(event: Event[EmbeddingsGenerated], context: StageContext) -> StageResult:
    """Claim the new versions. Request quiet threads and schedule a re-check of threads that still change."""
    threads = await _load_threads(event.data.named_threads(), context)
    quiet, still_changing = list[ReadyThread](), list[ReadyThread]()
    for thread in await _find_new_versions(threads, context):
        (quiet if _is_quiet(thread, context) else still_changing).append(thread)
    requested = await _claim_versions(quiet, event.event_id, context)
    waiting = await _claim_versions(still_changing, event.event_id, context)
    return _result(threads, requested, waiting, event.event_id, context)


async def recheck(event: Event[SummaryRecheck], context: StageContext) -> StageResult:
    """Request the versions that have not changed since they were claimed."""
    data = event.data
    claimed_versions = dict(zip(data.thread_ids, data.versions, strict=False))
    threads = await _load_threads(data.thread_ids, context)
    quiet = [
        thread
        for thread in await _find_new_versions(threads, context)
        if claimed_versions.get(thread.thread.id) == thread.version or _is_quiet(thread, context)
    ]
    requested = await _claim_versions(quiet, data.claimed_by, context)
    return _result(threads, requested, [], data.claimed_by, context)


def _result(
    threads: Sequence[Thread],
    requested: Sequence[ReadyThread],
    waiting: Sequence[ReadyThread],
    claimer: str,
    context: StageContext,
) -> StageResult:
    store, settings = context.clients.store, context.clients.settings

    async def record_requests() -> None:
        """Run after publishing. A crash before it repeats the request, and the broker drops the duplicate."""
        requests = (
            mark_requested(store, ready.thread.id, ready.version, context.session, ends_claim=True)
            for ready in requested
        )
        await gather_limited(requests, CLAIMED_AT_ONCE)

    rechecks = (
        SummaryRecheck(
            thread_ids=[ready.thread.id for ready in part],
            versions=[ready.version for ready in part],
            claimed_by=claimer,
        )
        for part in batches_of(waiting, THREADS_PER_RECHECK)
    )
    return StageResult(
        [summary_request(ready.thread.id, ready.version, settings) for ready in requested],
        scheduled=[ScheduledEvent(settings.ORCHESTRATION_QUIET_SECONDS, again) for again in rechecks],
        after_announcing=record_requests,
        counts={"threads": len(threads), "ready": len(requested), "waiting": len(waiting)},
    )


async def _find_new_versions(threads: Sequence[Thread], context: StageContext) -> list[ReadyThread]:
    """Return the threads that are ready in a version whose summary was never requested."""
    ready = await ready_threads(context.clients, threads, context.session)
    described = await describe_inexact(context.clients, ready, context.session)
    return [thread for thread in described if thread.is_new]


async def _load_threads(thread_ids: Iterable[str], context: StageContext) -> list[Thread]:
    """Return the threads that exist. A merged thread is replaced by the thread that it is part of."""
    store, session = context.clients.store, context.session
    found = await store.find_many(Thread, sorted(set(thread_ids)), session)
    merged = [thread.id for thread in found.values() if thread.merged_into is not None]
    targets = {await resolve_thread(context.clients, id_, session) for id_ in merged} - set(found)
    found |= await store.find_many(Thread, sorted(targets), session)
    return [thread for _, thread in sorted(found.items()) if thread.merged_into is None]


def _is_quiet(ready: ReadyThread, context: StageContext) -> bool:
    """Return whether to request now: there is no quiet period, or the thread has changed for too long."""
    seconds = context.clients.settings.ORCHESTRATION_QUIET_SECONDS
    if not seconds:
        return True
    first_claim = (ready.thread.requesting or {}).get("since")
    too_long_ago = stored_time(context.now() - timedelta(seconds=MAX_QUIET_PERIODS * seconds))
    return first_claim is not None and first_claim < too_long_ago


async def _claim_versions(
    threads: Sequence[ReadyThread], claimer: str, context: StageContext
) -> list[ReadyThread]:
    """Return the threads that this claimer may request. A re-check claims for the event that scheduled it."""
    claims = await gather_limited((_claim(ready, claimer, context) for ready in threads), CLAIMED_AT_ONCE)
    return [ready for ready, claimed in zip(threads, claims, strict=True) if claimed]


async def _claim(ready: ReadyThread, claimer: str, context: StageContext) -> bool:
    store, session, now = context.clients.store, context.session, context.now()
    return await claim_version(store, ready.thread, ready.version, claimer=claimer, now=now, session=session)


def _document_ids(data: EmbeddingsGenerated | SummaryRecheck) -> list[str]:
    """Return the threads, because a failure is recorded on them. Their chunks are finished."""
    return list(data.named_threads())


ORCHESTRATION = Stage(
    topology.ORCHESTRATION, request_summaries, _document_ids, internal={SummaryRecheck: recheck}
)

register_stage(blueprint, ORCHESTRATION)
