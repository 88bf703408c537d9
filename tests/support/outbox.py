"""The Service Bus SDK's client without a broker: a list collects the messages of the real Bus."""

from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from azure.servicebus import ServiceBusMessage

from shared.azure.servicebus.bus import Bus
from shared.pipeline.events import Event, parse_event

if TYPE_CHECKING:
    from azure.servicebus.aio import ServiceBusClient

__all__ = ["Outbox", "Sent"]


@dataclass(frozen=True)
class Sent:
    entity: str
    event: Event[Any]
    at: datetime | None
    message: ServiceBusMessage | None = field(default=None, compare=False, repr=False)


class _Batch:
    def __init__(self) -> None:
        self.messages: list[ServiceBusMessage] = []

    def add_message(self, message: ServiceBusMessage) -> None:
        self.messages.append(message)


@dataclass
class _Sender:
    outbox: "Outbox"
    entity: str

    async def create_message_batch(self) -> _Batch:
        return _Batch()

    async def send_messages(self, messages: _Batch | list[ServiceBusMessage]) -> None:
        if self.outbox.is_down:
            raise ConnectionError("the broker is down")
        for message in messages.messages if isinstance(messages, _Batch) else messages:
            event = parse_event(b"".join(cast("Any", message.body)))
            self.outbox.sent.append(Sent(self.entity, event, message.scheduled_enqueue_time_utc, message))
            self.outbox.journal.append(event.event_type)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close."""


@dataclass
class Outbox:
    sent: list[Sent] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)  # in order, mixed with the test's own entries
    is_down: bool = False

    def bus(self) -> Bus:
        return Bus(cast("ServiceBusClient", self), "topic")

    def get_topic_sender(self, topic: str) -> _Sender:
        return _Sender(self, topic)

    def get_queue_sender(self, queue: str) -> _Sender:
        return _Sender(self, queue)
