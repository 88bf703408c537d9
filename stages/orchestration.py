"""Orchestration: a thread whose messages are all chunked, and whose chunks are all settled, gets its summary.

A thread's version is a hash of what it is made of, and each version is asked for once. The event that finds a
new version claims it on the thread, by a conditional write: others leave it alone. Then the broker holds a
note to ourselves back for the quiet period. When it comes and the version is still the same, the summary is
asked for, and after that the version is noted. An event that breaks off anywhere comes again and goes on: its
claim is its own.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import azure.functions as func

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.store import Conflict
from shared.core.concurrency import batches_of, gather_limited
from shared.documents.base import ProcessingStatus, stored_time
from shared.documents.threads import Thread
from shared.pipeline import topology
from shared.pipeline.events.builders import summary_request
from shared.pipeline.events.data import EmbeddingsGenerated
from shared.pipeline.events.envelope import Event
from shared.pipeline.readiness import ReadyThread, ready_threads
from shared.pipeline.stage import ScheduledEvent, Stage, StageResult, Work
from shared.threads.merging import resolve_thread
from shared.threads.thread_documents import RESET_ATTEMPTS
from stages.registration import register_stage

__all__ = ["ORCHESTRATION", "blueprint"]

blueprint = func.Blueprint()
# A thread that never comes to rest is asked for all the same, after so many quiet periods.
MAX_QUIET_PERIODS = 10
# The event that claimed a version comes again until it succeeds or is set aside; then another may.
CLAIM_MINUTES = 30
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
    thread, now = ready.thread, work.now()
    before = thread.requesting or {}
    is_mine = (before.get("version"), before.get("event")) == (ready.version, claimer)
    earlier = before.get("since")
    claim = {
        "version": ready.version,
        "event": claimer,
        "at": stored_time(now),
        "since": earlier or stored_time(now),
    }
    claimed = await work.clients.store.patch(
        Thread,
        Patch(thread.id, thread.id, set={"requesting": claim, **({} if is_mine else _reopened(thread))}),
        work.session,
        condition=_unclaimed(ready.version, claimer, now),
    )
    return claimed is not Conflict.CONFLICT


def _reopened(thread: Thread) -> Mapping[str, Any]:
    """With another version it is neither done nor given up any more: the sweep looks after it again."""
    return {} if thread.status is ProcessingStatus.PENDING else RESET_ATTEMPTS


def _unclaimed(version: str, claimer: str, now: datetime) -> str:
    """Over values of ours: hashes, an event id and a time."""
    expired = stored_time(now - timedelta(minutes=CLAIM_MINUTES))
    never_asked_for = f"NOT IS_STRING(c.content_hash) OR c.content_hash != '{version}'"
    free = (
        "NOT IS_OBJECT(c.requesting)"
        f" OR c.requesting.version != '{version}'"
        f" OR c.requesting.event = '{claimer}' OR c.requesting.at < '{expired}'"
    )
    return f"({never_asked_for}) AND ({free})"


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
    asked = {"content_hash": ready.version, "requesting": None}
    await work.clients.store.patch(Thread, Patch(ready.thread.id, ready.thread.id, set=asked), work.session)


def _documents(data: EmbeddingsGenerated) -> list[tuple[str, str]]:
    """The threads: their chunks are done, and what is left of an error goes with the next summary."""
    return [(thread_id, thread_id) for thread_id in sorted({*data.chunk_threads, *data.thread_ids})]


ORCHESTRATION = Stage(topology.ORCHESTRATION, orchestrate, _documents)

register_stage(blueprint, ORCHESTRATION)
