"""Takes chosen dead letters out of a queue: acts on them first (sends or archives), then completes them.

Service Bus hands out dead letters in its own order and not by number. So what comes and was not chosen is
held, locked, until the chosen ones are through, and then given back; after a crash its locks run out. A held
letter counts one more delivery, which has no effect on a dead letter.

    receive -> act (send it, or archive it) -> note it in the journal -> complete

Killed after any step, the same again ends the same: what the journal notes is only completed, and what was
acted on without a note is acted on twice, under the same message id.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from shared.clients.servicebus.bus import Bus
from shared.clients.servicebus.dead_letters import (
    PAGE,
    REQUEUED_BY,
    REQUEUED_FROM,
    DeadLetter,
    MessageCopy,
    sequence_number,
)
from shared.core.ids import resubmitted_id
from shared.core.lazy_import import lazy
from shared.core.runtime import Runtime

if TYPE_CHECKING:
    from azure.servicebus import ServiceBusMessageBatch, ServiceBusReceivedMessage, exceptions
    from azure.servicebus.aio import ServiceBusReceiver, ServiceBusSender
    from azure.servicebus.amqp import AmqpAnnotatedMessage
else:
    exceptions = lazy("azure.servicebus.exceptions")

BURST_SECONDS = 0.25  # a larger rate is sent in bursts of this length, so that batches pay off
LARGEST_BURST = 100
LONGEST_SLEEP = 0.5  # then it looks whether it was stopped


class RateLimiter:
    """`rate` a second; None is as fast as it goes."""

    def __init__(
        self,
        rate: float | None,
        runtime: Runtime,
        *,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        if rate is not None and rate <= 0:
            raise ValueError("a rate is more than 0")
        self.rate = rate
        self._runtime = runtime
        self._stopped = stopped
        self.burst = LARGEST_BURST if rate is None else max(1, min(LARGEST_BURST, int(rate * BURST_SECONDS)))
        self._tokens = float(self.burst)
        self._filled = runtime.monotonic()

    async def take(self, wanted: int) -> int:
        """Wait until some may go; how many, from one up to `wanted`. 0 when the operation was stopped."""
        if self.rate is None:
            return min(wanted, self.burst)
        share = min(wanted, self.burst)
        self._fill(self.rate)
        while self._tokens < share:
            if self._stopped():
                return 0
            await self._runtime.sleep(min(LONGEST_SLEEP, (share - self._tokens) / self.rate))
            self._fill(self.rate)
        self._tokens -= share
        return share

    def give_back(self, count: int) -> None:
        """What was not used after all."""
        self._tokens = min(float(self.burst), self._tokens + count)

    def _fill(self, rate: float) -> None:
        now = self._runtime.monotonic()
        self._tokens = min(float(self.burst), self._tokens + (now - self._filled) * rate)
        self._filled = now


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


@dataclass
class Mover:
    bus: Bus
    pace: RateLimiter
    watch: OperationObserver
    runtime: Runtime
    patience: float  # seconds to wait for letters that another holds locked
    _completed: int = 0

    async def move(self, queue: str, chosen: set[int], noted: set[int], act: Act, note: Note) -> MoveResult:
        """Move the chosen letters; `noted` are those that an earlier run has acted on already."""
        async with self.bus.dead_letters(queue) as receiver:
            run = _MoveRun(self, receiver, act, note, left=set(chosen), moved=MoveResult(acted=set(noted)))
            try:
                await run.all()
            finally:
                await run.release()
        run.moved.left = run.left
        return run.moved

    def report(self, completed: int) -> None:
        self._completed += completed
        self.watch.progress(self._completed)


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
            self.ready = [letter for letter in self.ready if self._lock_holds(letter)]
            if not self.ready and not await self._receive():
                return
            await self._complete(
                [letter for letter in self.ready if sequence_number(letter) in self.moved.acted]
            )
            self.ready = [letter for letter in self.ready if sequence_number(letter) in self.left]
            if self.ready:
                await self._act_on_some()

    async def _receive(self) -> bool:
        """Take a batch; False when there is nothing more to come."""
        async with self.mover.bus.measured("receive"):
            batch = await self.receiver.receive_messages(
                max_message_count=self._batch_size(), max_wait_time=WAIT_SECONDS
            )
        self.mover.watch.step("received")
        if not batch:
            return await self._may_still_come()
        self.waiting_since = None
        mine = [letter for letter in batch if sequence_number(letter) in self.left]
        self.held += [letter for letter in batch if sequence_number(letter) not in self.left]
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
        remaining = await self._still_there()
        gone = self.left - remaining
        self.left = remaining
        self.moved.completed |= gone & self.moved.acted
        self.moved.gone |= gone - self.moved.acted
        if not remaining:
            return False
        now = self.mover.runtime.monotonic()
        self.waiting_since = self.waiting_since or now
        self.mover.watch.waiting(len(remaining))
        return now - self.waiting_since < self.mover.patience

    async def _still_there(self) -> set[int]:
        """Which of those that are left are among the dead letters, locked ones included."""
        found: set[int] = set()
        start, last = min(self.left), max(self.left)
        while start <= last:
            async with self.mover.bus.measured("peek"):
                page = await self.receiver.peek_messages(max_message_count=PAGE, sequence_number=start)
            if not page:
                break
            found.update(map(sequence_number, page))
            start = sequence_number(page[-1]) + 1
        return found & self.left

    async def _act_on_some(self) -> None:
        granted = await self.mover.pace.take(len(self.ready))
        chosen = [letter for letter in self.ready if self._lock_holds(letter)][:granted]
        self.mover.pace.give_back(granted - len(chosen))
        if not chosen:
            return
        self.mover.watch.step("taken")
        refused = await self.act(chosen)
        self.mover.watch.step("acted")
        done = [letter for letter in chosen if sequence_number(letter) not in refused]
        await self.note([sequence_number(letter) for letter in done])
        self.mover.watch.step("noted")
        self.moved.acted.update(map(sequence_number, done))
        self._refuse(chosen, refused)
        await self._complete(done)

    def _refuse(self, chosen: Letters, refused: Mapping[int, str]) -> None:
        self.moved.refused.update(refused)
        self.left -= set(refused)
        self.held += [letter for letter in chosen if sequence_number(letter) in refused]

    async def _complete(self, letters: Letters) -> None:
        before = len(self.moved.completed)
        for letter in letters:
            try:
                async with self.mover.bus.measured("complete", writes=True):
                    await self.receiver.complete_message(letter)
            except exceptions.MessageLockLostError:
                # It comes again, and is only completed then.
                log.info(
                    "the lock of dead letter %d was lost before it was completed", sequence_number(letter)
                )
                continue
            self.left.discard(sequence_number(letter))
            self.moved.completed.add(sequence_number(letter))
            self.mover.watch.step("completed")
        dealt_with = set(map(sequence_number, letters))
        self.ready = [letter for letter in self.ready if sequence_number(letter) not in dealt_with]
        self.mover.report(len(self.moved.completed) - before)

    def _lock_holds(self, letter: "ServiceBusReceivedMessage") -> bool:
        until = letter.locked_until_utc
        return until is not None and until.replace(tzinfo=UTC) - self.mover.runtime.now() > LOCK_MARGIN

    async def release(self) -> None:
        """Give back what was held, so that others see it at once."""
        for letter in [*self.held, *self.ready]:
            if not self._lock_holds(letter):
                continue
            try:
                await self.receiver.abandon_message(letter)
            except exceptions.ServiceBusError as error:
                # Its lock ends by itself; the reason we stop for must not be hidden by this.
                log.info("a held dead letter is released by the end of its lock: %s", error)
                return


Resubmission = tuple[int, str | None, MessageCopy]
"""The sequence number, the original message id, and the message."""


def resubmission(letter: DeadLetter) -> Resubmission:
    return letter.sequence_number, letter.message_id, letter.copy


async def send_again(
    sender: "ServiceBusSender", queue: str, operation: str, letters: Sequence[Resubmission]
) -> dict[int, str]:
    """Send them; the numbers of those that cannot be sent, and why."""
    sending = _Sending(sender, await sender.create_message_batch())
    for number, original, copy in letters:
        message = _outgoing(operation, queue, number, original, copy)
        if copy.travels_alone:
            await sending.send_alone(number, message)
        else:
            await sending.add(number, message)
    await sending.flush()
    return sending.refused


@dataclass
class _Sending:
    """Fills one batch after the other. A batch is accepted as a whole or not at all."""

    sender: "ServiceBusSender"
    batch: "ServiceBusMessageBatch"
    members: list[tuple[int, "AmqpAnnotatedMessage"]] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)

    async def add(self, number: int, message: "AmqpAnnotatedMessage") -> None:
        if self._fits(message) or (self.members and await self._fits_after_flush(message)):
            self.members.append((number, message))
        else:
            await self.send_alone(number, message)  # the broker's word on it counts

    def _fits(self, message: "AmqpAnnotatedMessage") -> bool:
        try:
            self.batch.add_message(message)
        except (ValueError, TypeError):  # it is full, or the SDK cannot write the message
            return False
        return True

    async def _fits_after_flush(self, message: "AmqpAnnotatedMessage") -> bool:
        await self.flush()
        return self._fits(message)

    async def flush(self) -> None:
        members, batch = self.members, self.batch
        if not members:
            return
        self.members, self.batch = [], await self.sender.create_message_batch()
        try:
            await self.sender.send_messages(batch)
        except exceptions.MessageSizeExceededError:  # the SDK's idea of a batch's size is a little too small
            for number, message in members:
                await self.send_alone(number, message)

    async def send_alone(self, number: int, message: "AmqpAnnotatedMessage") -> None:
        try:
            await self.sender.send_messages(message)
        except (exceptions.MessageSizeExceededError, ValueError, TypeError) as error:
            self.refused[number] = " ".join(str(error).split())


def _outgoing(
    operation: str, queue: str, number: int, original: str | None, copy: MessageCopy
) -> "AmqpAnnotatedMessage":
    more = {REQUEUED_BY: operation, **({REQUEUED_FROM: original} if original else {})}
    return copy.outgoing(message_id=resubmitted_id(operation, queue, number, original), more=more)
