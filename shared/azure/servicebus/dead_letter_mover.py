"""Remove chosen dead letters from a queue: send or archive them, then complete them.

    receive -> act (send or archive) -> record it in the journal -> complete

Service Bus chooses the order. The mover keeps the other messages locked until the chosen are completed.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from shared.azure.servicebus.bus import Bus
from shared.azure.servicebus.dead_letters import (
    REQUEUED_BY,
    REQUEUED_FROM,
    MessageCopy,
    peek_all,
    sequence_number,
)
from shared.core.ids import resubmitted_id
from shared.core.lazy_import import lazy
from shared.core.runtime import Runtime

if TYPE_CHECKING:
    from azure.servicebus import ServiceBusReceivedMessage, exceptions
    from azure.servicebus.aio import ServiceBusReceiver, ServiceBusSender
    from azure.servicebus.amqp import AmqpAnnotatedMessage
else:
    exceptions = lazy("azure.servicebus.exceptions")

BURST_SECONDS = 0.25  # a high rate is sent in bursts of this length, so that batches save time
LARGEST_BURST = 100
LONGEST_SLEEP = 0.5  # between checks whether the operation was stopped


class RateLimiter:
    """A limit of `rate` messages a second. None means no limit."""

    def __init__(
        self, rate: float | None, runtime: Runtime, *, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self.rate, self._runtime, self._stopped = rate, runtime, stopped
        self._burst = LARGEST_BURST if rate is None else max(1, min(LARGEST_BURST, int(rate * BURST_SECONDS)))
        self._tokens, self._filled = float(self._burst), runtime.monotonic()

    async def take(self, wanted: int) -> int:
        """Wait and return how many may be sent, from 1 to `wanted`, or 0 if the operation was stopped."""
        share = min(wanted, self._burst)
        if self.rate is None:
            return share
        while (missing := share - self._filled_tokens(self.rate)) > 0:
            if self._stopped():
                return 0
            await self._runtime.sleep(min(LONGEST_SLEEP, missing / self.rate))
        self._tokens -= share
        return share

    def _filled_tokens(self, rate: float) -> float:
        before, self._filled = self._filled, self._runtime.monotonic()
        self._tokens = min(float(self._burst), self._tokens + (self._filled - before) * rate)
        return self._tokens


log = logging.getLogger(__name__)
DeadLetters = Sequence["ServiceBusReceivedMessage"]
Act = Callable[[DeadLetters], Awaitable[Mapping[int, str]]]
"""Acts on dead letters. Returns the numbers and errors of the failed ones, which stay dead letters."""
Note = Callable[[Sequence[int]], Awaitable[None]]

LARGEST_BATCH = 100
BATCH_SECONDS = 2  # a slow rate receives at most the messages that it can handle in this time
WAIT_SECONDS = 2.0
LOCK_MARGIN = timedelta(seconds=1)


@dataclass
class OperationObserver:
    step: Callable[[str], None] = lambda _name: None
    planned: Callable[[int], None] = lambda _total: None
    progress: Callable[[int], None] = lambda _done: None  # over all queues
    waiting: Callable[[int], None] = lambda _left: None
    stopped: Callable[[], bool] = lambda: False


@dataclass
class Mover:
    bus: Bus
    queue: str
    runtime: Runtime
    pace: RateLimiter
    watch: OperationObserver
    patience: float  # seconds to wait for dead letters that another receiver has locked
    act: Act
    note: Note
    left: set[int]  # not completed yet
    acted: set[int]  # by this run, or recorded by an earlier run
    gone: set[int] = field(default_factory=set)  # removed by another receiver
    refused: dict[int, str] = field(default_factory=dict)
    completed: int = 0  # over all queues
    _locked: dict[int, "ServiceBusReceivedMessage"] = field(default_factory=dict)
    _waiting_since: float | None = None

    async def move(self) -> None:
        rate = self.pace.rate
        most = LARGEST_BATCH if rate is None else min(LARGEST_BATCH, math.ceil(rate * BATCH_SECONDS))
        async with self.bus.dead_letters(self.queue) as receiver:
            try:
                while self.left and not self.watch.stopped():
                    async with self.bus.measured("receive"):
                        batch = await receiver.receive_messages(
                            max_message_count=most, max_wait_time=WAIT_SECONDS
                        )
                    self.watch.step("received")
                    self._locked |= {sequence_number(message): message for message in batch}
                    if batch:
                        self._waiting_since = None
                        await self._work_off(receiver, batch)
                    elif not await self._may_still_come():
                        return
            finally:
                await self._release(receiver)

    async def _work_off(self, receiver: "ServiceBusReceiver", batch: DeadLetters) -> None:
        chosen = [message for message in batch if sequence_number(message) in self.left]
        await self._complete(
            receiver, [message for message in chosen if sequence_number(message) in self.acted]
        )
        waiting = [message for message in chosen if sequence_number(message) not in self.acted]
        while waiting and not self.watch.stopped():
            granted = await self.pace.take(len(waiting))
            some = [message for message in waiting[:granted] if self._lock_holds(message)]
            waiting = waiting[granted:]  # a message whose lock has expired is delivered again
            if not some:
                continue
            self.watch.step("taken")
            refused = await self.act(some)
            self.watch.step("acted")
            done = [message for message in some if sequence_number(message) not in refused]
            numbers = [sequence_number(message) for message in done]
            await self.note(numbers)
            self.watch.step("noted")
            self.acted.update(numbers)
            self.refused |= refused
            self.left -= set(refused)
            await self._complete(receiver, done)

    async def _complete(self, receiver: "ServiceBusReceiver", messages: DeadLetters) -> None:
        for message in messages:
            number = sequence_number(message)
            del self._locked[number]
            try:
                async with self.bus.measured("complete", writes=True):
                    await receiver.complete_message(message)
            except exceptions.MessageLockLostError:
                # It is delivered again and only completed then.
                log.info("the lock of dead letter %d was lost before it was completed", number)
                continue
            self.left.discard(number)
            self.completed += 1
            self.watch.step("completed")
        self.watch.progress(self.completed)

    async def _may_still_come(self) -> bool:
        """Return whether to wait for the missing messages: another receiver may have locked them."""
        remaining, last = set[int](), max(self.left)
        async for message in peek_all(self.bus, self.queue, start=min(self.left)):
            if message.sequence_number > last:
                break
            remaining.add(message.sequence_number)
        self.gone |= self.left - remaining - self.acted
        self.left &= remaining
        if not self.left:
            return False
        now = self.runtime.monotonic()
        self._waiting_since = self._waiting_since or now
        self.watch.waiting(len(self.left))
        return now - self._waiting_since < self.patience

    def _lock_holds(self, message: "ServiceBusReceivedMessage") -> bool:
        until = message.locked_until_utc
        return until is not None and until.replace(tzinfo=UTC) - self.runtime.now() > LOCK_MARGIN

    async def _release(self, receiver: "ServiceBusReceiver") -> None:
        for message in filter(self._lock_holds, self._locked.values()):
            try:
                await receiver.abandon_message(message)
            except exceptions.ServiceBusError as error:
                # The lock expires, and this error must not hide the error that stopped the operation.
                log.info("a held dead letter is released by the end of its lock: %s", error)
                return


Resubmission = tuple[int, str | None, MessageCopy]
"""The sequence number, the original message id, and the message."""


async def send_again(
    sender: "ServiceBusSender", queue: str, operation: str, messages: Iterable[Resubmission]
) -> dict[int, str]:
    """Send the messages. Return the numbers and errors of the messages that cannot be sent."""
    refused: dict[int, str] = {}
    together: dict[int, AmqpAnnotatedMessage] = {}
    for number, original, copy in messages:
        more = {REQUEUED_BY: operation, **({REQUEUED_FROM: original} if original else {})}
        message = copy.outgoing(resubmitted_id(operation, queue, number, original), more)
        if copy.travels_alone:
            await _send(sender, {number: message}, refused)
        else:
            together[number] = message
    if together:
        await _send(sender, together, refused)
    return refused


async def _send(
    sender: "ServiceBusSender", messages: "dict[int, AmqpAnnotatedMessage]", refused: dict[int, str]
) -> None:
    """Send one batch, which succeeds or fails as a whole. Split a batch that is too large."""
    numbers, content = list(messages), list(messages.values())
    try:
        await sender.send_messages(content if len(content) > 1 else content[0])
    except (exceptions.MessageSizeExceededError, ValueError, TypeError) as error:
        if len(numbers) == 1:
            refused[numbers[0]] = " ".join(str(error).split())
            return
        half = len(numbers) // 2
        for part in (numbers[:half], numbers[half:]):
            await _send(sender, {number: messages[number] for number in part}, refused)
