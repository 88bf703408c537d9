"""What only the app can measure, every five minutes: how long messages wait, and what is late.

Service Bus has no metric for the age of a message, and Azure's export of its metrics does not say which queue
a figure is of. The bounds of the settings are sent beside the figures, so that an alert compares with the
setting and not with a copy of it.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from shared.clients.connections import Clients
from shared.clients.servicebus.bus import is_scheduled
from shared.clients.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.times import stored_time
from shared.documents.queries.several_containers import count_late
from shared.pipeline.topology import QUEUES
from shared.settings.app import Settings
from shared.upkeep.oversight.system_status import AgeBounds
from shared.upkeep.requeue.due_document import COLLECTIONS, THREADS, Collection
from shared.upkeep.sweep.due import count

LOOKED_AT = 50  # for the oldest that waits: the first may be scheduled for later
ERROR_BUDGET = 0.01  # one report in a hundred may come later than SLO_REPORT_MINUTES
STUCK_FOR_GOOD = timedelta(days=7)
# A thread has a date of its own for each version: its messages and chunks say whether it is late.
TIMED = tuple(collection for collection in COLLECTIONS if collection is not THREADS)


def oldest_time(messages: list[Any]) -> datetime | None:
    """When the oldest came. One that is scheduled for later does not wait yet."""
    times = [message.enqueued_time_utc for message in messages if not is_scheduled(message)]
    return min(filter(None, times), default=None)


async def count_late_documents(clients: Clients, collection: Collection, now: datetime) -> int:
    """Those that are not done in the time of the objective."""
    return await _count_older(clients, collection, now - AgeBounds.from_settings(clients.settings).report)


async def _count_older(clients: Clients, collection: Collection, than: datetime) -> int:
    return await count(clients.store, count_late(collection), before=stored_time(than))


def emit_bounds(settings: Settings, metrics: Metrics | None = None) -> None:
    """What the alerts compare with."""
    instruments, bounds = metrics or pipeline_metrics(), AgeBounds.from_settings(settings)
    limits = {
        "report_error_budget": ERROR_BUDGET,
        "sweep_interval_seconds": settings.RETRY_JOB_INTERVAL_SECONDS,
    }
    for name, value in limits.items():
        instruments.bounds.record(value, {"name": name})
    for queue in QUEUES:
        instruments.queue_bounds.record(bounds.of_queue(queue).total_seconds(), {"service": queue})


async def measure_ages(clients: Clients, now: datetime, metrics: Metrics | None = None) -> None:
    """The age of the oldest message of each queue, 0 where nothing waits; what is late in each collection."""
    instruments = metrics or pipeline_metrics()
    emit_bounds(clients.settings, instruments)
    waiting, late = await asyncio.gather(
        asyncio.gather(*(clients.bus.peek(queue, start=1, count=LOOKED_AT) for queue in QUEUES)),
        asyncio.gather(*(count_late_documents(clients, collection, now) for collection in TIMED)),
    )
    for queue, messages in zip(QUEUES, waiting, strict=True):
        oldest = oldest_time(messages)
        age = (now - oldest).total_seconds() if oldest else 0.0
        instruments.oldest_message.record(max(age, 0.0), {"service": queue})
    for collection, number in zip(TIMED, late, strict=True):
        labels = {"collection": collection.name}
        instruments.late_documents.record(number, labels)
        old = await _count_older(clients, collection, now - STUCK_FOR_GOOD) if number else 0
        instruments.old_documents.record(old, labels)
