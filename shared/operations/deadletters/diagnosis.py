"""Why messages became dead letters, which of them belong together, and which are satisfied by now."""

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
TOO_MANY_DELIVERIES = "MaxDeliveryCountExceeded"  # the broker's word
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
    failure_id: str | None = None  # None where only the broker tells
    trace_id: str | None = None


@dataclass(frozen=True)
class Diagnosed:
    letter: DeadLetter
    cause: Cause
    satisfied: bool = False  # whether what it asked for is done by now, where that was looked at

    @property
    def group(self) -> str:
        """The same for all dead letters of a stage with the same reason and the same error."""
        return cause_id(self.letter.queue, self.cause.reason, self.cause.error_hash)


async def diagnose(store: Store, letters: Sequence[DeadLetter]) -> list[Diagnosed]:
    """Each letter of one queue with its cause: its failure record, else what the broker says."""
    if not letters:
        return []
    queue = letters[0].queue
    named: dict[int, str | None] = {letter.sequence_number: _named_record(letter) for letter in letters}
    records = await _records(store, queue, {id_ for id_ in named.values() if id_ is not None})
    nameless = {
        letter.sequence_number: failure_id(invalid_key(queue, letter.copy.data()), 1)
        for letter in letters
        if named[letter.sequence_number] not in records
    }
    records |= await _records(store, queue, set(nameless.values()))
    named |= nameless
    return [
        Diagnosed(letter, _cause(letter, records.get(named[letter.sequence_number]))) for letter in letters
    ]


def _named_record(letter: DeadLetter) -> str | None:
    """By the properties that we send with an event; where somebody left them out, by the event itself."""
    key, attempt = letter.properties.get("idempotency_key"), letter.properties.get("attempt", 1)
    if isinstance(key, str) and isinstance(attempt, int):
        return failure_id(key, attempt)
    event = _event(letter)
    return None if event is None else failure_id(event.idempotency_key(letter.queue), event.attempt)


def _event(letter: DeadLetter) -> Event[Any] | None:
    try:
        return parse_event(letter.copy.data())
    except (InvalidEventError, NewerVersionError):
        return None


async def _records(store: Store, stage: str, ids: Iterable[str]) -> dict[str | None, dict[str, Any]]:
    found = dict[str | None, dict[str, Any]]()
    for batch in batches_of(sorted(ids), IDS_PER_QUERY):
        async for record in store.query(FAILURES_BY_ID, Session(), partition=stage, ids=batch):
            found[record["id"]] = record
    return found


def _cause(letter: DeadLetter, record: dict[str, Any] | None) -> Cause:
    reason, told = letter.reason or "unknown", letter.properties
    if record is None and (error := told.get(f"{FAILURE_PREFIX}last_error")):
        type_ = str(told.get(f"{FAILURE_PREFIX}error_type", ""))
        failure = ClassifiedError(ErrorKind.PERMANENT, type_, str(error).removeprefix(f"{type_}: "))
        return Cause(reason, error_hash(letter.queue, failure), type_, str(error), letter.enqueued_at)
    if record is None:
        # Nothing of ours saw the failure: the broker knows no more than how it ended.
        failure = ClassifiedError(ErrorKind.PERMANENT, reason, letter.description)
        said = letter.description or "no description from the broker"
        said += f" {BROKEN_OFF}" if letter.reason == TOO_MANY_DELIVERIES else ""
        return Cause(reason, error_hash(letter.queue, failure), "", said, letter.enqueued_at)
    return Cause(
        reason,
        record["error_hash"],
        record["error_type"],
        record["last_error"],
        datetime.fromisoformat(record["timestamp"]),
        record["id"],
        record.get("trace_id"),
    )


async def satisfied_letters(clients: Clients, letters: Sequence[DeadLetter]) -> set[int]:
    """The sequence numbers of those letters of one queue whose documents are all done."""
    parsed = {letter.sequence_number: _event(letter) for letter in letters}
    events: dict[int, EventData] = {number: event.data for number, event in parsed.items() if event}
    wanted: dict[str, dict[int, list[str]]] = {}
    for number, data in events.items():
        if (asked := _subjects(data)) is not None:
            wanted.setdefault(asked[0], {})[number] = asked[1]
    found: set[int] = set()
    for container, by_letter in wanted.items():
        every = {id_ for ids in by_letter.values() for id_ in ids}
        done = {str(id_) for id_ in await clients.store.query_by_ids(done_ids(container), every, Session())}
        found |= {number for number, ids in by_letter.items() if done.issuperset(ids)}
    # Or its thread is part of another one, or has a later summary, which is reported.
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
        and _has_another(thread, data.summary_id)
    }


