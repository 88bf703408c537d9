"""A stage, as its module declares it: its row of the topology, and what it does."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import InvalidEventError
from shared.core.runtime import Runtime
from shared.models.base import Document
from shared.pipeline.event_types import EventData
from shared.pipeline.events import Event
from shared.pipeline.topology import StageRow

Data = TypeVar("Data", bound=EventData)


@dataclass(frozen=True)
class StageContext:
    """One attempt at one event: what to talk to, and the session that sees what the event announces."""

    clients: Clients
    session: Session
    attempt: int
    runtime: Runtime

    def now(self) -> datetime:
        return self.runtime.now()


@dataclass(frozen=True)
class ScheduledEvent:
    """An internal event of the stage, which the broker holds back for a while on the stage's own queue."""

    seconds: float
    data: EventData


@dataclass(frozen=True)
class StageResult:
    """What to announce or schedule, and what may be marked done once that is sent."""

    announce: Sequence[EventData] = ()
    scheduled: Sequence[ScheduledEvent] = ()
    after_announcing: Callable[[], Awaitable[None]] | None = None
    counts: dict[str, int] = field(default_factory=dict)


Handler = Callable[[Event[Any], StageContext], Awaitable[StageResult]]


@dataclass(frozen=True)
class DocumentRef:
    """A document that an event is about: its attempts are counted and its last error is kept."""

    model: type[Document]
    id: str


@dataclass(frozen=True)
class Stage(Generic[Data]):
    """The handler loads, works and writes idempotently, and returns what to announce.

    It never publishes itself: the runner does, after the writes.
    """

    row: StageRow[Data]
    handle: Callable[[Event[Data], StageContext], Awaitable[StageResult]]
    documents: Callable[[Data], Iterable[str]]  # the ids of those that the event is about
    internal: Mapping[type[EventData], Handler] = field(default_factory=dict)  # the row's internal events
    failed_status: str | None = None  # what its documents become when it fails for good

    @property
    def name(self) -> str:
        return self.row.name

    def handler_of(self, event: Event[Any]) -> Handler:
        """InvalidEventError where the event is another stage's."""
        if isinstance(event.data, self.row.consumes):
            return self.handle
        if type(event.data) in self.internal:
            return self.internal[type(event.data)]
        wanted = self.row.consumes.__name__
        raise InvalidEventError(f"{event.event_type} is not for {self.name}: it takes {wanted}")

    def subjects(self, data: Data) -> list[DocumentRef]:
        return [DocumentRef(self.row.document, id_) for id_ in self.documents(data)]
