"""Events for tests that do not depend on the publication time."""

from datetime import UTC, datetime
from typing import TypeVar

from shared.pipeline.event_types import EventData
from shared.pipeline.events import Event

__all__ = ["event_of"]

Data = TypeVar("Data", bound=EventData)


def event_of(data: Data, *, session: dict[str, str] | None = None, attempt: int = 1) -> Event[Data]:
    return Event.of(data, session=session, attempt=attempt, now=datetime.now(UTC))
