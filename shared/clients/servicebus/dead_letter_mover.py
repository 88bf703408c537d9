"""Takes chosen dead letters out of a queue: first it is done what is to be done with them, then they go.

Service Bus hands out dead letters in its own order and not by number. So what comes and was not chosen is
held, locked, until the chosen ones are through, and then given back; after a crash its locks run out. A held
letter counts one more delivery, which has no effect on a dead letter.

    receive -> act (send it, or archive it) -> note it in the journal -> complete

Killed after any step, the same again ends the same: what the journal notes is only completed, and what was
acted on without a note is acted on twice, under the same message id.
"""

import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from shared.clients.servicebus.bus import Bus
from shared.clients.servicebus.dead_letters import PAGE, sequence_number
from shared.clients.servicebus.rate_limit import RateLimiter
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure.servicebus import ServiceBusReceivedMessage, exceptions
    from azure.servicebus.aio import ServiceBusReceiver
else:
    exceptions = lazy("azure.servicebus.exceptions")

__all__ = ["Act", "MoveResult", "Mover", "OperationObserver"]

log = logging.getLogger(__name__)
Letters = Sequence["ServiceBusReceivedMessage"]
Act = Callable[[Letters], Awaitable[Mapping[int, str]]]
"""Deals with them; the numbers of those that it cannot deal with, and why. They stay dead letters."""
Note = Callable[[Sequence[int]], Awaitable[None]]

LARGEST_BATCH = 100
BATCH_SECONDS = 2  # a slow pace takes no more at once than it can do in this time
WAIT_SECONDS = 2.0
LOCK_MARGIN = timedelta(seconds=1)


@dataclass
class OperationObserver:
    """Who follows an operation, and may stop it."""

    step: Callable[[str], None] = lambda _name: None
    planned: Callable[[int], None] = lambda _total: None
    progress: Callable[[int], None] = lambda _done: None  # over all queues
    waiting: Callable[[int], None] = lambda _left: None
    stopped: Callable[[], bool] = lambda: False


@dataclass
class MoveResult:
    """How it went with the chosen letters of one queue."""

    acted: set[int] = field(default_factory=set)  # by this run, or noted by an earlier one
    completed: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)  # somebody else took them
    refused: dict[int, str] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)  # still there: locked by another, or we were stopped


class Mover:
    def __init__(self, bus: Bus, pace: RateLimiter, watch: OperationObserver, *, patience: float) -> None:
        self._bus = bus
        self._pace = pace
        self._watch = watch
        self._patience = patience
        self._completed = 0

    async def move(self, queue: str, chosen: set[int], noted: set[int], act: Act, note: Note) -> MoveResult:
        """Move the chosen letters; `noted` are those that an earlier run has acted on already."""
        async with self._bus.dead_letters(queue) as receiver:
            run = _MoveRun(self, receiver, act, note, left=set(chosen), moved=MoveResult(acted=set(noted)))
            try:
                await run.all()
            finally:
                await run.release()
        run.moved.left = run.left
        return run.moved

    def report(self, completed: int) -> None:
        self._completed += completed
        self._watch.progress(self._completed)

    @property
    def pace(self) -> RateLimiter:
        return self._pace

    @property
    def watch(self) -> OperationObserver:
        return self._watch

    @property
    def patience(self) -> float:
        return self._patience


