"""Service Bus: publish events to the topic, send to queues, and receive dead letters."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shared.azure.calls import Calls
from shared.azure.telemetry.metrics import trace_properties
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure import servicebus
    from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage
    from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender

    Message = ServiceBusMessage
    ReceivedMessage = ServiceBusReceivedMessage
else:
    servicebus = lazy("azure.servicebus")
    Message = ReceivedMessage = Any

Kept = TypeVar("Kept")
PEEKED = 50  # messages at the head of a queue. The first may be scheduled for later.


class OpenHandlers:
    """Open senders and receivers by name. One coroutine at a time uses each, as the SDK requires."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[str, tuple[Any, asyncio.Lock]] = {}  # the most recently used is last
        self._leaving = 0  # removed, but their connection is still open
        self._released = asyncio.Event()

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    @asynccontextmanager
    async def use(self, name: str, make: Callable[[], Kept]) -> AsyncIterator[Kept]:
        """Yield the handler of this name. Create it if it is missing, and wait until it is free."""
        while True:
            if name not in self._kept:
                if not await self._has_room():
                    continue
                self._kept[name] = (make(), asyncio.Lock())
            kept = self._kept[name] = self._kept.pop(name)
            async with kept[1]:
                if self._kept.get(name) is kept:  # it may have been removed during the wait
                    try:
                        yield kept[0]
                    finally:
                        self._released.set()
                    return

    def give_up(self, name: str) -> None:
        """Remove the handler. It counts as open until the caller closes it and calls `left`."""
        if self._kept.pop(name, None) is not None:
            self._leaving += 1

    def left(self) -> None:
        """Record that a removed handler is closed."""
        self._leaving -= 1
        self._released.set()

    async def close(self) -> None:
        await asyncio.gather(*(handler.close() for handler, _ in self._kept.values()))
        self._kept.clear()

    async def _has_room(self) -> bool:
        """Return whether one more may be opened. If not, close an idle handler or wait for one."""
        if len(self._kept) + self._leaving < self._most:
            return True
        idle = next((name for name, (_, lock) in self._kept.items() if not lock.locked()), None)
        if idle is None:
            self._released.clear()
            await self._released.wait()
            return False
        handler, _ = self._kept[idle]
        self.give_up(idle)
        try:
            await handler.close()
        finally:
            self.left()
        return False


log = logging.getLogger(__name__)
Handler = TypeVar("Handler", "ServiceBusSender", "ServiceBusReceiver")
Answer = TypeVar("Answer")
CLOSING_SECONDS = 5.0
INT32 = 2**31
MOST_CONNECTIONS = 40  # a sender and two receivers for each queue, and the topic's


class Publishable(Protocol):
    @property
    def event_type(self) -> str: ...
    @property
    def event_id(self) -> str: ...
    @property
    def message_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def data(self) -> Any: ...
    def idempotency_key(self) -> str: ...
    def to_json(self) -> bytes: ...


def to_message(event: Publishable) -> "ServiceBusMessage":
    """Return the message of an event. Its subject routes it, and its message id identifies duplicates."""
    properties: dict[str | bytes, Any] = {
        "routing_key": event.data.routing_key,
        "idempotency_key": event.idempotency_key(),
        "attempt": event.attempt,
    }
    properties.update(trace_properties())  # so that one trace includes all stages
    return servicebus.ServiceBusMessage(
        event.to_json(),
        subject=event.event_type,
        message_id=event.message_id,
        correlation_id=event.event_id,
        content_type="application/json",
        application_properties=properties,
    )


def raw_message(
    body: bytes,
    message_id: str,
    properties: Mapping[str, Any],
    *,
    subject: str | None = None,
    correlation_id: str | None = None,
) -> "ServiceBusMessage":
    """Return a message with this body, which need not be a valid event."""
    given: dict[str | bytes, Any] = {name: sized(value) for name, value in properties.items()}
    return servicebus.ServiceBusMessage(
        body,
        subject=subject,
        message_id=message_id,
        correlation_id=correlation_id,
        content_type="application/json",
        application_properties=given,
    )


def sized(value: Any) -> Any:
    """Return the value with an explicit AMQP type if it needs 64 bits, because the SDK assumes 32 bits."""
    is_long = isinstance(value, int) and not -INT32 <= value < INT32
    return {"TYPE": "LONG", "VALUE": value} if is_long else value


def is_scheduled(message: "ServiceBusReceivedMessage") -> bool:
    """Return whether the message is scheduled for later. A peek returns such messages, too."""
    return message.state is servicebus.ServiceBusMessageState.SCHEDULED


def oldest_time(messages: "Iterable[ServiceBusReceivedMessage]") -> datetime | None:
    """Return when the oldest message was enqueued. A scheduled message does not count."""
    times = [message.enqueued_time_utc for message in messages if not is_scheduled(message)]
    return min(filter(None, times), default=None)


