"""A stage, as its module declares it: what it consumes, what it does, and how its failure is told."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import ClassifiedError
from shared.documents.base import Document
from shared.pipeline.events.data import EventData
from shared.pipeline.events.envelope import Event

__all__ = ["ScheduledEvent", "Stage", "StageResult", "Subject", "Work"]

Data = TypeVar("Data", bound=EventData)


@dataclass(frozen=True)
class Work:
    """One attempt at one event: what to talk to, and the session that sees what the event announces."""

    clients: Clients
    session: Session
    attempt: int
    now: Callable[[], datetime]


@dataclass(frozen=True)
class ScheduledEvent:
    """An announcement that the broker holds back for a while."""

    seconds: float
    data: EventData


@dataclass(frozen=True)
class StageResult:
    """What to announce, now or later, and what may be marked done once it is announced."""

    announce: Sequence[EventData] = ()
    later: Sequence[ScheduledEvent] = ()
    after_announcing: Callable[[], Awaitable[None]] | None = None
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """A document that an event is about: its attempts are counted and its last error is kept."""

    model: type[Document]
    id: str
    partition: str


@dataclass(frozen=True)
class Stage(Generic[Data]):
    """Its name is its queue's name.

    The handler loads, works and writes idempotently, and returns what to announce; it never publishes itself.
    """

    name: str
    consumes: type[Data]
    handle: Callable[[Event[Data], Work], Awaitable[StageResult]]
    failed: Callable[[Event[Data], ClassifiedError, int, datetime], EventData]
    subjects: Callable[[Data], Sequence[Subject]]
    counts_attempt_first: bool = False  # archives and threads: the attempt is counted before the work
    failed_status: str | None = None  # what its documents become when it fails for good
