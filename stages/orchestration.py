"""Orchestration: a thread whose messages are all chunked, and whose chunks are all settled, gets its summary.

A thread's version is a hash of what it is made of, and each version is asked for once. The event that finds a
new version claims it on the thread, by a conditional write: others leave it alone. Then the broker holds a
note to ourselves back for the quiet period. When it comes and the version is still the same, the summary is
asked for, and after that the version is noted. An event that breaks off anywhere comes again and goes on: its
claim is its own.
"""

from collections.abc import Sequence
from datetime import timedelta

import azure.functions as func

from shared.core.concurrency import batches_of, gather_limited
from shared.documents.base import stored_time
from shared.documents.threads import Thread
from shared.pipeline import topology
from shared.pipeline.events.builders import summary_request
from shared.pipeline.events.data import EmbeddingsGenerated
from shared.pipeline.events.envelope import Event
from shared.pipeline.lifecycle.threads import summary_requested, thread_claimed
from shared.pipeline.readiness import ReadyThread, ready_threads
from shared.pipeline.stage import ScheduledEvent, Stage, StageResult, Work
from shared.threads.merging import resolve_thread
from stages.registration import register_stage

__all__ = ["ORCHESTRATION", "blueprint"]

blueprint = func.Blueprint()
# A thread that never comes to rest is asked for all the same, after so many quiet periods.
MAX_QUIET_PERIODS = 10
CLAIMED_AT_ONCE = 8
NOTED_AT_ONCE = 500


async def orchestrate(event: Event[EmbeddingsGenerated], work: Work) -> StageResult:
    threads = await _threads(event.data, work)
    ready = [each for each in await ready_threads(work.clients, threads, work.session) if each.is_new]
    rested = [each for each in ready if _is_quiet(each, event.data, work)]
    stirring = [] if event.data.settled_versions else [each for each in ready if each not in rested]
    claimer = event.data.claimed_by or event.event_id
    requested = await _claimed(rested, claimer, work)
    waiting = await _claimed(stirring, claimer, work)

    async def note() -> None:
        await gather_limited((_record_request(each, work) for each in requested), CLAIMED_AT_ONCE)

    settings = work.clients.settings
    return StageResult(
        [summary_request(each.thread.id, each.version, settings) for each in requested],
        later=_recheck(event.data, waiting, claimer, settings.ORCHESTRATION_QUIET_SECONDS),
        after_announcing=note,
        counts={"threads": len(threads), "ready": len(requested), "waiting": len(waiting)},
    )


async def _threads(data: EmbeddingsGenerated, work: Work) -> list[Thread]:
    """The threads that the event is about, where they are now."""
    named = sorted({*data.chunk_threads, *data.thread_ids})
    store, session = work.clients.store, work.session
    found = await store.find_many(Thread, [(each, each) for each in named], session)
    moved = [each.id for each in found.values() if each.merged_into is not None]
    homes = {await resolve_thread(work.clients, each, session) for each in moved}
    found |= await store.find_many(Thread, [(each, each) for each in sorted(homes - set(found))], session)
    return [found[each] for each in sorted(found) if found[each].merged_into is None]


def _is_quiet(ready: ReadyThread, data: EmbeddingsGenerated, work: Work) -> bool:
    """Whether the version is the one from before the quiet period, or has had patience enough."""
    quiet = work.clients.settings.ORCHESTRATION_QUIET_SECONDS
    if not quiet:
        return True
    before = dict(zip(data.thread_ids, data.settled_versions, strict=False))
    if before.get(ready.thread.id) == ready.version:
        return True
    since = (ready.thread.requesting or {}).get("since")
    return since is not None and since < stored_time(
        work.now() - timedelta(seconds=MAX_QUIET_PERIODS * quiet)
    )


async def _claimed(wanted: Sequence[ReadyThread], claimer: str, work: Work) -> list[ReadyThread]:
    """Those that are this event's to ask for: claimed by it, or by the event whose note it is."""
    claims = await gather_limited((_claim(each, claimer, work) for each in wanted), CLAIMED_AT_ONCE)
    return [each for each, claimed in zip(wanted, claims, strict=True) if claimed]


async def _claim(ready: ReadyThread, claimer: str, work: Work) -> bool:
    return await thread_claimed(
        work.clients.store,
        ready.thread,
        ready.version,
        claimer=claimer,
        now=work.now(),
        session=work.session,
    )


def _recheck(
    data: EmbeddingsGenerated, waiting: Sequence[ReadyThread], claimer: str, quiet: float
) -> list[ScheduledEvent]:
    """The notes to ourselves: these threads, with the versions that they have now."""
    same = {"chunk_ids": [], "chunk_threads": [], "embedding_count": 0, "claimed_by": claimer, "contents": ""}
    return [
        ScheduledEvent(
            quiet,
            data.model_copy(
                update={
                    **same,
                    "thread_ids": [each.thread.id for each in part],
                    "settled_versions": [each.version for each in part],
                }
            ),
        )
        for part in batches_of(waiting, NOTED_AT_ONCE)
    ]


async def _record_request(ready: ReadyThread, work: Work) -> None:
    store = work.clients.store
    await summary_requested(store, ready.thread.id, ready.version, work.session, ends_claim=True)


def _documents(data: EmbeddingsGenerated) -> list[tuple[str, str]]:
    """The threads: their chunks are done, and what is left of an error goes with the next summary."""
    return [(thread_id, thread_id) for thread_id in sorted({*data.chunk_threads, *data.thread_ids})]


ORCHESTRATION = Stage(topology.ORCHESTRATION, orchestrate, _documents)

register_stage(blueprint, ORCHESTRATION)
