"""When reports are due at webhooks: a scheduled message each, in place of a timer that asks.

The message says when to look, not what is due: that stands on the reports themselves (an outbox). So one
message serves all reports of a quarter of a minute, and one that is lost delays them until the housekeeping
finds them overdue.
"""

import logging
import math
from datetime import UTC, datetime, timedelta

from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.telemetry.metrics import pipeline_metrics
from shared.core.errors import ErrorKind
from shared.core.times import stored_time
from shared.documents.queries.reports import NEXT_DELIVERY
from shared.pipeline.topology import DELIVERIES
from shared.publishing.webhooks.delivery import deliver_due

log = logging.getLogger(__name__)
SLOT_SECONDS = 15
AFTER_A_FAILURE = timedelta(minutes=1)


async def wake_deliveries(clients: Clients, at: datetime) -> None:
    """Have the due deliveries attempted soon after that time. The broker drops a repeat of the same slot."""
    due = _slot_after(max(at, clients.runtime.now()))
    name = stored_time(due)
    await clients.bus.send_request(DELIVERIES.name, {"due": name}, f"deliveries-{name}", at=due)


async def wake_for_next_delivery(clients: Clients, *, no_later_than: datetime | None = None) -> bool:
    """Ask for the next attempt that any report plans, or only for one that is due by then; whether one is."""
    rows = clients.store.query(NEXT_DELIVERY, Session())
    times = [datetime.fromisoformat(row["next_delivery_at"]) async for row in rows]
    if not times or (no_later_than is not None and times[0] > no_later_than):
        return False
    await wake_deliveries(clients, times[0])
    return True


async def deliver_and_wake(clients: Clients) -> int:
    """Attempt what is due, and ask for the next time. Returns how many arrived."""
    now = clients.runtime.now()
    try:
        delivered = await deliver_due(clients, now)
        await wake_for_next_delivery(clients)
    except Exception as error:
        failure = classify(error)
        if failure.kind is ErrorKind.PERMANENT:
            raise
        # Delivered again at once, the message would be a dead letter before the service is back.
        log.warning("Deliveries wait for a minute: %s", failure.for_logs)
        labels = {"service": DELIVERIES.name, "error_type": failure.error_type}
        pipeline_metrics().failures.add(1, labels)
        await wake_deliveries(clients, now + AFTER_A_FAILURE)
        return 0
    return delivered


def _slot_after(moment: datetime) -> datetime:
    slots = math.floor(moment.timestamp() / SLOT_SECONDS) + 1
    return datetime.fromtimestamp(slots * SLOT_SECONDS, UTC)
