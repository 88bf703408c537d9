"""The state of the system, and what an operator has to look at: rules over it, each with its next step."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from shared.core.times import in_one_unit
from shared.documents.records import Audit, Run
from shared.pipeline.topology import QUEUE_ROWS, QUEUES
from shared.settings.app import Settings

# The housekeeping says every five minutes which queues the app takes messages from: two of them were missed.
NO_CONSUMER_AFTER = timedelta(minutes=11)
SWEEPS_MISSED = 2
PATIENCE = {row.name: row.patience for row in QUEUE_ROWS}


@dataclass(frozen=True)
class AgeBounds:
    """What is too old."""

    waiting: timedelta = timedelta(minutes=30)  # ten deliveries that fail at once take less
    sweep: timedelta = timedelta(minutes=30)
    report: timedelta = timedelta(minutes=60)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            sweep=timedelta(seconds=SWEEPS_MISSED * settings.RETRY_JOB_INTERVAL_SECONDS),
            report=timedelta(minutes=settings.SLO_REPORT_MINUTES),
        )

    def of_queue(self, queue: str) -> timedelta:
        """How long a message may wait there."""
        return self.waiting * PATIENCE.get(queue, 1.0)


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong."""

    kind: str
    says: str


@dataclass(frozen=True)
class QueueStatus:
    queue: str
    waiting: int
    dead: int
    at_least: bool  # counted by looking, which stops somewhere
    oldest_waiting: datetime | None = None
    oldest_dead: datetime | None = None


@dataclass(frozen=True)
class DocumentsStatus:
    collection: str
    stage: str
    open: int  # pending, whether anything is wrong with them or not
    backing_off: int
    stuck: int
    failed: int
    late: int = 0  # open for longer than the objective allows


@dataclass(frozen=True)
class StageStatus:
    stage: str
    unit: str
    done: int  # in the window
    per_minute: float


@dataclass(frozen=True)
class SystemStatus:
    at: datetime
    queues: list[QueueStatus] = field(default_factory=list)
    documents: list[DocumentsStatus] = field(default_factory=list)
    stages: list[StageStatus] = field(default_factory=list)
    operations: list[Audit] = field(default_factory=list)
    sweep: Run | None = None
    consumers: dict[str, datetime] = field(default_factory=dict)  # by queue, when one was last heard of
    started_at: datetime | None = None  # the oldest trace of a running app; None: there is none
    unanswered: dict[str, str] = field(default_factory=dict)  # what could not be asked, and why
    bounds: AgeBounds = field(default_factory=AgeBounds)
    consumed_queues: tuple[str, ...] = QUEUES

    @property
    def dead(self) -> int:
        return sum(queue.dead for queue in self.queues)

    @property
    def troubles(self) -> list[Trouble]:
        """All that is wrong. What could not be asked is not among them: see `unanswered`."""
        rules = (_letters, _documents, _queues, _consumers, _sweep, _circuits, _objective)
        return [trouble for rule in rules for trouble in rule(self)]

    @property
    def troubled(self) -> bool:
        return bool(self.troubles)

    def is_starting(self, grace: timedelta) -> bool:
        """Whether the app is too young for what it does by its timers."""
        return self.started_at is not None and self.at - self.started_at <= grace

    @property
    def partial(self) -> bool:
        """Whether something could not be asked: then nobody can say that all is well."""
        return bool(self.unanswered)

    def shown(self) -> dict[str, Any]:
        sweep = self.sweep.model_dump(mode="json", exclude={"examples", "etag"}) if self.sweep else None
        operations = [operation.model_dump(mode="json", exclude={"etag"}) for operation in self.operations]
        listed = {
            name: [asdict(one) for one in getattr(self, name)]
            for name in ("troubles", "queues", "documents", "stages")
        }
        return {
            "at": self.at.isoformat(),
            "troubled": self.troubled,
            "partial": self.partial,
            **listed,
            "unanswered": self.unanswered,
            "consumers": {queue: seen.isoformat() for queue, seen in self.consumers.items()},
            "operations": operations,
            "last_sweep": sweep,
        }


def _letters(status: SystemStatus) -> Iterator[Trouble]:
    if status.dead:
        said = _counted(status.dead, "dead letter", "dead letters")
        yield Trouble("dead_letters", f"{said}: `dlq list --groups` shows the causes.")


def _documents(status: SystemStatus) -> Iterator[Trouble]:
    if stuck := sum(counts.stuck for counts in status.documents):
        said = _counted(stuck, "document is", "documents are")
        yield Trouble("stuck", f"{said} stuck: `documents list --only stuck` lists them.")
    if failed := sum(counts.failed for counts in status.documents):
        said = _counted(failed, "document was", "documents were")
        yield Trouble("failed", f"{said} not processed: `documents list --only failed` lists them.")


def _queues(status: SystemStatus) -> Iterator[Trouble]:
    for queue in status.queues:
        bound = status.bounds.of_queue(queue.queue)
        if queue.oldest_waiting is not None and status.at - queue.oldest_waiting > bound:
            said = f"A message has waited in {queue.queue} for {_span(status.at - queue.oldest_waiting)}."
            yield Trouble("queue_age", f"{said} The limit is {_span(bound)}.")


def _consumers(status: SystemStatus) -> Iterator[Trouble]:
    starting = not status.consumers and status.is_starting(NO_CONSUMER_AFTER)
    if starting or "consumers" in status.unanswered:
        return
    missing = [
        queue
        for queue in status.consumed_queues
        if (seen := status.consumers.get(queue)) is None or status.at - seen > NO_CONSUMER_AFTER
    ]
    if len(missing) == len(status.consumed_queues) and missing:
        last = max(status.consumers.values(), default=None)
        since = "has ever been seen" if last is None else f"has been seen for {_span(status.at - last)}"
        yield Trouble("no_consumer", f"No app {since}: messages in the queues are not processed.")
        return
    for queue in missing:
        yield Trouble("no_consumer", f"Messages in {queue} are not processed. Is its function disabled?")


def _sweep(status: SystemStatus) -> Iterator[Trouble]:
    bound = status.bounds.sweep
    if "sweep" in status.unanswered or (status.sweep is None and status.is_starting(bound)):
        return
    if status.sweep is None:
        yield Trouble("sweep", "The sweep has not run yet.")
    elif (age := status.at - status.sweep.started_at) > bound:
        said = f"The last sweep was {_span(age)} ago, more than {SWEEPS_MISSED} intervals."
        yield Trouble("sweep", f"{said} Is it running?")


def _circuits(status: SystemStatus) -> Iterator[Trouble]:
    for name, why in (status.sweep.circuits if status.sweep else {}).items():
        yield Trouble("circuit", f"The stage of {name} keeps failing and is only probed: {why}.")


def _objective(status: SystemStatus) -> Iterator[Trouble]:
    if late := sum(documents.late for documents in status.documents):
        said = f"{_counted(late, 'document is', 'documents are')} not finished {_span(status.bounds.report)}"
        yield Trouble("slo", f"{said} after arrival. The objective SLO_REPORT_MINUTES is missed.")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _span(length: timedelta) -> str:
    return in_one_unit(length.total_seconds())
