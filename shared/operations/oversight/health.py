"""Measurements that only the app can take: ages of messages and late documents, with their limits."""

import asyncio
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.times import stored_time
from shared.models.queries.several_containers import count_late
from shared.models.records import Run
from shared.operations.due_documents import COLLECTIONS, THREADS, Collection, count
from shared.pipeline.topology import QUEUE_ROWS, QUEUES
from shared.settings.app import Settings

KIND = "consumers"
ID = "latest"
SWEEPS_MISSED = 2
PATIENCE = {row.name: row.patience for row in QUEUE_ROWS}


@dataclass(frozen=True)
class AgeBounds:
    waiting: timedelta = timedelta(minutes=30)  # ten failed deliveries in a row take less
    sweep: timedelta = timedelta(minutes=30)
    report: timedelta = timedelta(minutes=60)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            sweep=timedelta(seconds=SWEEPS_MISSED * settings.RETRY_JOB_INTERVAL_SECONDS),
            report=timedelta(minutes=settings.SLO_REPORT_MINUTES),
        )

    def of_queue(self, queue: str) -> timedelta:
        return self.waiting * PATIENCE.get(queue, 1.0)


def enabled_queues() -> list[str]:
    """Return the queues whose function is not disabled by an app setting of the Functions host."""
    return [
        queue
        for queue in QUEUES
        if not any(
            os.environ.get(name, "").lower() in {"true", "1"}
            for name in (f"AzureWebJobs.{queue}.Disabled", f"AzureWebJobs_{queue}_Disabled")
        )
    ]


async def record_consumers(clients: Clients, queues: list[str]) -> None:
    session, now = Session(), clients.runtime.now()
    found = await clients.store.find(Run, ID, session, partition=KIND)
    seen = {**(found.cursor if found else {}), **dict.fromkeys(queues, stored_time(now))}
    created = found.created_at if found else now
    run = Run(id=ID, kind=KIND, requested_by="timer", started_at=now, created_at=created, cursor=seen)
    await clients.store.upsert(run, session)


async def last_consumers(clients: Clients) -> dict[str, datetime]:
    found = await clients.store.find(Run, ID, Session(), partition=KIND)
    return {queue: datetime.fromisoformat(time) for queue, time in (found.cursor if found else {}).items()}


ERROR_BUDGET = 0.01  # one report in a hundred may take longer than SLO_REPORT_MINUTES
STUCK_FOR_GOOD = timedelta(days=7)
# A thread has a date for each version, so its messages and chunks show whether it is late.
TIMED = tuple(collection for collection in COLLECTIONS if collection is not THREADS)


async def count_late_documents(clients: Clients, collection: Collection, now: datetime) -> int:
    return await _count_older(clients, collection, now - AgeBounds.from_settings(clients.settings).report)


async def _count_older(clients: Clients, collection: Collection, limit: datetime) -> int:
    return await count(clients.store, count_late(collection), before=stored_time(limit))


async def measure_ages(clients: Clients, now: datetime, metrics: Metrics | None = None) -> None:
    """Record the age of the oldest message of each queue (0 if empty) and the late documents."""
    instruments, bounds = metrics or pipeline_metrics(), AgeBounds.from_settings(clients.settings)
    instruments.bounds.record(ERROR_BUDGET, {"name": "report_error_budget"})
    interval = clients.settings.RETRY_JOB_INTERVAL_SECONDS
    instruments.bounds.record(interval, {"name": "sweep_interval_seconds"})
    waiting, late = await asyncio.gather(
        asyncio.gather(*map(clients.bus.oldest_waiting, QUEUES)),
        asyncio.gather(*(count_late_documents(clients, collection, now) for collection in TIMED)),
    )
    for queue, oldest in zip(QUEUES, waiting, strict=True):
        age = (now - oldest).total_seconds() if oldest else 0.0
        instruments.oldest_message.record(max(age, 0.0), {"service": queue})
        instruments.queue_bounds.record(bounds.of_queue(queue).total_seconds(), {"service": queue})
    for collection, number in zip(TIMED, late, strict=True):
        labels = {"collection": collection.name}
        instruments.late_documents.record(number, labels)
        old = await _count_older(clients, collection, now - STUCK_FOR_GOOD) if number else 0
        instruments.old_documents.record(old, labels)
