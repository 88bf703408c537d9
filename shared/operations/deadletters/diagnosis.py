"""Diagnosis of dead letters: causes, groups with the same cause, and dead letters whose work is done."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.servicebus.dead_letters import FAILURE_PREFIX, DeadLetter, peek_all
from shared.core.concurrency import batches_of
from shared.core.errors import ClassifiedError, ErrorKind, InvalidEventError, NewerVersionError, PipelineError
from shared.core.ids import cause_id, failure_id, invalid_key, report_id
from shared.models.queries.operations import FAILURES_BY_ID
from shared.models.queries.several_containers import done_ids
from shared.models.reports import Report
from shared.models.sources import Archive
from shared.models.threads import Chunk, Message, Thread
from shared.models.values import SummaryType
from shared.pipeline.event_types import (
    ArchiveIngested,
    ChunksPrepared,
    EmbeddingsGenerated,
    EventData,
    JSONParsed,
    SummarizationRequested,
    SummaryComplete,
    SummaryRecheck,
)
from shared.pipeline.events import Event, parse_event
from shared.pipeline.failures import error_hash
from shared.pipeline.topology import EMBEDDING, ORCHESTRATION, PRODUCERS, QUEUES, REPORTING, SWEPT

IDS_PER_QUERY = 500
TOO_MANY_DELIVERIES = "MaxDeliveryCountExceeded"  # the reason that the broker gives
BROKEN_OFF = (
    "Each delivery ended before its failure could be recorded: by a crash, a shutdown or an expired lock."
)


@dataclass(frozen=True)
class Cause:
    reason: str
    error_hash: str
    error_type: str
    error: str
    seen_at: datetime
    failure_id: str | None = None  # None if only the broker reports a cause
    trace_id: str | None = None


@dataclass(frozen=True)
class Diagnosed:
    dead_letter: DeadLetter
    cause: Cause
    satisfied: bool = False  # whether the requested work is done, if that was checked

    @property
    def group(self) -> str:
        """Return the id that all dead letters of a stage with the same reason and error have in common."""
        return cause_id(self.dead_letter.queue, self.cause.reason, self.cause.error_hash)


async def diagnose(store: Store, dead_letters: Sequence[DeadLetter]) -> list[Diagnosed]:
    """Return the dead letters of one queue with their causes, from failure records or the broker's reason."""
    if not dead_letters:
        return []
    queue = dead_letters[0].queue
    named: dict[int, str | None] = {
        dead_letter.sequence_number: _named_record(dead_letter) for dead_letter in dead_letters
    }
    records = await _records(store, queue, {id_ for id_ in named.values() if id_ is not None})
    nameless = {
        dead_letter.sequence_number: failure_id(invalid_key(queue, dead_letter.copy.data()), 1)
        for dead_letter in dead_letters
        if named[dead_letter.sequence_number] not in records
    }
    records |= await _records(store, queue, set(nameless.values()))
    named |= nameless
    return [
        Diagnosed(dead_letter, _cause(dead_letter, records.get(named[dead_letter.sequence_number])))
        for dead_letter in dead_letters
    ]


def _named_record(dead_letter: DeadLetter) -> str | None:
    """Return the id of the failure record by the properties of the message, or else by its event."""
    key, attempt = dead_letter.properties.get("idempotency_key"), dead_letter.properties.get("attempt", 1)
    if isinstance(key, str) and isinstance(attempt, int):
        return failure_id(key, attempt)
    event = _event(dead_letter)
    return None if event is None else failure_id(event.idempotency_key(dead_letter.queue), event.attempt)


def _event(dead_letter: DeadLetter) -> Event[Any] | None:
    try:
        return parse_event(dead_letter.copy.data())
    except (InvalidEventError, NewerVersionError):
        return None


async def _records(store: Store, stage: str, ids: Iterable[str]) -> dict[str | None, dict[str, Any]]:
    found = dict[str | None, dict[str, Any]]()
    for batch in batches_of(sorted(ids), IDS_PER_QUERY):
        async for record in store.query(FAILURES_BY_ID, Session(), partition=stage, ids=batch):
            found[record["id"]] = record
    return found


