"""Reads the state of the system: queues, dead letters, documents, throughput, latest operations and sweep."""

import asyncio
from collections.abc import Coroutine, Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from shared.clients.calls import somebody_waits
from shared.clients.classify import SDK_ERRORS, classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.administration import QueueCounts, queue_counts
from shared.core.errors import ErrorKind
from shared.core.times import stored_time
from shared.documents.queries.operations import OLDEST_ARCHIVE_TIME
from shared.documents.queries.several_containers import count_open, count_refused, finished_count
from shared.pipeline.topology import CHUNKING, EMBEDDING, PARSING, QUEUES, REPORTING, SUMMARIZATION
from shared.upkeep.audit import last_audits
from shared.upkeep.due_documents import COLLECTIONS, Collection, Policy, count, count_documents
from shared.upkeep.oversight.health import LOOKED_AT, TIMED, count_late_documents, last_consumers, oldest_time
from shared.upkeep.oversight.system_status import (
    AgeBounds,
    DocumentsStatus,
    QueueStatus,
    StageStatus,
    SystemStatus,
)
from shared.upkeep.sweep import latest_run

WINDOW = timedelta(minutes=15)
COUNTED_BY_PEEKING = 1000
Result = TypeVar("Result")


async def read_status(
    clients: Clients,
    *,
    now: datetime | None = None,
    operations: int = 5,
    app_since: datetime | None = None,
) -> SystemStatus:
    """Ask everything at once. `app_since` is the start of the process that asks, where that is the app."""
    moment = now or clients.runtime.now()
    parts: dict[str, Coroutine[Any, Any, Any]] = {
        "queues": _queues(clients),
        "documents": _each(_documents(clients, collection, moment) for collection in COLLECTIONS),
        "stages": _each(_throughput(clients, stage, moment) for stage in _DONE),
        "operations": last_audits(clients.store, operations),
        "sweep": latest_run(clients),
        "consumers": last_consumers(clients),
        "started_at": _first_start(clients, app_since),
    }
    with somebody_waits():
        asked = await asyncio.gather(*parts.values(), return_exceptions=True)
    answers: dict[str, Any] = dict(zip(parts, asked, strict=True))
    failed = {part: answer for part, answer in answers.items() if isinstance(answer, BaseException)}
    return SystemStatus(
        moment,
        bounds=AgeBounds.from_settings(clients.settings),
        unanswered={part: _why(error) for part, error in failed.items()},
        **{part: answer for part, answer in answers.items() if part not in failed},
    )


async def _first_start(clients: Clients, app_since: datetime | None) -> datetime | None:
    """The oldest trace of a running app: the first archive, or the process that asks."""
    rows = clients.store.query(OLDEST_ARCHIVE_TIME, Session())
    stored = [datetime.fromisoformat(str(row)) async for row in rows]
    return min([*stored, *([app_since] if app_since else [])], default=None)


def _why(error: BaseException) -> str:
    """In one line. A bug of ours is no silence of a service, and is raised."""
    failure = classify(error)
    if failure.kind is ErrorKind.PERMANENT:
        raise error
    service = failure.details.get("service")
    return f"{service} does not answer: {failure.message}" if service else failure.message


async def _each(asked: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    return list(await asyncio.gather(*asked))


async def _queues(clients: Clients) -> list[QueueStatus]:
    try:
        counted = await queue_counts(clients.settings, QUEUES, clients.calls("servicebus"))
    except SDK_ERRORS:  # the emulators have no administration
        counted = None
    return await _each(_queue(clients, queue, counted[queue] if counted else None) for queue in QUEUES)


async def _queue(clients: Clients, queue: str, counts: QueueCounts | None) -> QueueStatus:
    """By its counts, or without them counted by peeking."""
    bus, most = clients.bus, COUNTED_BY_PEEKING
    if counts is None:
        first, last = await asyncio.gather(
            bus.peek(queue, start=1, count=most), bus.peek_dead_letters(queue, start=1, count=most)
        )
        waiting, dead = len(first), len(last)
    else:  # only where there is something: opening a link takes half a second
        waiting, dead = counts.active, counts.dead_lettered
        first = await bus.peek(queue, start=1, count=LOOKED_AT) if waiting else []
        last = await bus.peek_dead_letters(queue, start=1, count=1) if dead else []
    at_least = counts is None and max(waiting, dead) >= most
    return QueueStatus(queue, waiting, dead, at_least, oldest_time(first), oldest_time(last))


async def _documents(clients: Clients, collection: Collection, now: datetime) -> DocumentsStatus:
    counts = await count_documents(clients.store, collection, Policy.from_settings(clients.settings), now)
    opened = await count(clients.store, count_open(collection))
    refused = await count(clients.store, count_refused(collection))
    late = await count_late_documents(clients, collection, now) if collection in TIMED else 0
    failed = counts["failed"] + refused
    return DocumentsStatus(
        collection.name, collection.stage, opened, counts["waiting"], counts["stuck"], failed, late
    )


# The container that a stage finishes documents in.
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