class Bus:
    def __init__(
        self, client: "ServiceBusClient", topic: str, calls: Calls | None = None, most: int = MOST_CONNECTIONS
    ) -> None:
        self._client, self._topic, self._kept = client, topic, OpenHandlers(most)
        self._calls = calls or Calls("servicebus")
        self._ending: set[asyncio.Task[None]] = set()

    async def publish(self, events: Iterable[Publishable]) -> None:
        messages = [to_message(event) for event in events]
        if not messages:
            return
        await self._ask(
            "publish",
            f"{self._topic} topic",
            lambda: self._client.get_topic_sender(self._topic),
            lambda sender: _send_all(sender, messages),
            writes=True,
        )

    async def send_to_queue(
        self, queue: str, messages: "Sequence[ServiceBusMessage]", *, at: datetime | None = None
    ) -> None:
        """Send to one queue, not to the topic, now or at that time. A message keeps its own trace."""
        for message in messages:
            if at is not None:
                message.scheduled_enqueue_time_utc = at
            trace: dict[str | bytes, Any] = dict(trace_properties().items())
            message.application_properties = trace | (message.application_properties or {})
        await self._ask(
            "requeue",
            f"{queue} sender",
            lambda: self._client.get_queue_sender(queue),
            lambda sender: sender.send_messages(list(messages)),
            writes=True,
        )

    async def send_request(
        self, queue: str, body: Mapping[str, Any], message_id: str, *, at: datetime | None = None
    ) -> None:
        """Send a request, which is not an event, to one queue, now or at that time."""
        message = servicebus.ServiceBusMessage(
            json.dumps(body), message_id=message_id, content_type="application/json"
        )
        await self.send_to_queue(queue, [message], at=at)

    async def peek_dead_letters(
        self, queue: str, *, start: int = 0, count: int = 100
    ) -> "list[ServiceBusReceivedMessage]":
        return await self._ask(
            "peek",
            f"{queue} dead letters",
            lambda: self.dead_letters(queue),
            lambda receiver: receiver.peek_messages(max_message_count=count, sequence_number=start),
        )

    async def peek(
        self, queue: str, *, start: int = 0, count: int = 100
    ) -> "list[ServiceBusReceivedMessage]":
        return await self._ask(
            "peek",
            f"{queue} waiting",
            lambda: self._client.get_queue_receiver(queue),
            lambda receiver: receiver.peek_messages(max_message_count=count, sequence_number=start),
        )

    async def oldest_waiting(self, queue: str) -> datetime | None:
        """Return when the oldest of the first messages in the queue was enqueued."""
        return oldest_time(await self.peek(queue, start=1, count=PEEKED))

    def dead_letters(self, queue: str) -> "ServiceBusReceiver":
        """Return a receiver of the queue's dead letters. It locks each message until it is settled."""
        return self._client.get_queue_receiver(queue, sub_queue=servicebus.ServiceBusSubQueue.DEAD_LETTER)

    def queue_sender(self, queue: str) -> "AbstractAsyncContextManager[ServiceBusSender]":
        """Return a sender to one queue, for many messages."""
        return self._kept.use(f"{queue} sender", lambda: self._client.get_queue_sender(queue))

    def measured(self, operation: str, *, writes: bool = False) -> AbstractAsyncContextManager[object]:
        return self._calls.measured(operation, writes=writes)

    async def close(self) -> None:
        if self._ending:
            _, late = await asyncio.wait(self._ending, timeout=CLOSING_SECONDS)
            for ending in late:
                ending.cancel()
        await self._kept.close()
        await self._client.close()

    async def _ask(
        self,
        operation: str,
        name: str,
        make: Callable[[], Handler],
        work: Callable[[Handler], Coroutine[Any, Any, Answer]],
        *,
        writes: bool = False,
    ) -> Answer:
        """Run the call in its own task: a canceled SDK call leaves half a frame and an open socket."""
        longer = writes or name not in self._kept  # opening a connection takes several round trips
        async with self._calls.measured(operation, writes=longer), self._kept.use(name, make) as handler:
            call = asyncio.create_task(work(handler))
            try:
                return await asyncio.shield(call)
            except asyncio.CancelledError:
                self._kept.give_up(name)
                ending = asyncio.create_task(self._ended(call, handler))
                self._ending.add(ending)
                ending.add_done_callback(self._ending.discard)
                raise

    async def _ended(self, call: "asyncio.Task[Any]", handler: Any) -> None:
        """Close the handler of an abandoned call when the call has ended."""
        try:
            await asyncio.wait({call})
            async with asyncio.timeout(CLOSING_SECONDS):
                await handler.close()
            if not call.cancelled() and call.exception() is None:
                log.info("Service Bus answered after all; nobody waited any more")
        except Exception:
            log.info("a connection to Service Bus that did not answer could not be closed", exc_info=True)
        finally:
            self._kept.left()


async def _send_all(sender: "ServiceBusSender", messages: "list[ServiceBusMessage]") -> None:
    batch = await sender.create_message_batch()
    for message in messages:
        try:
            batch.add_message(message)
        except ValueError:  # full
            await sender.send_messages(batch)
            batch = await sender.create_message_batch()
            batch.add_message(message)
    await sender.send_messages(batch)
