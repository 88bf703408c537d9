"""Service Bus, thin over the SDK: events out by the topic, dead letters in by the stage's queue."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shared.clients.call_metrics import Calls
from shared.clients.telemetry.tracing import trace_properties
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure import servicebus
    from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage
    from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender

    ReceivedMessage = ServiceBusReceivedMessage
else:
    servicebus = lazy("azure.servicebus")
    ReceivedMessage = Any

Handler = TypeVar("Handler", "ServiceBusSender", "ServiceBusReceiver")


class Routed(Protocol):
    """The data of an event, as far as the broker cares."""

    @property
    def routing_key(self) -> str: ...


class Publishable(Protocol):
    """An event of the pipeline, as far as the broker cares."""

    @property
    def event_type(self) -> str: ...
    @property
    def event_id(self) -> str: ...
    @property
    def message_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def data(self) -> Routed: ...
    def idempotency_key(self) -> str: ...
    def to_json(self) -> bytes: ...


def to_message(event: Publishable, *, body: bytes | None = None) -> "ServiceBusMessage":
    """The event as it travels: routed by its subject, told apart by its message id.

    `body` is for an event that is sent on as it came, with what only its publisher understands.
    """
    properties: dict[str | bytes, Any] = {
        "routing_key": event.data.routing_key,
        "idempotency_key": event.idempotency_key(),
        "attempt": event.attempt,
    }
    properties.update(trace_properties())  # so that one trace runs through all stages
    return servicebus.ServiceBusMessage(
        event.to_json() if body is None else body,
        subject=event.event_type,
        message_id=event.message_id,
        correlation_id=event.event_id,
        content_type="application/json",
        application_properties=properties,
    )


class Bus:
    def __init__(self, client: "ServiceBusClient", topic: str, calls: Calls | None = None) -> None:
        self._client = client
        self._topic = topic
        self._calls = calls or Calls("servicebus")
        self._sender: ServiceBusSender | None = None
        self._kept: dict[str, tuple[Any, asyncio.Lock]] = {}
        self._sending = asyncio.Lock()  # the SDK's sender is not made for two coroutines at once

    async def publish(self, events: Iterable[Publishable]) -> None:
        """Send all of them. Sent again, they have no second effect."""
        messages = [to_message(event) for event in events]
        if not messages:
            return
        async with self._sending, self._calls.measured("publish"):
            await self._send(messages)

    async def send_to_queue(
        self, queue: str, messages: "Sequence[ServiceBusMessage]", *, at: datetime | None = None
    ) -> None:
        """Send to one stage alone, past the topic, now or at that time. A message keeps its own trace."""
        for message in messages:
            if at is not None:
                message.scheduled_enqueue_time_utc = at
            trace: dict[str | bytes, Any] = dict(trace_properties().items())
            message.application_properties = trace | (message.application_properties or {})
        async with self._calls.measured("requeue"), self.queue_sender(queue) as sender:
            await sender.send_messages(list(messages))

    async def send_request(
        self, queue: str, body: Mapping[str, Any], message_id: str, *, at: datetime | None = None
    ) -> None:
        """Ask one function for something that is no event, now or at that time.

        A queue that detects duplicates drops a repeat of the message id.
        """
        message = servicebus.ServiceBusMessage(
            json.dumps(body), message_id=message_id, content_type="application/json"
        )
        await self.send_to_queue(queue, [message], at=at)

    async def peek_dead_letters(
        self, queue: str, *, start: int = 0, count: int = 100
    ) -> "list[ServiceBusReceivedMessage]":
        """Look at dead letters from this sequence number on, and leave them there."""
        open_receiver = self._keep(f"{queue} dead letters", lambda: self._dead_letter_receiver(queue))
        async with self._calls.measured("peek"), open_receiver as receiver:
            return await receiver.peek_messages(max_message_count=count, sequence_number=start)

    async def peek(
        self, queue: str, *, start: int = 0, count: int = 100
    ) -> "list[ServiceBusReceivedMessage]":
        """Look at what waits in the queue, and leave it there."""
        open_receiver = self._keep(f"{queue} waiting", lambda: self._client.get_queue_receiver(queue))
        async with self._calls.measured("peek"), open_receiver as receiver:
            return await receiver.peek_messages(max_message_count=count, sequence_number=start)

    @asynccontextmanager
    async def dead_letters(self, queue: str) -> "AsyncIterator[ServiceBusReceiver]":
        """A receiver of the queue's dead letters: what it receives is locked until it is settled."""
        async with self._dead_letter_receiver(queue) as receiver:
            yield receiver

    @asynccontextmanager
    async def queue_sender(self, queue: str) -> "AsyncIterator[ServiceBusSender]":
        """A sender to one stage alone, for many messages."""
        async with self._keep(f"{queue} sender", lambda: self._client.get_queue_sender(queue)) as sender:
            yield sender

    async def close(self) -> None:
        handlers = [self._sender, *(handler for handler, _ in self._kept.values())]
        await asyncio.gather(*(handler.close() for handler in handlers if handler is not None))
        await self._client.close()

    @asynccontextmanager
    async def _keep(self, name: str, make: Callable[[], Handler]) -> AsyncIterator[Handler]:
        """One that stays open, for one coroutine at a time: opening one costs the SDK half a second."""
        if name not in self._kept:
            self._kept[name] = (make(), asyncio.Lock())
        handler, lock = self._kept[name]
        async with lock:
            yield handler

    def _dead_letter_receiver(self, queue: str) -> "ServiceBusReceiver":
        return self._client.get_queue_receiver(queue, sub_queue=servicebus.ServiceBusSubQueue.DEAD_LETTER)

    async def _send(self, messages: "list[ServiceBusMessage]") -> None:
        if self._sender is None:
            self._sender = self._client.get_topic_sender(self._topic)
        batch = await self._sender.create_message_batch()
        for message in messages:
            try:
                batch.add_message(message)
            except ValueError:  # full
                await self._sender.send_messages(batch)
                batch = await self._sender.create_message_batch()
                batch.add_message(message)
        await self._sender.send_messages(batch)
