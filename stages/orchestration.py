"""Orchestration: requests the summary of a thread that is ready, once for each version of it.

Debounces summaries. The first event that sees a new version of a thread claims it with a conditional patch
and schedules a re-check after the quiet period (ORCHESTRATION_QUIET_SECONDS). If the version is still the
same at the re-check, the summary is requested; otherwise the newer version's own claim takes over. A crash at
any point is safe: the redelivered event finds its own claim and continues.

    EmbeddingsGenerated --> claim --> SummaryRecheck, scheduled on our own queue
    SummaryRecheck      --> same version? --> SummarizationRequested

When a thread is ready is decided in shared/pipeline/readiness.py, who holds a claim in
shared/pipeline/lifecycle/threads.py.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import azure.functions as func

from shared.core.concurrency import batches_of, gather_limited
from shared.core.times import stored_time
from shared.documents.threads import Thread
from shared.pipeline import topology
from shared.pipeline.event_builders import summary_recheck, summary_request
from shared.pipeline.event_types import EmbeddingsGenerated, SummaryRecheck
from shared.pipeline.events import Event
from shared.pipeline.lifecycle.threads import summary_requested, thread_claimed
from shared.pipeline.readiness import ReadyThread, ready_threads
from shared.pipeline.stage import ScheduledEvent, Stage, StageResult, Work
from shared.threads.moving import resolve_thread
from stages.registration import register_stage

blueprint = func.Blueprint()
MAX_QUIET_PERIODS = 10  # A thread that keeps changing for so long gets a summary all the same.
CLAIMED_AT_ONCE = 8
THREADS_PER_RECHECK = 500  # some 20 KB: far under the largest event


async def orchestrate(event: Event[EmbeddingsGenerated], work: Work) -> StageResult:
    """Claim the new versions; request the quiet ones, and schedule a re-check of those still changing."""
    if event.data.settled_versions:
        return await _recheck_of_earlier_release(event, work)
    threads = await _threads(event.data.named_threads(), work)
    quiet, still_changing = list[ReadyThread](), list[ReadyThread]()
    for thread in await _new_versions(threads, work):
        (quiet if _is_quiet(thread, work) else still_changing).append(thread)
    requested = await _claimed(quiet, event.event_id, work)
    waiting = await _claimed(still_changing, event.event_id, work)
    counts = {"threads": len(threads), "ready": len(requested), "waiting": len(waiting)}
    return _result(requested, work, counts, rechecks=_rechecks(waiting, event.event_id, work))


async def recheck(event: Event[SummaryRecheck], work: Work) -> StageResult:
    """Request the versions that have not changed since they were claimed."""
    data = event.data
    claimed_versions = dict(zip(data.thread_ids, data.versions, strict=False))
    threads = await _threads(data.thread_ids, work)
    quiet = [
        thread
        for thread in await _new_versions(threads, work)
        if claimed_versions.get(thread.thread.id) == thread.version or _is_quiet(thread, work)
    ]
    requested = await _claimed(quiet, data.claimed_by, work)
    return _result(requested, work, {"threads": len(threads), "ready": len(requested), "waiting": 0})


async def _recheck_of_earlier_release(event: Event[EmbeddingsGenerated], work: Work) -> StageResult:
    """Version 0.1 scheduled its re-check as an EmbeddingsGenerated; remove this with the next release."""
    data = event.data
    claimer = data.claimed_by or event.event_id
    return await recheck(
        Event.of(
            SummaryRecheck(thread_ids=data.thread_ids, versions=data.settled_versions, claimed_by=claimer),
            session=event.session,
            attempt=event.attempt,
            now=event.timestamp,
        ),
        work,
    )


def _result(
    requested: Sequence[ReadyThread],
    work: Work,
    counts: dict[str, int],
    *,
    rechecks: Sequence[ScheduledEvent] = (),
) -> StageResult:
    async def record_requests() -> None:
        """After publishing: a crash before it leads to the same request again, which the broker drops."""
        await gather_limited((_record_request(thread, work) for thread in requested), CLAIMED_AT_ONCE)

    settings = work.clients.settings
    return StageResult(
        [summary_request(thread.thread.id, thread.version, settings) for thread in requested],
        scheduled=rechecks,
        after_announcing=record_requests,
        counts=counts,
    )


async def _new_versions(threads: Sequence[Thread], work: Work) -> list[ReadyThread]:
    """The threads that are ready in a version whose summary was never requested."""
    return [thread for thread in await ready_threads(work.clients, threads, work.session) if thread.is_new]


async def _threads(thread_ids: Iterable[str], work: Work) -> list[Thread]:
    """Those that exist; of one that was merged since the event was published, the thread it is part of."""
    store, session = work.clients.store, work.session
    found = await store.find_many(Thread, [(id_, id_) for id_ in sorted(set(thread_ids))], session)
    merged = [thread.id for thread in found.values() if thread.merged_into is not None]
    targets = {await resolve_thread(work.clients, id_, session) for id_ in merged} - set(found)
    found |= await store.find_many(Thread, [(id_, id_) for id_ in sorted(targets)], session)
    return [thread for _, thread in sorted(found.items()) if thread.merged_into is None]


def _is_quiet(ready: ReadyThread, work: Work) -> bool:
    """Whether nobody waits for it to settle: there is no quiet period, or it has changed for too long."""
    seconds = work.clients.settings.ORCHESTRATION_QUIET_SECONDS
    if not seconds:
        return True
    first_claim = (ready.thread.requesting or {}).get("since")
    too_long_ago = stored_time(work.now() - timedelta(seconds=MAX_QUIET_PERIODS * seconds))
    return first_claim is not None and first_claim < too_long_ago


async def _claimed(wanted: Sequence[ReadyThread], claimer: str, work: Work) -> list[ReadyThread]:
    """Those that this claimer may request. A re-check claims for the event that scheduled it."""
    claims = await gather_limited((_claim(thread, claimer, work) for thread in wanted), CLAIMED_AT_ONCE)
    return [thread for thread, claimed in zip(wanted, claims, strict=True) if claimed]


async def _claim(ready: ReadyThread, claimer: str, work: Work) -> bool:
    return await thread_claimed(
        work.clients.store,
        ready.thread,
        ready.version,
        claimer=claimer,
        now=work.now(),
        session=work.session,
    )


def _rechecks(waiting: Sequence[ReadyThread], claimer: str, work: Work) -> list[ScheduledEvent]:
    seconds = work.clients.settings.ORCHESTRATION_QUIET_SECONDS
    return [
        ScheduledEvent(
            seconds, summary_recheck([(thread.thread.id, thread.version) for thread in part], claimer)
        )
        for part in batches_of(waiting, THREADS_PER_RECHECK)
    ]


async def _record_request(ready: ReadyThread, work: Work) -> None:
    store = work.clients.store
    await summary_requested(store, ready.thread.id, ready.version, work.session, ends_claim=True)


def _documents(data: EmbeddingsGenerated | SummaryRecheck) -> list[tuple[str, str]]:
    """A failure is noted on the threads: their chunks are done."""
    return [(thread_id, thread_id) for thread_id in data.named_threads()]


ORCHESTRATION = Stage(topology.ORCHESTRATION, orchestrate, _documents, internal={SummaryRecheck: recheck})

register_stage(blueprint, ORCHESTRATION)
