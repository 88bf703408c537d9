"""Requeue, purge, restore and resolve dead letters. Running an operation again resumes it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from shared.azure.connections import Clients
from shared.azure.servicebus.bus import ReceivedMessage
from shared.azure.servicebus.dead_letter_mover import Act, Mover, OperationObserver, RateLimiter, send_again
from shared.azure.servicebus.dead_letters import DeadLetter
from shared.core.errors import DocumentNotFoundError, PermanentError
from shared.models.records import Audit, AuditStatus
from shared.operations.audit import Job, Operator, find_audit, new_audit, save_audit, send_operation
from shared.operations.deadletters.diagnosis import DeadLetterSelection, choose
from shared.operations.deadletters.journal import (
    DELETE,
    DONE_WORD,
    REQUEUE,
    RESOLVE,
    RESTORE,
    Journal,
    JournalState,
    MoveCounts,
    restore,
)
from shared.pipeline.topology import QUEUES

PATIENCE_SECONDS = (
    330.0  # longer than the lock of the queues (300 s), after which messages of another receiver are free
)


class NotResumableError(PermanentError):
    """The operation cannot be run."""


async def request_operation(
    clients: Clients, action: str, selection: Mapping[str, Any], actor: Operator, *, rate: float | None = None
) -> Audit:
    """Store the request. `run_operation` runs it, at once or in the background."""
    asked = {**selection, **({} if rate is None else {"rate": rate})}
    audit = new_audit(action, actor, asked, clients.runtime)
    return await save_audit(clients.store, audit, clients.runtime.now(), status=AuditStatus.ASKED)


async def run_operation(
    clients: Clients,
    operation: str,
    *,
    watch: OperationObserver | None = None,
    patience: float = PATIENCE_SECONDS,
    known: Audit | None = None,
) -> Audit:
    """Run the operation or its remaining part. `known` is the record if a replica may not have it yet."""
    audit, watch = known or await find_audit(clients.store, operation), watch or OperationObserver()
    if audit.status is AuditStatus.SUCCEEDED:
        return audit
    if audit.action not in DONE_WORD:
        raise NotResumableError(f"{audit.id} is a {audit.action}: it cannot be resumed")
    return await _Job(clients, audit, watch, patience).run()


class _Job(Job):
    def __init__(self, clients: Clients, audit: Audit, watch: OperationObserver, patience: float) -> None:
        super().__init__(clients, audit, watch)
        self._tally, self._patience, self._running, self._completed = MoveCounts(), patience, 0, 0
        self._journal = Journal(clients.blobs, audit.id)
        self._pace = RateLimiter(audit.selection.get("rate") or None, clients.runtime, stopped=watch.stopped)

    def counts(self) -> dict[str, int]:
        return self._tally.counts(self.audit.action)

    async def work(self) -> tuple[AuditStatus, str | None]:
        tally = self._tally
        if self.audit.action == RESTORE:
            await restore(self.clients, self.audit, self._pace, self.watch, tally)
        else:
            progress = await self._planned()
            tally.planned = sum(map(len, progress.plan.values()))
            self.watch.planned(tally.planned)
            for queue, numbers in progress.plan.items():
                await self._move(queue, set(numbers), progress.done.get(queue, set()) & set(numbers))
        if tally.left and self.watch.stopped():
            return AuditStatus.INTERRUPTED, tally.outcome()
        status = AuditStatus.INCOMPLETE if tally.left or tally.refused else AuditStatus.SUCCEEDED
        return status, tally.outcome()

    async def _planned(self) -> JournalState:
        """Return the plan: the dead letters are chosen once, before the first of them is moved."""
        try:
            return await self._journal.read()
        except DocumentNotFoundError:
            plan: dict[str, list[int]] = {}
            # The deletion that requested this has written the plan. If its journal is gone, the operation is
            # done.
            if self.audit.action != DELETE:
                given = {name: value for name, value in self.audit.selection.items() if name != "rate"}
                for chosen in await choose(self.clients, DeadLetterSelection.model_validate(given)):
                    plan.setdefault(chosen.dead_letter.queue, []).append(chosen.dead_letter.sequence_number)
            header = {"operation": self.audit.id, "action": self.audit.action, "plan": plan}
            await self._journal.begin(header)
            self.watch.step("planned")
            return await self._journal.read()  # another run may have planned it first

    async def _move(self, queue: str, chosen: set[int], noted: set[int]) -> None:
        async def record(numbers: Sequence[int]) -> None:
            await self._journal.record("done", queue, numbers)
            self._running += len(numbers)
            await self.save_periodically(**{DONE_WORD[self.audit.action]: self._running})

        async with self._acting(queue) as act:
            bus, runtime, pace = self.clients.bus, self.clients.runtime, self._pace
            mover = Mover(bus, queue, runtime, pace, self.watch, self._patience, act, record, chosen, noted)
            mover.completed = self._completed
            await mover.move()
        self._completed = mover.completed
        self._tally.done += len(mover.acted)
        self._tally.gone += len(mover.gone)
        self._tally.left += len(mover.left)
        self._tally.refused |= mover.refused

    @asynccontextmanager
    async def _acting(self, queue: str) -> AsyncIterator[Act]:
        async def archive(messages: Sequence[ReceivedMessage]) -> Mapping[int, str]:
            if self.audit.action != DELETE:  # a deletion keeps no copy
                await self._journal.archive(DeadLetter.of(queue, message).record() for message in messages)
            return {}

        if self.audit.action != REQUEUE:
            yield archive
            return
        async with self.clients.bus.queue_sender(queue) as sender:

            async def send(messages: Sequence[ReceivedMessage]) -> Mapping[int, str]:
                dead_letters = [DeadLetter.of(queue, message) for message in messages]
                numbered = [
                    (dead_letter.sequence_number, dead_letter.message_id, dead_letter.copy)
                    for dead_letter in dead_letters
                ]
                return await send_again(sender, queue, self.audit.id, numbered)

            yield send


LARGEST = 5000
RATE = 50.0


async def request_in_background(
    clients: Clients, action: str, selection: Mapping[str, Any], actor: Operator
) -> Audit:
    asked = {"limit": LARGEST, **selection}
    audit = await request_operation(clients, action, asked, actor, rate=RATE)
    await send_operation(clients, audit.id, audit.id)
    return audit


async def resolve_satisfied(clients: Clients, actor: Operator) -> Audit | None:
    """Resolve the dead letters whose work is done. Return the audit record, or None if there are none."""
    selection = DeadLetterSelection(queues=list(QUEUES), satisfied=True)
    if not await choose(clients, selection):
        return None
    audit = await request_operation(clients, RESOLVE, selection.shown(), actor)
    return await run_operation(clients, audit.id, patience=0, known=audit)
