"""Orchestration: requests the summary of a thread that is ready, once for each version of it.

The first event that sees a new version claims it with a conditional patch and schedules a re-check after the
quiet period (ORCHESTRATION_QUIET_SECONDS). If the version is the same then, the summary is requested; if not,
the newer version has its own claim. After a crash, the redelivered event finds its claim and continues.

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
MAX_QUIET_PERIODS = 10  # A thread that keeps changing for so long gets a summary all the same.
CLAIMED_AT_ONCE = 8
THREADS_PER_RECHECK = 500  # some 20 KB: far under the largest event


async def orchestrate(event: Event[EmbeddingsGenerated], work: StageContext) -> StageResult:
    """Claim the new versions; request the quiet ones, and schedule a re-check of those still changing."""
    threads = await _threads(event.data.named_threads(), work)
    quiet, still_changing = list[ReadyThread](), list[ReadyThread]()
    for thread in await _new_versions(threads, work):
        (quiet if _is_quiet(thread, work) else still_changing).append(thread)
    requested = await _claimed(quiet, event.event_id, work)
    waiting = await _claimed(still_changing, event.event_id, work)
    return _result(threads, requested, waiting, event.event_id, work)


async def recheck(event: Event[SummaryRecheck], work: StageContext) -> StageResult:
    """Request the versions that have not changed since they were claimed."""
    data = event.data
    claimed_versions = dict(zip(data.thread_ids, data.versions, strict=False))
    threads = await _threads(data.thread_ids, work)
    quiet = [
        thread
        for thread in await _new_versions(threads, work)
        if claimed_versions.get(thread.thread.id) == thread.version or _is_quiet(thread, work)
    ]
    return _result(threads, await _claimed(quiet, data.claimed_by, work), [], data.claimed_by, work)


def _result(
    threads: Sequence[Thread],
    requested: Sequence[ReadyThread],
    waiting: Sequence[ReadyThread],
    claimer: str,
    work: StageContext,
) -> StageResult:
    store, settings = work.clients.store, work.clients.settings

    async def record_requests() -> None:
        """After publishing: a crash before it leads to the same request again, which the broker drops."""
        requests = (
            mark_requested(store, ready.thread.id, ready.version, work.session, ends_claim=True)
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


async def _new_versions(threads: Sequence[Thread], work: StageContext) -> list[ReadyThread]:
    """The threads that are ready in a version whose summary was never requested."""
    ready = await ready_threads(work.clients, threads, work.session)
    described = await describe_inexact(work.clients, ready, work.session)
    return [thread for thread in described if thread.is_new]


async def _threads(thread_ids: Iterable[str], work: StageContext) -> list[Thread]:
    """Those that exist; of one that was merged since the event was published, the thread it is part of."""
    store, session = work.clients.store, work.session
    found = await store.find_many(Thread, sorted(set(thread_ids)), session)
    merged = [thread.id for thread in found.values() if thread.merged_into is not None]
    targets = {await resolve_thread(work.clients, id_, session) for id_ in merged} - set(found)
    found |= await store.find_many(Thread, sorted(targets), session)
    return [thread for _, thread in sorted(found.items()) if thread.merged_into is None]


def _is_quiet(ready: ReadyThread, work: StageContext) -> bool:
    """Whether nobody waits for it to settle: there is no quiet period, or it has changed for too long."""
    seconds = work.clients.settings.ORCHESTRATION_QUIET_SECONDS
    if not seconds:
        return True
    first_claim = (ready.thread.requesting or {}).get("since")
    too_long_ago = stored_time(work.now() - timedelta(seconds=MAX_QUIET_PERIODS * seconds))
    return first_claim is not None and first_claim < too_long_ago


async def _claimed(wanted: Sequence[ReadyThread], claimer: str, work: StageContext) -> list[ReadyThread]:
    """Those that this claimer may request. A re-check claims for the event that scheduled it."""
    claims = await gather_limited((_claim(ready, claimer, work) for ready in wanted), CLAIMED_AT_ONCE)
    return [ready for ready, claimed in zip(wanted, claims, strict=True) if claimed]


async def _claim(ready: ReadyThread, claimer: str, work: StageContext) -> bool:
    store, thread, now = work.clients.store, ready.thread, work.now()
    return await claim_version(store, thread, ready.version, claimer=claimer, now=now, session=work.session)


def _documents(data: EmbeddingsGenerated | SummaryRecheck) -> list[str]:
    """A failure is noted on the threads: their chunks are done."""
    return list(data.named_threads())


ORCHESTRATION = Stage(topology.ORCHESTRATION, orchestrate, _documents, internal={SummaryRecheck: recheck})

register_stage(blueprint, ORCHESTRATION)
