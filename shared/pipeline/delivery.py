"""A delivered message, its settlement, and a copy of it for the same queue."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from shared.azure.connections import Clients
from shared.azure.servicebus.bus import Message, raw_message
from shared.azure.telemetry.metrics import trace_properties

COPY = "-copy-"  # follows the original id in the id of a copy
LONGEST_ORIGINAL = 80  # a message id has at most 128 characters


class Settlement(Protocol):
    """The port through which a stage settles its message."""

    async def complete(self) -> None:
        """Complete the message."""

    async def dead_letter(self, reason: str, description: str) -> bool:
        """Dead-letter the message at once. Return False if only the broker can, after all deliveries."""


class RaiseToAbandon:
    """The default settlement: the host completes on return and abandons on an exception."""

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
    subject: str | None = None
    correlation_id: str | None = None

    def copy(self, clients: Clients, properties: Mapping[str, Any]) -> Message:
        """Return a copy of the message with these properties. Its id does not grow from copy to copy."""
        original = str(self.message_id).partition(COPY)[0][:LONGEST_ORIGINAL]
        return raw_message(
            self.body,
            f"{original}{COPY}{clients.runtime.new_id()[:8]}",
            {**properties, **trace_properties()},
            subject=self.subject,
            correlation_id=self.correlation_id,
        )