def _cause(dead_letter: DeadLetter, record: dict[str, Any] | None) -> Cause:
    reason, properties = dead_letter.reason or "unknown", dead_letter.properties
    if record is None and (error := properties.get(f"{FAILURE_PREFIX}last_error")):
        type_ = str(properties.get(f"{FAILURE_PREFIX}error_type", ""))
        failure = ClassifiedError(ErrorKind.PERMANENT, type_, str(error).removeprefix(f"{type_}: "))
        return Cause(
            reason, error_hash(dead_letter.queue, failure), type_, str(error), dead_letter.enqueued_at
        )
    if record is None:
        # The app saw no failure: the broker knows only the reason.
        failure = ClassifiedError(ErrorKind.PERMANENT, reason, dead_letter.description)
        description = dead_letter.description or "no description from the broker"
        description += f" {BROKEN_OFF}" if dead_letter.reason == TOO_MANY_DELIVERIES else ""
        return Cause(reason, error_hash(dead_letter.queue, failure), "", description, dead_letter.enqueued_at)
    return Cause(
        reason,
        record["error_hash"],
        record["error_type"],
        record["last_error"],
        datetime.fromisoformat(record["timestamp"]),
        record["id"],
        record.get("trace_id"),
    )


async def satisfied_dead_letters(clients: Clients, dead_letters: Sequence[DeadLetter]) -> set[int]:
    """Return the sequence numbers of the dead letters of one queue whose documents are all finished."""
    parsed = {dead_letter.sequence_number: _event(dead_letter) for dead_letter in dead_letters}
    events: dict[int, EventData] = {number: event.data for number, event in parsed.items() if event}
    wanted: dict[str, dict[int, list[str]]] = {}
    for number, data in events.items():
        if (subjects := _subjects(data)) is not None:
            wanted.setdefault(subjects[0], {})[number] = subjects[1]
    found: set[int] = set()
    for container, ids_by_number in wanted.items():
        every = {id_ for ids in ids_by_number.values() for id_ in ids}
        done = {str(id_) for id_ in await clients.store.query_by_ids(done_ids(container), every, Session())}
        found |= {number for number, ids in ids_by_number.items() if done.issuperset(ids)}
    # Also if the thread was merged into another thread, or has a later summary whose report is published.
    completed = {
        number: data
        for number, data in events.items()
        if number not in found
        and isinstance(data, SummaryComplete)
        and data.summary_type == SummaryType.THREAD
    }
    keys = sorted({data.thread_id for data in completed.values()})
    threads = await clients.store.find_many(Thread, keys, Session())
    return found | {
        number
        for number, data in completed.items()
        if data.summary_id is not None
        and (thread := threads.get(data.thread_id)) is not None
        and _is_replaced(thread, data.summary_id)
    }


def _is_replaced(thread: Thread, summary_id: str) -> bool:
    current = thread.summary_id
    replaced = current not in (None, summary_id) and thread.report_id == report_id(str(current))
    return thread.merged_into is not None or replaced


def _subjects(data: EventData) -> tuple[str, list[str]] | None:
    match data:
        case ArchiveIngested():
            return Archive.container, [data.archive_id]
        case JSONParsed():
            return Message.container, data.message_keys
        case ChunksPrepared() if data.chunk_ids:
            return Chunk.container, data.chunk_ids
        case EmbeddingsGenerated() | SummaryRecheck() | SummarizationRequested() if data.named_threads():
            return Thread.container, data.named_threads()
        case SummaryComplete() if data.summary_id:
            return Report.container, [report_id(data.summary_id)]
    return None


@dataclass(frozen=True)
class Group:
    id: str
    queue: str
    reason: str
    error_hash: str
    error_type: str
    error: str
    count: int
    first_seen: datetime
    last_seen: datetime
    example: int  # a sequence number
    satisfied: int = 0  # dead letters whose requested work is done

    def shown(self) -> dict[str, Any]:
        times = {"first_seen": self.first_seen.isoformat(), "last_seen": self.last_seen.isoformat()}
        return {**vars(self), **times}


