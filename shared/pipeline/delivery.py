"""A message as the broker delivers it, and what a stage can do with it besides returning or raising."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


class Settlement(Protocol):
    """How a stage settles its message."""

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
