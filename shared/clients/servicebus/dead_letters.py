"""A dead letter as an operator sees it, and how to look at all of them without taking any."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from shared.clients.servicebus.bus import Bus
from shared.clients.servicebus.message_copy import MessageCopy

if TYPE_CHECKING:
    from azure.servicebus import ServiceBusReceivedMessage

PAGE = 1000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class DeadLetter:
    queue: str
    sequence_number: int
    message_id: str | None
    enqueued_at: datetime
    delivery_count: int
    reason: str
    description: str
    copy: MessageCopy

    @classmethod
    def of(cls, queue: str, message: "ServiceBusReceivedMessage") -> "DeadLetter":
        copy = MessageCopy.of(message)
        given = copy.application_properties
        message_id = copy.properties.get("message_id")
        return cls(
            queue=queue,
            sequence_number=sequence_number(message),
            message_id=None if message_id is None else str(message_id),
            enqueued_at=message.enqueued_time_utc or EPOCH,
            delivery_count=message.delivery_count or 0,
            reason=str(given.get("DeadLetterReason") or ""),
            description=str(given.get("DeadLetterErrorDescription") or ""),
            copy=copy,
        )

    @property
    def properties(self) -> Mapping[str, Any]:
        return self.copy.application_properties

    @property
    def subject(self) -> str:
        return str(self.copy.properties.get("subject") or "")

    def record(self) -> dict[str, Any]:
        """Everything about it, for an export or an archive; `message` is enough to send it again."""
        return {
            "queue": self.queue,
            "sequence_number": self.sequence_number,
            "message_id": self.message_id,
            "enqueued_at": self.enqueued_at.isoformat(),
            "delivery_count": self.delivery_count,
            "reason": self.reason,
            "description": self.description,
            "message": self.copy.record(),
        }


def sequence_number(message: "ServiceBusReceivedMessage") -> int:
    number = message.sequence_number
    if number is None:
        raise ValueError("the broker delivered a message without a sequence number")
    return number


async def peek_all(
    bus: Bus, queue: str, *, start: int = 1, most: int | None = None
) -> AsyncIterator[DeadLetter]:
    """Every dead letter of the queue in order, page by page; none is locked, and none is counted."""
    while page := await bus.peek_dead_letters(queue, start=start, count=PAGE):
        for message in page if most is None else page[:most]:
            yield DeadLetter.of(queue, message)
        start = sequence_number(page[-1]) + 1
        if most is not None and (most := most - len(page)) <= 0:
            return
