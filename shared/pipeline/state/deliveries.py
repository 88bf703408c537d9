"""State changes of a report's deliveries to webhooks, and of subscriptions to digests by mail.

A delivery is a position in the report's list, one for each webhook.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta

from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Conflict, Store
from shared.core.times import stored_time
from shared.models.reports import (
    FOR_EVER,
    UNCONFIRMED_SECONDS,
    Cadence,
    DeliveryStatus,
    Report,
    Subscription,
)


async def count_delivery_attempt(
    store: Store, report: Report, position: int, *, now: datetime, retry_at: datetime
) -> Report | None:
    """Count the attempt before it is made, so that a crash cannot repeat it without limit.

    Precondition: no other worker has counted an attempt after the report was read. Otherwise return None.
    """
    seen = report.deliveries[position].attempts
    changes = {"attempts": seen + 1, "last_attempt_at": now, "next_attempt_at": retry_at}
    changed = _with(report, position, **changes)
    patch = Patch(report.id, partition=report.scope, set=_stored(changed, position))
    condition = f"c.deliveries[{position:d}].attempts = {seen:d} AND {_same_report(report, position)}"
    stored = await store.patch(Report, patch, Session(), condition=condition)
    return None if stored is Conflict.CONFLICT else stored


async def mark_delivered(store: Store, report: Report, position: int, now: datetime) -> Report:
    """Mark the delivery delivered. Precondition: the webhook has accepted it."""
    return await _change(
        store,
        report,
        position,
        status=DeliveryStatus.DELIVERED,
        delivered_at=now,
        next_attempt_at=None,
        error=None,
    )


async def record_failed_delivery(
    store: Store, report: Report, position: int, *, error: str, retry_at: datetime
) -> Report:
    """Store the error of an attempt. Precondition: more attempts are allowed. The delivery stays pending."""
    return await _change(store, report, position, error=error, next_attempt_at=retry_at)


async def mark_delivery_failed(store: Store, report: Report, position: int, error: str) -> Report:
    """Mark the delivery failed. Precondition: its failure is announced."""
    return await _change(
        store, report, position, status=DeliveryStatus.FAILED, error=error, next_attempt_at=None
    )


async def _change(store: Store, report: Report, position: int, **changes: object) -> Report:
    changed = _with(report, position, **changes)
    patch = Patch(report.id, partition=report.scope, set=_stored(changed, position))
    stored = await store.patch(Report, patch, Session(), condition=_same_report(report, position))
    return changed if isinstance(stored, Conflict) else stored


def _same_report(report: Report, position: int) -> str:
    """Return the condition that no later report with its own deliveries has replaced this report."""
    return f"c.deliveries[{position:d}].summary_id = '{uuid.UUID(report.summary_id)}'"


def _with(report: Report, position: int, **changes: object) -> Report:
    deliveries = list(report.deliveries)
    deliveries[position] = deliveries[position].model_copy(update=changes)
    return report.model_copy(update={"deliveries": deliveries})


def _stored(report: Report, position: int) -> dict[str, object]:
    """Return the fields of a report that follow from its deliveries."""
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


PERIODS = {Cadence.DAILY: timedelta(days=1), Cadence.WEEKLY: timedelta(days=7)}
REFUSALS_UNTIL_SUSPENDED = 3
# A report is published shortly before readers can see it, so the next digest includes the newest reports.
SETTLED = timedelta(minutes=15)


async def mark_confirmation_sent(store: Store, subscription: Subscription, now: datetime) -> bool:
    """Record that a confirmation mail is about to be sent. Return False if another request has done so."""
    changed = subscription.model_copy(update={"asked_at": now})
    return await store.replace(changed, Session()) is not Conflict.CONFLICT


async def confirm_subscription(
    store: Store, subscription: Subscription, now: datetime, account: Mapping[str, object]
) -> bool:
    """Confirm it. The first digest is due a period later. Precondition: the recipient has agreed."""
    if subscription.confirmed_at is not None:
        return True
    changes = {
        "confirmed_at": now,
        "since": now,
        "next_due_at": now + PERIODS[subscription.cadence],
        "ttl": FOR_EVER,
        **account,
    }
    return await store.replace(subscription.model_copy(update=changes), Session()) is not Conflict.CONFLICT


async def unconfirm_subscription(store: Store, subscription: Subscription, now: datetime) -> None:
    """Make the subscription unconfirmed. Precondition: a mail has asked for a new confirmation."""
    changes = {
        "confirmed_at": None,
        "asked_at": now,
        "next_due_at": None,
        "until": None,
        "attempts": 0,
        "ttl": UNCONFIRMED_SECONDS,
    }
    await store.replace(subscription.model_copy(update=changes), Session())


async def claim_digest(
    store: Store, subscription: Subscription, *, now: datetime, retry_at: datetime
) -> Subscription | None:
    """Count the attempt before it is made. Return None if another instance was faster.

    The first attempt sets the end of the digest's period, so that every attempt sends the same mail.
    """
    changes = {
        "attempts": subscription.attempts + 1,
        "until": subscription.until or now - SETTLED,
        "next_due_at": retry_at,
    }
    claimed = await store.replace(subscription.model_copy(update=changes), Session())
    return None if isinstance(claimed, Conflict) else claimed


async def mark_digest_sent(store: Store, subscription: Subscription, now: datetime) -> None:
    """Start the next period. Precondition: the server has accepted the mail, or the digest was empty."""
    changes = {"since": subscription.until, "refusals": 0, "error": None}
    await _wait_for_next(store, subscription, now, changes)


async def postpone_digest(store: Store, subscription: Subscription, now: datetime, error: str) -> None:
    """Leave the reports of this digest to the next one. Precondition: no attempt at this digest is left."""
    await _wait_for_next(store, subscription, now, {"error": error})


async def mark_digest_refused(store: Store, subscription: Subscription, now: datetime, error: str) -> None:
    """Count a refusal. Three in a row suspend the subscription. Precondition: the server refused it."""
    refusals = subscription.refusals + 1
    changes = {"refusals": refusals, "error": error}
    await _wait_for_next(store, subscription, now, changes, suspended=refusals >= REFUSALS_UNTIL_SUSPENDED)


async def end_subscription(store: Store, subscription: Subscription) -> None:
    await store.delete(Subscription, subscription.id, Session(), partition=subscription.address_key)


async def _wait_for_next(
    store: Store,
    subscription: Subscription,
    now: datetime,
    changes: Mapping[str, object],
    *,
    suspended: bool = False,
) -> None:
    """Schedule the next digest. On a conflict, the write of the other instance stays."""
    due = None if suspended else now + PERIODS[subscription.cadence]
    changed = {"until": None, "attempts": 0, "next_due_at": due, **changes}
    await store.replace(subscription.model_copy(update=changed), Session())