def group_dead_letters(dead_letters: Iterable[Diagnosed]) -> list[Group]:
    by_cause: dict[str, list[Diagnosed]] = {}
    for diagnosed in dead_letters:
        by_cause.setdefault(diagnosed.group, []).append(diagnosed)
    groups = [_group(members) for members in by_cause.values()]
    return sorted(groups, key=lambda group: (-group.count, group.queue, group.id))


def _group(members: Sequence[Diagnosed]) -> Group:
    dead_letter, cause = members[0].dead_letter, members[0].cause
    seen = [member.cause.seen_at for member in members]
    return Group(
        members[0].group,
        dead_letter.queue,
        *(cause.reason, cause.error_hash, cause.error_type, cause.error),
        len(members),
        min(seen),
        max(seen),
        dead_letter.sequence_number,
        sum(member.satisfied for member in members),
    )


async def diagnosed_dead_letters(
    clients: Clients,
    queues: Sequence[str],
    *,
    most: int | None = None,
    takes: Callable[[DeadLetter], bool] = lambda _dead_letter: True,
    judged: bool = False,
) -> list[Diagnosed]:
    """Return the oldest `most` dead letters of each queue that `takes` accepts. `judged` sets `satisfied`."""

    async def of(queue: str) -> list[Diagnosed]:
        dead_letters = [
            dead_letter async for dead_letter in peek_all(clients.bus, queue, most=most) if takes(dead_letter)
        ]
        diagnosed = await diagnose(clients.store, dead_letters)
        if not judged:
            return diagnosed
        done = await satisfied_dead_letters(clients, dead_letters)
        return [
            replace(diagnosis, satisfied=diagnosis.dead_letter.sequence_number in done)
            for diagnosis in diagnosed
        ]

    # Concurrently: opening the links takes most of the time.
    return [diagnosed for found in await asyncio.gather(*map(of, queues)) for diagnosed in found]


class DeadLetterSelection(BaseModel):
    """Conditions that must all hold. Without conditions all dead letters of the queues are chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queues: list[str]
    sequence_numbers: list[int] = Field(default_factory=list)
    groups: list[str] = Field(default_factory=list)
    event_types: list[str] = Field(default_factory=list)
    before: datetime | None = None  # enqueued
    since: datetime | None = None
    satisfied: bool = False  # only dead letters whose requested work is done
    limit: int | None = Field(default=None, gt=0)

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)

    def takes(self, dead_letter: DeadLetter) -> bool:
        """Return whether the dead letter meets all conditions except the group, which needs its cause."""
        return (
            (not self.sequence_numbers or dead_letter.sequence_number in self.sequence_numbers)
            and (not self.event_types or dead_letter.subject in self.event_types)
            and (self.before is None or dead_letter.enqueued_at < self.before)
            and (self.since is None or dead_letter.enqueued_at >= self.since)
        )


async def choose(clients: Clients, selection: DeadLetterSelection) -> list[Diagnosed]:
    found = await diagnosed_dead_letters(
        clients, selection.queues, takes=selection.takes, judged=selection.satisfied
    )
    chosen = [
        diagnosed
        for diagnosed in found
        if (not selection.groups or diagnosed.group in selection.groups)
        and (diagnosed.satisfied or not selection.satisfied)
    ]
    return chosen[: selection.limit]


# Collections, the routing keys of the *Failed events, and more names from R-803. A routing key takes
# precedence over a collection: `chunks.failed` belongs to chunking.
_OTHER_NAMES = {
    **{stage.document.container: stage.name for stage in SWEPT},
    **{producer.fails_as.routing_key.removesuffix(".failed"): producer.name for producer in PRODUCERS},
    "embedding.generation": EMBEDDING.name,
    "orchestrator": ORCHESTRATION.name,
    "report.delivery": REPORTING.name,
}
_SUFFIXES = ("/$deadletterqueue", ".failed", ".dlq")


class UnknownQueueError(PipelineError):
    """There is no such queue."""


def queue_named(name: str) -> str:
    """Return the queue of a stage by any of its names: parsing, parsing.failed, parsing/$deadletterqueue."""
    plain = name.strip().lower()
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix)
    if plain in QUEUES:
        return plain
    if plain in _OTHER_NAMES:
        return _OTHER_NAMES[plain]
    raise UnknownQueueError(f"there is no queue {name!r}: it is one of {', '.join(QUEUES)}")
