"""Requeue, purge and restore: operations that are requested, run, and resumed by their id.

An operation's audit record says what was asked for; its journal says which dead letters that meant, and how
far it has come. To resume is to run it again.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from shared.clients.connections import Clients
from shared.clients.servicebus.bus import ReceivedMessage
from shared.clients.servicebus.dead_letter_mover import (
    Act,
    Mover,
    MoveResult,
    OperationObserver,
    RateLimiter,
    resubmission,
    send_again,
)
from shared.clients.servicebus.dead_letters import DeadLetter
from shared.core.errors import DocumentNotFoundError, PermanentError
from shared.documents.records import Audit, AuditStatus
from shared.pipeline.topology import QUEUES
from shared.upkeep.audit import Actor, find_audit, new_audit, save_audit, save_failed_audit, send_operation
from shared.upkeep.deadletters.diagnosis import LetterSelection, choose
from shared.upkeep.deadletters.journal import (
    DELETE,
    DONE_WORD,
    PURGE,
    REQUEUE,
    RESOLVE,
    RESTORE,
    Journal,
    JournalState,
    restore,
)

LOCK_SECONDS = 300  # of our queues: what another holds is free again after that
PATIENCE_SECONDS = LOCK_SECONDS + 30.0
SAVED_EVERY_SECONDS = 5.0
SHOWN_REFUSED = 3


class NotResumableError(PermanentError):
    """The operation cannot be run."""


@dataclass
class MoveCounts:
    """How many dead letters were planned, moved and left, over all queues."""

    planned: int = 0
    done: int = 0
    gone: int = 0
    left: int = 0
    refused: dict[int, str] = field(default_factory=dict)

    def add(self, moved: MoveResult) -> None:
        self.done += len(moved.acted)
        self.gone += len(moved.gone)
        self.left += len(moved.left)
        self.refused |= moved.refused

    def counts(self, action: str) -> dict[str, int]:
        return {
            "planned": self.planned,
            DONE_WORD[action]: self.done,
            "gone": self.gone,
            "refused": len(self.refused),
            "left": self.left,
        }

    def outcome(self) -> str | None:
        """What an operator has to know, in words."""
        said = []
        if self.gone:
            said.append(f"{self.gone} no longer existed")
        if self.left:
            said.append(f"{self.left} are left: another receiver holds them, or the operation was stopped")
        if self.refused:
            shown = [f"{number}: {reason}" for number, reason in list(self.refused.items())[:SHOWN_REFUSED]]
            said.append(f"{len(self.refused)} cannot be sent ({'; '.join(shown)})")
        return "; ".join(said) or None


async def request_operation(
    clients: Clients,
    action: str,
    selection: Mapping[str, Any],
    actor: Actor,
    *,
    rate: float | None = None,
) -> Audit:
    """Store the request; `run_operation` does it, here or in the background."""
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
    """Do it, or what is left of it. One that has succeeded is left as it is.

    Who has just requested it passes its record (`known`): a replica may not have it yet.
    """
    audit, watch = known or await find_audit(clients.store, operation), watch or OperationObserver()
    if audit.status is AuditStatus.SUCCEEDED:
        return audit
    if audit.action not in DONE_WORD:
        raise NotResumableError(f"{audit.id} is a {audit.action}: it cannot be resumed")
    audit = await save_audit(clients.store, audit, clients.runtime.now(), status=AuditStatus.RUNNING)
    watch.step("recorded")
    job = _Job(clients, audit, watch, patience)
    try:
        tally = await job.all()
    except BaseException as error:
        await save_failed_audit(clients, audit, error, job.tally.counts(audit.action))
        raise
    now = clients.runtime.now()
    return await save_audit(
        clients.store,
        audit,
        now,
        status=_status(tally, watch),
        counts=tally.counts(audit.action),
        outcome=tally.outcome(),
        finished_at=now,
    )


def _status(tally: MoveCounts, watch: OperationObserver) -> AuditStatus:
    if tally.left and watch.stopped():
        return AuditStatus.INTERRUPTED
    return AuditStatus.INCOMPLETE if tally.left or tally.refused else AuditStatus.SUCCEEDED


async def _keep_nothing(_letters: Sequence[ReceivedMessage]) -> Mapping[int, str]:
    return {}


class _Job:
    """One run of one operation."""

    def __init__(self, clients: Clients, audit: Audit, watch: OperationObserver, patience: float) -> None:
        self.clients = clients
        self.audit = audit
        self.watch = watch
        self.tally = MoveCounts()
        self.journal = Journal(clients.blobs, audit.id)
        rate = audit.selection.get("rate")
        self._pace = RateLimiter(rate or None, clients.runtime, stopped=watch.stopped)
        self._mover = Mover(clients.bus, self._pace, watch, clients.runtime, patience)
        self._saved = clients.runtime.monotonic()
        self._running = 0

    async def all(self) -> MoveCounts:
        if self.audit.action == RESTORE:
            await restore(self.clients, self.audit, self._pace, self.watch, self.tally)
            return self.tally
        progress = await self._planned()
        self.tally.planned = sum(map(len, progress.plan.values()))
        self.watch.planned(self.tally.planned)
        for queue, numbers in progress.plan.items():
            await self._move(queue, set(numbers), progress.done.get(queue, set()) & set(numbers))
        return self.tally

    async def _planned(self) -> JournalState:
        """Which dead letters it is about: decided once, before the first of them is moved."""
        try:
            return await self.journal.read()
        except DocumentNotFoundError:
            plan = await self._plan()
            await self.journal.begin({"operation": self.audit.id, "action": self.audit.action, "plan": plan})
            self.watch.step("planned")
        return await self.journal.read()

    async def _plan(self) -> dict[str, list[int]]:
        if self.audit.action == DELETE:
            # It is planned by who requests it; where the journal is gone, it is done.
            return {}
        given = {name: value for name, value in self.audit.selection.items() if name != "rate"}
        chosen = await choose(self.clients, LetterSelection.model_validate(given))
        plan: dict[str, list[int]] = {}
        for diagnosed in chosen:
            plan.setdefault(diagnosed.letter.queue, []).append(diagnosed.letter.sequence_number)
        return plan

    async def _move(self, queue: str, chosen: set[int], noted: set[int]) -> None:
        async with self._acting(queue) as act:

            async def note(numbers: Sequence[int]) -> None:
                await self.journal.done(queue, numbers)
                await self._save_now_and_then(len(numbers))

            self.tally.add(await self._mover.move(queue, chosen, noted, act, note))

    @asynccontextmanager
    async def _acting(self, queue: str) -> AsyncIterator[Act]:
        if self.audit.action in {PURGE, RESOLVE}:
            yield lambda letters: self._archive(queue, letters)
            return
        if self.audit.action == DELETE:
            yield _keep_nothing
            return
        async with self.clients.bus.queue_sender(queue) as sender:

            async def send(letters: Sequence[ReceivedMessage]) -> Mapping[int, str]:
                again = [resubmission(DeadLetter.of(queue, letter)) for letter in letters]
                return await send_again(sender, queue, self.audit.id, again)

            yield send

    async def _archive(self, queue: str, letters: Sequence[ReceivedMessage]) -> Mapping[int, str]:
        await self.journal.archive(DeadLetter.of(queue, letter).record() for letter in letters)
        return {}

    async def _save_now_and_then(self, done: int) -> None:
        self._running += done
        runtime = self.clients.runtime
        if runtime.monotonic() - self._saved < SAVED_EVERY_SECONDS:
            return
        self._saved = runtime.monotonic()
        counts = {**self.tally.counts(self.audit.action), DONE_WORD[self.audit.action]: self._running}
        await save_audit(self.clients.store, self.audit, runtime.now(), counts=counts)


LARGEST = 5000
RATE = 50.0


async def request_requeue(clients: Clients, queue: str, group: str, actor: Actor) -> Audit:
    """Ask for a group to be requeued in the background, in bounded time."""
    return await request_in_background(clients, REQUEUE, {"queues": [queue], "groups": [group]}, actor)


async def request_in_background(
    clients: Clients, action: str, selection: Mapping[str, Any], actor: Actor
) -> Audit:
    """Ask for the action on these letters, at most so many, at a rate that leaves the stages room."""
    asked = {"limit": LARGEST, **selection}
    audit = await request_operation(clients, action, asked, actor, rate=RATE)
    await send_operation(clients, audit.id, audit.id)
    return audit


async def resolve_satisfied(clients: Clients, actor: Actor) -> Audit | None:
    """The operation's record; None where there was nothing to resolve."""
    selection = LetterSelection(queues=list(QUEUES), satisfied=True)
    if not await choose(clients, selection):
        return None
    audit = await request_operation(clients, RESOLVE, selection.shown(), actor)
    return await run_operation(clients, audit.id, patience=0, known=audit)
