"""The sweep: requeues documents that are due, and records its run."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from shared.azure.classify import SDK_ERRORS, classify
from shared.azure.connections import Clients
from shared.azure.cosmos.lease import Lease
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.telemetry.metrics import SweepMetrics, sweep_metrics
from shared.core.concurrency import batches_of, gather_limited
from shared.core.errors import ErrorKind, PipelineError
from shared.core.times import stored_time
from shared.models.base import ProcessingStatus
from shared.models.queries.operations import EXPIRED_RETRY_LOCKS, LATEST_RUN, RECENT_FAILURES
from shared.models.queries.several_containers import finished_since
from shared.models.queries.threads import OPEN_TODOS, UNREPORTED_THREADS
from shared.models.records import Lock, Run, RunStatus
from shared.models.threads import Thread
from shared.operations.due_documents import (
    CHUNKS,
    COLLECTIONS,
    MESSAGES,
    THREADS,
    Collection,
    DueDocument,
    Policy,
    RetryReason,
    count_documents,
    due_documents,
)
from shared.operations.requeue import Requeuer, rebuild_events
from shared.pipeline.event_builders import summary_request
from shared.pipeline.readiness import ReadyThread, ready_threads
from shared.pipeline.state.threads import CLAIM_LIFETIME, requested_version, reset_unreported
from shared.thread_store.chunk_sets import delete_stale
from shared.thread_store.finishing import finish_moves
from shared.thread_store.thread_documents import describe_inexact

FEWEST_FAILURES = 5
MOST = 0.8


@dataclass(frozen=True)
class FailureEvidence:
    """The latest failures of a stage, newest first, and what it finished since the oldest and the newest."""

    failures: tuple[tuple[str, str], ...]  # pairs of error type and kind
    finished_since_oldest: int = 0
    finished_since_newest: int = 0


def circuit_open_reason(evidence: FailureEvidence, *, was_open: bool) -> str | None:
    """Return the common error if the dependency of the stage is down, else None.

    The circuit stays open until a document is finished or fails with another error, because probes are few.
    """
    if evidence.finished_since_newest:
        return None
    transient = [type_ for type_, kind in evidence.failures if kind != ErrorKind.PERMANENT]
    if not transient:
        return "no outcome of the probes yet" if was_open and not evidence.failures else None
    ((common, count),) = Counter(transient).most_common(1)
    enough = 1 if was_open else FEWEST_FAILURES
    dominant = count >= enough and count >= MOST * len(evidence.failures)
    return common if dominant and evidence.finished_since_oldest < len(evidence.failures) else None


async def find_evidence(
    store: Store, collection: Collection, policy: Policy, now: datetime, *, was_open: bool
) -> FailureEvidence:
    since = stored_time(now - 2 * policy.interval)
    rows = store.query(RECENT_FAILURES, Session(), partition=collection.stage, since=since)
    found = [row async for row in rows]
    if len(found) < FEWEST_FAILURES and not was_open:
        return FailureEvidence(())

    async def finished(since: str) -> int:
        return len([row async for row in store.query(finished_since(collection), Session(), since=since)])

    newest, oldest = (found[0]["timestamp"], found[-1]["timestamp"]) if found else (since, since)
    failures = tuple((row["error_type"], row["error_kind"]) for row in found)
    return FailureEvidence(failures, await finished(oldest), await finished(newest))


log = logging.getLogger(__name__)
KIND = "sweep"
PAGE = 500
THREADS_AT_ONCE = 100
THREADS_EXAMINED = 1000  # in one run, and the next run continues there
MAX_EXAMPLES = 20
MAX_ANNOUNCEMENT_DELAY = timedelta(minutes=30)  # events follow the writes of a run
MOVES_BREAK_OFF = timedelta(minutes=5)  # a commit whose moves are open for longer was interrupted


class SweepFailedError(PipelineError):
    """A run of the sweep had errors, which its record contains."""


@dataclass(frozen=True)
class Options:
    requested_by: str = "timer"
    dry_run: bool = False
    metrics: SweepMetrics = field(default_factory=sweep_metrics)
    progress: Callable[[str], None] = field(default=lambda _step: None)


async def sweep(clients: Clients, options: Options | None = None) -> Run | None:
    """Requeue due documents and mark exhausted ones as failed. Return None if another sweep is running."""
    options = options or Options()
    try:
        if options.dry_run:
            return await _Sweep(clients, options).run()
        async with Lease(clients.store, KIND, clients.runtime).held_if_free() as held:
            if held:  # two sweeps at once would be safe but wasteful
                return await _Sweep(clients, options).run()
            log.warning("another sweep is running: this one does nothing")
            return None
    except Exception as error:
        # If Cosmos DB is down, no run is recorded and only the counters show the attempt.
        if not options.dry_run:
            options.metrics.errors.add(1, {"error_type": classify(error).error_type})
            options.metrics.runs.add(1, {"status": "failure"})
        raise


async def latest_run(clients: Clients, kind: str = KIND) -> Run | None:
    found = await clients.store.query_documents(Run, LATEST_RUN, Session(), partition=kind)
    return found[0] if found else None


class _Sweep:
    def __init__(self, clients: Clients, options: Options) -> None:
        self._clients = clients
        self._options = options
        self._policy = Policy.from_settings(clients.settings)
        self._requeuer = Requeuer(clients, options.progress)
        self._metrics = options.metrics
        started = clients.runtime.now()
        self._run = Run(
            id=f"{started:%Y%m%dT%H%M%S}-{clients.runtime.new_id()[:8]}",
            kind=KIND,
            requested_by=options.requested_by,
            dry_run=options.dry_run,
            started_at=started,
            created_at=started,
        )
        self._unblocked: set[str] = set()  # threads of documents that this run marked as failed

    async def run(self) -> Run:
        started = self._clients.runtime.monotonic()
        before = await latest_run(self._clients)
        await self._clients.store.upsert(self._run, Session())
        for collection in COLLECTIONS:
            try:
                await self._collection(collection, before)
            except Exception as error:
                # The other collections are swept, but the run counts as failed.
                log.exception("the sweep of %s failed", collection.name)
                failure = classify(error)
                message = f"{collection.name}: {failure.error_type}: {failure.message}"
                self._run.errors.append(message[:500])
                self._metrics.errors.add(1, {"error_type": failure.error_type})
        if not self._options.dry_run:
            await self._finish_moves()
            await self._remove_retry_locks()
        seconds, failed = self._clients.runtime.monotonic() - started, bool(self._run.errors)
        self._run.status = RunStatus.FAILED if failed else RunStatus.SUCCEEDED
        self._run.finished_at = self._clients.runtime.now()
        await self._clients.store.upsert(self._run, Session())
        if not self._options.dry_run:
            self._metrics.runs.add(1, {"status": "failure" if failed else "success"})
            self._metrics.duration.record(seconds)
        log.info("the sweep %s in %.1fs: %s", self._run.status, seconds, self._run.counts)
        return self._run

    async def _finish_moves(self) -> None:
        """Complete moves of labels that workers left open after their commits."""
        now, session = self._clients.runtime.now(), Session()
        rows = self._clients.store.query(OPEN_TODOS, session, before=stored_time(now - MOVES_BREAK_OFF))
        sources = sorted({row["source"] async for row in rows})
        for source in sources:
            try:
                await finish_moves(self._clients, source, session)
            except Exception as error:
                log.exception(
                    "the moves of messages of %s could not be finished. The next sweep tries again", source
                )
                self._run.errors.append(f"threads of {source}: {classify(error).message}"[:500])

    async def _remove_retry_locks(self) -> None:
        store, now = self._clients.store, self._clients.runtime.now().timestamp()
        try:
            expired = [id_ async for id_ in store.query(EXPIRED_RETRY_LOCKS, Session(), now=now)]
            await gather_limited(store.delete(Lock, str(id_), Session()) for id_ in expired[:PAGE])
        except SDK_ERRORS:
            log.exception("the sweep could not remove old locks. The next sweep tries again")

    async def _collection(self, collection: Collection, before: Run | None) -> None:
        now, labels = self._clients.runtime.now(), {"collection": collection.name}
        counts = await count_documents(self._clients.store, collection, self._policy, now)
        if not self._options.dry_run:
            self._metrics.stuck.set(counts["stuck"], labels)
            self._metrics.failed.set(counts["failed"], labels)
            self._metrics.skipped_backoff.add(counts["waiting"], labels)
        circuit = await self._circuit(collection, before)
        if collection is THREADS and not self._options.dry_run:
            await self._reopen_unreported()
        read = await self._due(collection, before)
        dues = await self._without_queued(collection, read)
        last = self._policy.max_attempts[collection.name]
        exhausted = [due for due in dues if due.attempts >= last]
        wanted = [due for due in dues if due.attempts < last]
        given_up = await self._give_up(collection, exhausted)
        requeue = self._requeue_threads if collection is THREADS else self._requeue
        requeued, held_back = await requeue(wanted, alone=circuit is not None)
        counts |= {
            "read": len(read),
            "queued": len(read) - len(dues),
            "requeued": requeued,
            "given_up": given_up,
            "held_back": held_back,
        }
        self._run.counts[collection.name] = counts
        self._metrics.requeued.add(requeued, labels)
        self._metrics.held_back.add(held_back, labels)

    async def _circuit(self, collection: Collection, before: Run | None) -> str | None:
        now = self._clients.runtime.now()
        # An open circuit without probes in flight would never close.
        was_open = (
            before is not None
            and collection.name in before.circuits
            and bool(before.counts.get(collection.name, {}).get("requeued"))
        )
        evidence = await find_evidence(self._clients.store, collection, self._policy, now, was_open=was_open)
        error = circuit_open_reason(evidence, was_open=was_open)
        self._metrics.circuit_open.set(int(error is not None), {"collection": collection.name})
        if error is not None:
            self._run.circuits[collection.name] = error
            log.warning(
                "%s keeps failing (%s): the sweep probes with %d of the due %s",
                collection.stage, error, self._policy.probes, collection.name,
            )  # fmt: skip
        return error

    async def _due(self, collection: Collection, before: Run | None) -> list[DueDocument]:
        """Return the due documents, all read before any change, because changes would shift later pages."""
        after = before.cursor.get(collection.name, "") if before is not None else ""
        limit = min(self._policy.limit, THREADS_EXAMINED) if collection is THREADS else self._policy.limit
        dues: list[DueDocument] = []
        store, now = self._clients.store, self._clients.runtime.now()
        async for due in due_documents(store, collection, self._policy, now, after=after):
            if len(dues) == limit:
                # The next run continues with the documents that were never attempted.
                never = [due for due in dues if due.why is RetryReason.NEVER]
                self._run.cursor[collection.name] = str(never[-1].stored["created_at"]) if never else ""
                break
            dues.append(due)
        return await self._without_stale(dues) if collection is CHUNKS else dues

    async def _without_stale(self, dues: list[DueDocument]) -> list[DueDocument]:
        """Delete chunks of an earlier text of their message, and return the other chunks."""
        if self._options.dry_run:
            return dues
        keys = {due.stored["message_key"] for due in dues}
        deleted = await delete_stale(self._clients, keys, Session())
        return [due for due in dues if due.id not in deleted]

    async def _without_queued(self, collection: Collection, dues: list[DueDocument]) -> list[DueDocument]:
        """Leave out documents whose event may still wait, because a requeue would make the queue longer."""
        if all(due.why is RetryReason.FAILED for due in dues):
            return dues
        oldest = await self._clients.bus.oldest_waiting(collection.stage)
        if oldest is None:
            return dues
        announced_before = oldest - MAX_ANNOUNCEMENT_DELAY  # the queue no longer has their events
        return [due for due in dues if due.why is RetryReason.FAILED or due.since < announced_before]

    async def _give_up(self, collection: Collection, dues: list[DueDocument]) -> int:
        self._show("given up", dues)
        if self._options.dry_run:
            return len(dues)
        marked = [due for page in batches_of(dues, PAGE) for due in await self._requeuer.give_up(page)]
        self._metrics.max_retries_exceeded.add(len(marked), {"collection": collection.name})
        if collection in (MESSAGES, CHUNKS):
            self._unblocked |= {due.partition for due in marked}
        return len(marked)

    async def _requeue(self, dues: list[DueDocument], *, alone: bool) -> tuple[int, int]:
        chosen = dues[: self._policy.probes] if alone else dues
        self._show("requeued", chosen)
        if self._options.dry_run:
            return len(chosen), len(dues) - len(chosen)
        requeued = 0
        for page in batches_of(chosen, PAGE):
            requeued += await self._requeuer.requeue(
                page, lambda batch: rebuild_events(batch, self._policy, self._clients.settings, alone=alone)
            )
        return requeued, len(dues) - len(chosen)

    async def _reopen_unreported(self) -> None:
        """Reset finished threads without a report, because the event may be a dead letter."""
        store, now = self._clients.store, self._clients.runtime.now()
        failed = stored_time(now - self._policy.base_delay)
        silent = stored_time(now - self._policy.stuck_after)
        rows = store.query(UNREPORTED_THREADS, Session(), failed_before=failed, silent_before=silent)
        for row in [row async for row in rows]:
            error = row.get("lastError") or f"NoOutcome: no report of summary {row['summary_id']} came"
            await reset_unreported(store, row["id"], row["summary_id"], error, Session())

    async def _requeue_threads(self, dues: list[DueDocument], *, alone: bool) -> tuple[int, int]:
        """Request summaries of ready threads. Other threads wait for a message or chunk."""
        dues = [*(await self._unblocked_threads({due.id for due in dues})), *dues]
        requeued, held_back = 0, 0
        for page in batches_of(dues, THREADS_AT_ONCE):
            ready = await self._ready(page)
            if alone and (rest := len(ready) - max(0, self._policy.probes - requeued)) > 0:
                held_back += rest
                ready = dict(islice(ready.items(), len(ready) - rest))
            self._show("requeued", [due for due in page if due.id in ready])
            requeued += await self._request(page, ready)
        return requeued, held_back

    async def _request(self, page: Sequence[DueDocument], ready: dict[str, ReadyThread]) -> int:
        chosen = [due for due in page if due.id in ready]
        if self._options.dry_run:
            return len(chosen)
        settings = self._clients.settings
        versions = {due.id: requested_version(ready[due.id].version, ends_claim=True) for due in chosen}
        return await self._requeuer.requeue(
            chosen,
            lambda batch: [
                (summary_request(due.id, ready[due.id].version, settings), due.next_attempt) for due in batch
            ],
            **versions,
        )

    async def _ready(self, page: Sequence[DueDocument]) -> dict[str, ReadyThread]:
        found = await self._clients.store.find_many(Thread, [due.id for due in page], Session())
        alive = [
            thread for thread in found.values() if thread.merged_into is None and not self._claimed(thread)
        ]
        ready = await ready_threads(self._clients, alive, Session())
        if not self._options.dry_run:
            ready = await describe_inexact(self._clients, ready, Session())
        return {thread.thread.id: thread for thread in ready}

    def _claimed(self, thread: Thread) -> bool:
        quiet = timedelta(seconds=self._clients.settings.ORCHESTRATION_QUIET_SECONDS)
        claimed = (thread.requesting or {}).get("at", "")
        return str(claimed) > stored_time(self._clients.runtime.now() - CLAIM_LIFETIME - quiet)

    async def _unblocked_threads(self, known: set[str]) -> list[DueDocument]:
        """Return threads of documents that this run marked as failed, because no event announces them."""
        wanted = sorted(self._unblocked - known)
        found = await self._clients.store.find_many(Thread, wanted, Session())
        return [
            DueDocument(THREADS, RetryReason.NEVER, thread.id, thread.id, 0, None, thread.lastError, None)
            for thread in found.values()
            if thread.status is ProcessingStatus.PENDING and thread.lastAttemptTime is None
        ]

    def _show(self, action: str, dues: Iterable[DueDocument]) -> None:
        space = MAX_EXAMPLES - len(self._run.examples)
        self._run.examples += [
            {
                "what": action,
                "collection": due.collection.name,
                "id": due.id,
                "partition": due.partition,
                "why": due.why.value,
                "attempts": due.attempts,
                "error": due.reason[:200],
            }
            for due in islice(dues, space)
        ]