@dataclass
class _MoveRun:
    mover: Mover
    receiver: "ServiceBusReceiver"
    act: Act
    note: Note
    left: set[int]
    moved: MoveResult
    ready: list["ServiceBusReceivedMessage"] = field(default_factory=list)
    held: list["ServiceBusReceivedMessage"] = field(default_factory=list)
    found: bool = True  # whether the last batch had any that were chosen
    waiting_since: float | None = None

    async def all(self) -> None:
        while self.left and not self.mover.watch.stopped():
            self.ready = [each for each in self.ready if _lock_holds(each)]
            if not self.ready and not await self._receive():
                return
            await self._complete([each for each in self.ready if sequence_number(each) in self.moved.acted])
            self.ready = [each for each in self.ready if sequence_number(each) in self.left]
            if self.ready:
                await self._act_on_some()

    async def _receive(self) -> bool:
        """Take a batch; False when there is nothing more to come."""
        batch = await self.receiver.receive_messages(
            max_message_count=self._batch_size(), max_wait_time=WAIT_SECONDS
        )
        self.mover.watch.step("received")
        if not batch:
            return await self._may_still_come()
        self.waiting_since = None
        mine = [each for each in batch if sequence_number(each) in self.left]
        self.held += [each for each in batch if sequence_number(each) not in self.left]
        self.found = bool(mine)
        self.ready += mine
        return True

    def _batch_size(self) -> int:
        rate = self.mover.pace.rate
        if rate is None or not self.found:
            return LARGEST_BATCH
        return max(1, min(LARGEST_BATCH, math.ceil(rate * BATCH_SECONDS)))

    async def _may_still_come(self) -> bool:
        """What we wait for may be gone, or another holds its lock, which will run out."""
        there = await self._still_there()
        gone = self.left - there
        self.left = there
        self.moved.completed |= gone & self.moved.acted
        self.moved.gone |= gone - self.moved.acted
        if not there:
            return False
        now = time.monotonic()
        self.waiting_since = self.waiting_since or now
        self.mover.watch.waiting(len(there))
        return now - self.waiting_since < self.mover.patience

    async def _still_there(self) -> set[int]:
        """Which of those that are left are among the dead letters, locked ones included."""
        found: set[int] = set()
        start, last = min(self.left), max(self.left)
        while start <= last:
            page = await self.receiver.peek_messages(max_message_count=PAGE, sequence_number=start)
            if not page:
                break
            found.update(map(sequence_number, page))
            start = sequence_number(page[-1]) + 1
        return found & self.left

    async def _act_on_some(self) -> None:
        granted = await self.mover.pace.take(len(self.ready))
        chosen = [each for each in self.ready if _lock_holds(each)][:granted]
        self.mover.pace.give_back(granted - len(chosen))
        if not chosen:
            return
        self.mover.watch.step("taken")
        refused = await self.act(chosen)
        self.mover.watch.step("acted")
        done = [each for each in chosen if sequence_number(each) not in refused]
        await self.note([sequence_number(each) for each in done])
        self.mover.watch.step("noted")
        self.moved.acted.update(map(sequence_number, done))
        self._refuse(chosen, refused)
        await self._complete(done)

    def _refuse(self, chosen: Letters, refused: Mapping[int, str]) -> None:
        self.moved.refused.update(refused)
        self.left -= set(refused)
        self.held += [each for each in chosen if sequence_number(each) in refused]

    async def _complete(self, letters: Letters) -> None:
        before = len(self.moved.completed)
        for each in letters:
            try:
                await self.receiver.complete_message(each)
            except exceptions.MessageLockLostError:
                # It comes again, and is only completed then.
                log.info("the lock of dead letter %d was lost before it was completed", sequence_number(each))
                continue
            self.left.discard(sequence_number(each))
            self.moved.completed.add(sequence_number(each))
            self.mover.watch.step("completed")
        dealt_with = set(map(sequence_number, letters))
        self.ready = [each for each in self.ready if sequence_number(each) not in dealt_with]
        self.mover.report(len(self.moved.completed) - before)

    async def release(self) -> None:
        """Give back what was held, so that others see it at once."""
        for each in [*self.held, *self.ready]:
            if not _lock_holds(each):
                continue
            try:
                await self.receiver.abandon_message(each)
            except exceptions.ServiceBusError as error:
                # Its lock ends by itself; the reason we stop for must not be hidden by this.
                log.info("a held dead letter is released by the end of its lock: %s", error)
                return


def _lock_holds(message: "ServiceBusReceivedMessage") -> bool:
    until = message.locked_until_utc
    return until is not None and until.replace(tzinfo=UTC) - datetime.now(UTC) > LOCK_MARGIN
