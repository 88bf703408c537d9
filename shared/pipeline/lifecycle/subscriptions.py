"""Changes of a subscription: asked for, confirmed, a digest claimed, told or put off, ended."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict, Store
from shared.documents.reports import FOR_EVER, Cadence, Subscription

PERIODS = {Cadence.DAILY: timedelta(days=1), Cadence.WEEKLY: timedelta(days=7)}
REFUSALS_UNTIL_SUSPENDED = 3
# A report is published a little before others can see it: a young one is left to the next digest.
SETTLED = timedelta(minutes=15)


async def subscription_asked(store: Store, subscription: Subscription, now: datetime) -> bool:
    """Note that a mail is about to be sent. False where another request has just done so."""
    changed = subscription.model_copy(update={"asked_at": now})
    return await store.replace(changed, Session()) is not Conflict.CONFLICT


async def subscription_confirmed(store: Store, subscription: Subscription, now: datetime) -> bool:
    """Precondition: whoever reads the address's mail has said yes. The first digest is due a period later."""
    if subscription.confirmed_at is not None:
        return True
    changes = {
        "confirmed_at": now,
        "since": now,
        "next_due_at": now + PERIODS[subscription.cadence],
        "ttl": FOR_EVER,
    }
    return await store.replace(subscription.model_copy(update=changes), Session()) is not Conflict.CONFLICT


async def digest_claimed(
    store: Store, subscription: Subscription, *, now: datetime, retry_at: datetime
) -> Subscription | None:
    """Count the attempt before it is made; None where another instance was faster.

    The end of the digest stands from the first attempt on: every attempt sends the same mail.
    """
    changes = {
        "attempts": subscription.attempts + 1,
        "until": subscription.until or now - SETTLED,
        "next_due_at": retry_at,
    }
    claimed = await store.replace(subscription.model_copy(update=changes), Session())
    return None if isinstance(claimed, Conflict) else claimed


async def digest_told(store: Store, subscription: Subscription, now: datetime) -> None:
    """Precondition: the server has taken the mail, or there was nothing to tell."""
    changes = {"since": subscription.until, "refusals": 0, "error": None}
    await _wait_for_next(store, subscription, now, changes)


async def digest_put_off(store: Store, subscription: Subscription, now: datetime, error: str) -> None:
    """Precondition: no more attempts are made at this digest. What it had to tell is in the next one."""
    await _wait_for_next(store, subscription, now, {"error": error})


async def digest_refused(store: Store, subscription: Subscription, now: datetime, error: str) -> None:
    """Precondition: the server says that the address takes no mail. After three in a row no more is sent."""
    refusals = subscription.refusals + 1
    changes = {"refusals": refusals, "error": error}
    await _wait_for_next(store, subscription, now, changes, suspended=refusals >= REFUSALS_UNTIL_SUSPENDED)


async def subscription_ended(store: Store, subscription: Subscription) -> None:
    await store.delete(Subscription, subscription.id, subscription.address_key, Session())


async def _wait_for_next(
    store: Store,
    subscription: Subscription,
    now: datetime,
    changes: Mapping[str, object],
    *,
    suspended: bool = False,
) -> None:
    """A conflict: it was ended, or claimed by another instance while this one stood still. Theirs counts."""
    due = None if suspended else now + PERIODS[subscription.cadence]
    changed = {"until": None, "attempts": 0, "next_due_at": due, **changes}
    await store.replace(subscription.model_copy(update=changed), Session())
