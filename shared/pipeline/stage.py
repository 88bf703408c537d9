"""A stage as its module declares it: its row of the topology, and its handler with its context and result."""

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
    """The context of one attempt. Reads with its session see the writes that the event announces."""

    clients: Clients
    session: Session
    attempt: int
    runtime: Runtime

    def now(self) -> datetime:
        return self.runtime.now()


@dataclass(frozen=True)
class ScheduledEvent:
    """An internal event of the stage, scheduled on the stage's own queue."""

    seconds: float
    data: EventData


@dataclass(frozen=True)
class StageResult:
    """The events to publish and to schedule, and the work that follows after they are sent."""

    announce: Sequence[EventData] = ()
    scheduled: Sequence[ScheduledEvent] = ()
    after_announcing: Callable[[], Awaitable[None]] | None = None
    counts: dict[str, int] = field(default_factory=dict)


Handler = Callable[[Event[Any], StageContext], Awaitable[StageResult]]


@dataclass(frozen=True)
class DocumentRef:
    """A document of an event. It counts its attempts and keeps its last error."""

    model: type[Document]
    id: str


@dataclass(frozen=True)
class Stage(Generic[Data]):
    """The handler loads, works, writes idempotently, and returns the events to publish.

    The runner publishes them, so that a crash never leaves an event without the writes that it announces.
    """

    row: StageRow[Data]
    handle: Callable[[Event[Data], StageContext], Awaitable[StageResult]]
    document_ids: Callable[[Data], Iterable[str]]  # of the documents whose attempts are counted
    internal: Mapping[type[EventData], Handler] = field(default_factory=dict)  # the row's internal events
    failed_status: str | None = None  # the status of its documents after a permanent failure

    @property
    def name(self) -> str:
        return self.row.name

    def handler_of(self, event: Event[Any]) -> Handler:
        """Return the handler of the event. Raise InvalidEventError for an event of another stage."""
        if isinstance(event.data, self.row.consumes):
            return self.handle
        if type(event.data) in self.internal:
            return self.internal[type(event.data)]
        wanted = self.row.consumes.__name__
        raise InvalidEventError(f"{event.event_type} is not for {self.name}: it takes {wanted}")

    def subjects(self, data: Data) -> list[DocumentRef]:
        return [DocumentRef(self.row.document, id_) for id_ in self.document_ids(data)]
