"""A message as the Functions host delivers it, and what can be done with it besides returning or raising."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import azure.functions as func

if TYPE_CHECKING:
    from azure.servicebus import ServiceBusReceivedMessage

__all__ = ["Delivery", "RaiseToAbandon", "Settlement"]


class Settlement(Protocol):
    """How a stage may settle its message by itself."""

    async def complete(self) -> None:
        """The work is done."""

    async def dead_letter(self, reason: str, description: str) -> bool:
        """Set it aside at once; False where only the broker can, after its max delivery count."""


class RaiseToAbandon:
    """The default: the host completes on return and abandons on an exception."""

    async def complete(self) -> None:
        return None

    async def dead_letter(self, reason: str, description: str) -> bool:  # noqa: ARG002 - the port's names
        return False


@dataclass(frozen=True)
class Delivery:
    body: bytes
    message_id: str | None = None
    delivery_count: int = 1
    enqueued_at: datetime | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    settlement: Settlement = field(default_factory=RaiseToAbandon)

    @classmethod
    def from_functions(cls, message: func.ServiceBusMessage) -> "Delivery":
        return cls(
            body=message.get_body(),
            message_id=message.message_id,
            delivery_count=message.delivery_count or 1,
            enqueued_at=_utc(message.enqueued_time_utc),
            properties=message.application_properties or {},
        )

    @classmethod
    def from_sdk(
        cls, message: "ServiceBusReceivedMessage", settlement: Settlement | None = None
    ) -> "Delivery":
        """From a message of the SDK, which counts the deliveries before this one."""
        given = message.application_properties or {}
        return cls(
            body=b"".join(message.body),
            message_id=message.message_id,
            delivery_count=(message.delivery_count or 0) + 1,
            enqueued_at=_utc(message.enqueued_time_utc),
            properties={_text(name): _text(value) for name, value in given.items()},
            settlement=settlement or RaiseToAbandon(),
        )


def _utc(time: datetime | None) -> datetime | None:
    """The host may leave the zone out."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
