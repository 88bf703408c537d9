"""Changes of a report's deliveries: each is a position in the report's list, one for each webhook."""

from datetime import datetime

from shared.clients.cosmos.session import Patch, Session
from shared.clients.cosmos.store import Conflict, Store
from shared.core.times import stored_time
from shared.documents.reports import DeliveryStatus, Report


async def delivery_attempted(
    store: Store, report: Report, position: int, *, now: datetime, retry_at: datetime
) -> Report | None:
    """Count the attempt before it is made, so that a crash cannot repeat it for ever.

    Precondition: nobody else has counted one since the report was read; None where somebody has.
    """
    seen = report.deliveries[position].attempts
    changes = {"attempts": seen + 1, "last_attempt_at": now, "next_attempt_at": retry_at}
    changed = _with(report, position, **changes)
    patch = Patch(report.id, report.scope, set=_stored(changed, position))
    condition = f"c.deliveries[{position:d}].attempts = {seen:d}"
    stored = await store.patch(Report, patch, Session(), condition=condition)
    return None if stored is Conflict.CONFLICT else stored


async def delivery_arrived(store: Store, report: Report, position: int, now: datetime) -> Report:
    """Precondition: the webhook has accepted it."""
    return await _change(
        store,
        report,
        position,
        status=DeliveryStatus.DELIVERED,
        delivered_at=now,
        next_attempt_at=None,
        error=None,
    )


async def delivery_failed(
    store: Store, report: Report, position: int, *, error: str, retry_at: datetime
) -> Report:
    """Precondition: the attempt failed, and more are allowed. It stays pending."""
    return await _change(store, report, position, error=error, next_attempt_at=retry_at)


async def delivery_given_up(store: Store, report: Report, position: int, error: str) -> Report:
    """Precondition: its failure is announced."""
    return await _change(
        store, report, position, status=DeliveryStatus.FAILED, error=error, next_attempt_at=None
    )


async def delivery_superseded(store: Store, report: Report, position: int) -> Report:
    """Precondition: there is a later report."""
    return await _change(store, report, position, status=DeliveryStatus.SUPERSEDED, next_attempt_at=None)


async def _change(store: Store, report: Report, position: int, **changes: object) -> Report:
    changed = _with(report, position, **changes)
    patch = Patch(report.id, report.scope, set=_stored(changed, position))
    stored = await store.patch(Report, patch, Session())
    return changed if isinstance(stored, Conflict) else stored


def _with(report: Report, position: int, **changes: object) -> Report:
    deliveries = list(report.deliveries)
    deliveries[position] = deliveries[position].model_copy(update=changes)
    return report.model_copy(update={"deliveries": deliveries})


def _stored(report: Report, position: int) -> dict[str, object]:
    """The fields of a report that follow from its deliveries; others write the rest."""
    arrived = [
        delivery.channel for delivery in report.deliveries if delivery.status is DeliveryStatus.DELIVERED
    ]
    times = [
        delivery.next_attempt_at
        for delivery in report.deliveries
        if delivery.status is DeliveryStatus.PENDING and delivery.next_attempt_at is not None
    ]
    return {
        f"deliveries/{position:d}": report.to_cosmos()["deliveries"][position],
        "delivery_channels": arrived,
        "notified": bool(arrived) and len(arrived) == len(report.deliveries),
        "next_delivery_at": stored_time(min(times)) if times else None,
    }