def _has_another(thread: Thread, summary_id: str) -> bool:
    now = thread.summary_id
    replaced = now not in (None, summary_id) and thread.report_id == report_id(str(now))
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
    satisfied: int = 0  # of them: what these asked for is done by now

    def shown(self) -> dict[str, Any]:
        times = {"first_seen": self.first_seen.isoformat(), "last_seen": self.last_seen.isoformat()}
        return {**vars(self), **times}


def group_letters(letters: Iterable[Diagnosed]) -> list[Group]:
    by_cause: dict[str, list[Diagnosed]] = {}
    for diagnosed in letters:
        by_cause.setdefault(diagnosed.group, []).append(diagnosed)
    groups = [_group(members) for members in by_cause.values()]
    return sorted(groups, key=lambda group: (-group.count, group.queue, group.id))


def _group(members: Sequence[Diagnosed]) -> Group:
    letter, cause = members[0].letter, members[0].cause
    seen = [member.cause.seen_at for member in members]
    return Group(
        members[0].group,
        letter.queue,
        *(cause.reason, cause.error_hash, cause.error_type, cause.error),
        len(members),
        min(seen),
        max(seen),
        letter.sequence_number,
        sum(member.satisfied for member in members),
    )


async def diagnosed_letters(
    clients: Clients,
    queues: Sequence[str],
    *,
    most: int | None = None,
    takes: Callable[[DeadLetter], bool] = lambda _letter: True,
    judged: bool = False,
) -> list[Diagnosed]:
    """Those that it takes, of each queue the oldest `most`; `judged` says whether their work is done."""

    async def of(queue: str) -> list[Diagnosed]:
        letters = [letter async for letter in peek_all(clients.bus, queue, most=most) if takes(letter)]
        diagnosed = await diagnose(clients.store, letters)
        if not judged:
            return diagnosed
        done = await satisfied_letters(clients, letters)
        return [
            replace(diagnosis, satisfied=diagnosis.letter.sequence_number in done) for diagnosis in diagnosed
        ]

    # All at once: most of the time goes into opening links, and each queue is quick by itself.
    return [diagnosed for found in await asyncio.gather(*map(of, queues)) for diagnosed in found]


class LetterSelection(BaseModel):
    """All of these conditions hold; without any, everything in the queues is chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queues: list[str]
    sequence_numbers: list[int] = Field(default_factory=list)
    groups: list[str] = Field(default_factory=list)
    event_types: list[str] = Field(default_factory=list)
    before: datetime | None = None  # enqueued
    since: datetime | None = None
    satisfied: bool = False  # only those whose work is done by now
    limit: int | None = Field(default=None, gt=0)

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)

    def takes(self, letter: DeadLetter) -> bool:
        """Whether it fits all conditions but the group, which needs the cause."""
        return (
            (not self.sequence_numbers or letter.sequence_number in self.sequence_numbers)
            and (not self.event_types or letter.subject in self.event_types)
            and (self.before is None or letter.enqueued_at < self.before)
            and (self.since is None or letter.enqueued_at >= self.since)
        )


async def choose(clients: Clients, selection: LetterSelection) -> list[Diagnosed]:
    found = await diagnosed_letters(
        clients, selection.queues, takes=selection.takes, judged=selection.satisfied
    )
    chosen = [
        letter
        for letter in found
        if (not selection.groups or letter.group in selection.groups)
        and (letter.satisfied or not selection.satisfied)
    ]
    return chosen[: selection.limit]


# Collections, the routing keys of the *Failed events, and a few more names that R-803 gives. A routing
# key wins over a collection: `chunks.failed` is chunking's.
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
    """The stage's queue by any of its names: parsing, parsing.failed, parsing/$deadletterqueue."""
    plain = name.strip().lower()
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix)
    if plain in QUEUES:
        return plain
    if plain in _OTHER_NAMES:
        return _OTHER_NAMES[plain]
    raise UnknownQueueError(f"there is no queue {name!r}: it is one of {', '.join(QUEUES)}")
