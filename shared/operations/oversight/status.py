"""The state of the system, and the problems that need an operator."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from shared.azure.calls import as_request
from shared.azure.classify import SDK_ERRORS, classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.administration import QueueCounts, queue_counts
from shared.azure.servicebus.bus import PEEKED, oldest_time
from shared.core.errors import ErrorKind, ServiceSilentError
from shared.core.times import in_one_unit, stored_time
from shared.models.queries.operations import OLDEST_ARCHIVE_TIME
from shared.models.queries.several_containers import count_open, count_refused, finished_count
from shared.models.records import Audit, Run
from shared.operations.audit import last_audits
from shared.operations.due_documents import COLLECTIONS, Collection, Policy, count, count_documents
from shared.operations.oversight.dependencies import SERVICES, Check, check_dependencies, refused_at
from shared.operations.oversight.health import (
    SWEEPS_MISSED,
    TIMED,
    AgeBounds,
    count_late_documents,
    last_consumers,
)
from shared.operations.sweep import latest_run
from shared.pipeline.topology import CHUNKING, EMBEDDING, PARSING, QUEUES, REPORTING, SUMMARIZATION

# Housekeeping records the consumed queues every five minutes. This limit allows two missed records.
NO_CONSUMER_AFTER = timedelta(minutes=11)
WINDOW = timedelta(minutes=15)
PART_TIMES = 1.75  # times REQUEST_SECONDS, because a part sends two requests in sequence
SHOWN_PARTS = ("queues", "documents", "stages", "operations", "sweep")
WAITED_FOR = {*SERVICES, "model", "disk"}
COUNTED_BY_PEEKING = 1000
Result = TypeVar("Result")


@dataclass(frozen=True)
class StatusProblem:
    kind: str
    says: str


@dataclass(frozen=True)
class QueueStatus:
    queue: str
    waiting: int
    dead: int
    at_least: bool  # the count stopped at its limit
    oldest_waiting: datetime | None = None
    oldest_dead: datetime | None = None


@dataclass(frozen=True)
class DocumentsStatus:
    collection: str
    stage: str
    open: int  # all pending documents
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
    consumers: dict[str, datetime] = field(
        default_factory=dict
    )  # by queue, the last time a consumer was seen
    started_at: datetime | None = None  # the oldest trace of a running app, None if there is none
    dependencies: dict[str, Check] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)  # parts that could not be read, and why
    bounds: AgeBounds = field(default_factory=AgeBounds)
    consumed_queues: tuple[str, ...] = QUEUES

    @property
    def dead(self) -> int:
        return sum(queue.dead for queue in self.queues)

    @property
    def troubles(self) -> list[StatusProblem]:
        """Return all problems. Parts that could not be read are in `unanswered`."""
        rules = (_dependencies, _dead_letters, _documents, _queues, _consumers, _sweep, _circuits, _objective)
        return [problem for rule in rules for problem in rule(self)]

    @property
    def unknown(self) -> dict[str, list[str]]:
        reasons: dict[str, list[str]] = {}
        for part, why in self.unanswered.items():
            if part in SHOWN_PARTS:
                reasons.setdefault(why, []).append(part)
        return reasons

    @property
    def troubled(self) -> bool:
        return bool(self.troubles)

    def is_starting(self, grace: timedelta) -> bool:
        """Return whether the app started too recently for its timers to have run."""
        return self.started_at is not None and self.at - self.started_at <= grace

    @property
    def partial(self) -> bool:
        """Return whether a part could not be read, so that the state is not fully known."""
        return bool(self.unanswered)

    def shown(self) -> dict[str, Any]:
        sweep = self.sweep.model_dump(mode="json", exclude={"examples", "etag"}) if self.sweep else None
        operations = [operation.model_dump(mode="json", exclude={"etag"}) for operation in self.operations]
        listed = {
            name: [asdict(item) for item in getattr(self, name)]
            for name in ("troubles", "queues", "documents", "stages")
        }
        return {
            "at": self.at.isoformat(),
            "troubled": self.troubled,
            "partial": self.partial,
            **listed,
            "dependencies": {name: asdict(check) for name, check in self.dependencies.items()},
            "unanswered": self.unanswered,
            "consumers": {queue: seen.isoformat() for queue, seen in self.consumers.items()},
            "operations": operations,
            "last_sweep": sweep,
        }


def _dependencies(status: SystemStatus) -> Iterator[StatusProblem]:
    for name, check in status.dependencies.items():
        if check.says is not None:
            sentence = f"{check.says[0].upper()}{check.says[1:]}"
            text = sentence if sentence.endswith((".", "?")) else f"{sentence}."
            waits = " Work waits for it and resumes by itself." if name in WAITED_FOR else ""
            yield StatusProblem("dependency", text + waits)


def _dead_letters(status: SystemStatus) -> Iterator[StatusProblem]:
    if status.dead:
        counted = _counted(status.dead, "dead letter", "dead letters")
        yield StatusProblem("dead_letters", f"{counted}: `dlq list --groups` shows the causes.")


def _documents(status: SystemStatus) -> Iterator[StatusProblem]:
    if stuck := sum(counts.stuck for counts in status.documents):
        counted = _counted(stuck, "document is", "documents are")
        yield StatusProblem("stuck", f"{counted} stuck: `documents list --only stuck` lists them.")
    if failed := sum(counts.failed for counts in status.documents):
        counted = _counted(failed, "document was", "documents were")
        yield StatusProblem("failed", f"{counted} not processed: `documents list --only failed` lists them.")


def _queues(status: SystemStatus) -> Iterator[StatusProblem]:
    for queue in status.queues:
        bound = status.bounds.of_queue(queue.queue)
        if queue.oldest_waiting is not None and status.at - queue.oldest_waiting > bound:
            sentence = f"A message has waited in {queue.queue} for {_span(status.at - queue.oldest_waiting)}."
            yield StatusProblem("queue_age", f"{sentence} The limit is {_span(bound)}.")


def _consumers(status: SystemStatus) -> Iterator[StatusProblem]:
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
        yield StatusProblem("no_consumer", f"No app {since}: messages in the queues are not processed.")
        return
    for queue in missing:
        yield StatusProblem(
            "no_consumer", f"Messages in {queue} are not processed. Is its function disabled?"
        )


def _sweep(status: SystemStatus) -> Iterator[StatusProblem]:
    bound = status.bounds.sweep
    if "sweep" in status.unanswered or (status.sweep is None and status.is_starting(bound)):
        return
    if status.sweep is None:
        yield StatusProblem("sweep", "The sweep has not run yet.")
    elif (age := status.at - status.sweep.started_at) > bound:
        sentence = f"The last sweep was {_span(age)} ago, more than {SWEEPS_MISSED} intervals."
        yield StatusProblem("sweep", f"{sentence} Is it running?")


def _circuits(status: SystemStatus) -> Iterator[StatusProblem]:
    for name, why in (status.sweep.circuits if status.sweep else {}).items():
        yield StatusProblem("circuit", f"The stage of {name} keeps failing and is only probed: {why}.")


def _objective(status: SystemStatus) -> Iterator[StatusProblem]:
    if late := sum(documents.late for documents in status.documents):
        sentence = (
            f"{_counted(late, 'document is', 'documents are')} not finished {_span(status.bounds.report)}"
        )
        yield StatusProblem("slo", f"{sentence} after arrival. The objective SLO_REPORT_MINUTES is missed.")


def _counted(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _span(length: timedelta) -> str:
    return in_one_unit(length.total_seconds())


async def read_status(
    clients: Clients, *, now: datetime | None = None, operations: int = 5, app_since: datetime | None = None
) -> SystemStatus:
    """Read all parts concurrently. `app_since` is the start of this process if it is the app."""
    moment = now or clients.runtime.now()
    parts: dict[str, Coroutine[Any, Any, Any]] = {
        "queues": _queue_states(clients),
        "documents": _each(_document_counts(clients, collection, moment) for collection in COLLECTIONS),
        "stages": _each(_throughput(clients, stage, moment) for stage in _DONE),
        "operations": last_audits(clients.store, operations),
        "sweep": latest_run(clients),
        "consumers": last_consumers(clients),
        "started_at": _first_start(clients, app_since),
        "dependencies": check_dependencies(clients, is_app=app_since is not None),
    }
    with as_request():
        seconds = PART_TIMES * clients.settings.REQUEST_SECONDS
        bounded = (
            asking
            if part == "dependencies"
            else _bounded(part, asking, seconds)  # dependency checks have their own deadlines
            for part, asking in parts.items()
        )
        asked = await asyncio.gather(*bounded, return_exceptions=True)
    answers: dict[str, Any] = dict(zip(parts, asked, strict=True))
    failed = {part: answer for part, answer in answers.items() if isinstance(answer, BaseException)}
    return SystemStatus(
        moment,
        bounds=AgeBounds.from_settings(clients.settings),
        unanswered={part: _why(error) for part, error in failed.items()},
        **{part: answer for part, answer in answers.items() if part not in failed},
    )


async def _bounded(part: str, asking: Coroutine[Any, Any, Any], seconds: float) -> Any:
    """Stop reading a part after a time, because an SDK retries a refusing service for every queue."""
    asked = asyncio.ensure_future(asking)
    done, _ = await asyncio.wait({asked}, timeout=seconds)
    if not done:
        asked.add_done_callback(lambda late: late.cancelled() or late.exception())
        asked.cancel()
        service = "Service Bus" if part == "queues" else "Cosmos DB"
        raise ServiceSilentError(f"{service} did not answer within {seconds:g} s", service)
    return asked.result()


async def _first_start(clients: Clients, app_since: datetime | None) -> datetime | None:
    """Return the oldest trace of a running app: the first archive, or the start of this process."""
    rows = clients.store.query(OLDEST_ARCHIVE_TIME, Session())
    stored = [datetime.fromisoformat(str(row)) async for row in rows]
    return min([*stored, *([app_since] if app_since else [])], default=None)


def _why(error: BaseException) -> str:
    """Return the reason in one line. Raise permanent errors, because they are bugs and not outages."""
    failure = classify(error)
    if failure.kind is ErrorKind.PERMANENT:
        raise error
    service = failure.details.get("service")
    return f"{service} does not answer." if service else failure.message


async def _each(asked: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    return list(await asyncio.gather(*asked))


async def _queue_states(clients: Clients) -> list[QueueStatus]:
    if await refused_at(clients.settings, "servicebus"):  # the SDK would retry each queue for seconds
        raise ServiceSilentError("Service Bus refuses connections", "Service Bus")
    try:
        counted = await queue_counts(clients.settings, QUEUES, clients.calls("servicebus"))
    except SDK_ERRORS:  # the emulators have no administration API
        counted = None
    return await _each(_queue(clients, queue, counted[queue] if counted else None) for queue in QUEUES)


async def _queue(clients: Clients, queue: str, counts: QueueCounts | None) -> QueueStatus:
    bus, most = clients.bus, COUNTED_BY_PEEKING
    if counts is None:
        first, last = await asyncio.gather(
            bus.peek(queue, start=1, count=most), bus.peek_dead_letters(queue, start=1, count=most)
        )
        waiting, dead = len(first), len(last)
    else:  # opens a link, which takes half a second, only for a queue with messages
        waiting, dead = counts.active, counts.dead_lettered
        first = await bus.peek(queue, start=1, count=PEEKED) if waiting else []
        last = await bus.peek_dead_letters(queue, start=1, count=1) if dead else []
    at_least = counts is None and max(waiting, dead) >= most
    return QueueStatus(queue, waiting, dead, at_least, oldest_time(first), oldest_time(last))


async def _document_counts(clients: Clients, collection: Collection, now: datetime) -> DocumentsStatus:
    counts = await count_documents(clients.store, collection, Policy.from_settings(clients.settings), now)
    opened = await count(clients.store, count_open(collection))
    refused = await count(clients.store, count_refused(collection))
    late = await count_late_documents(clients, collection, now) if collection in TIMED else 0
    failed = counts["failed"] + refused
    return DocumentsStatus(
        collection.name, collection.stage, opened, counts["waiting"], counts["stuck"], failed, late
    )


# The container with the documents that a stage finishes.
_DONE: dict[str, str] = {
    PARSING.name: "archives",
    CHUNKING.name: "messages",
    EMBEDDING.name: "chunks",
    SUMMARIZATION.name: "summaries",
    REPORTING.name: "reports",
}


async def _throughput(clients: Clients, stage: str, now: datetime) -> StageStatus:
    container = _DONE[stage]
    done = await count(clients.store, finished_count(container), since=stored_time(now - WINDOW))
    return StageStatus(stage, container, done, round(done / (WINDOW.total_seconds() / 60), 2))
