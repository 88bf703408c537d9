"""Sends the digests that are due: at least once, with a bounded number of attempts.

An attempt is counted before it is made. A crash after the server took the mail makes it come twice, with the
same Message-ID, by which mail programs know it.
"""

import logging
from datetime import datetime, timedelta

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import gather_limited
from shared.core.times import stored_time
from shared.documents.queries.reports import DUE_SUBSCRIPTIONS, PUBLISHED_ABOUT
from shared.documents.reports import Subscription
from shared.pipeline.lifecycle.deliveries import digest_claimed, digest_put_off, digest_refused, digest_told
from shared.pipeline.retry import exponential
from shared.publishing.email.messages import digest, entries_of
from shared.publishing.email.sending import MailNotSentError, send_mail

log = logging.getLogger(__name__)
MAX_A_RUN = 200
AT_ONCE = 4
MAX_ATTEMPTS = 8
FIRST_DELAY = 60.0
LONGEST_DELAY = 3600.0
MAX_ENTRIES = 50


async def send_due_digests(clients: Clients, now: datetime) -> int:
    """How many mails the server took. Nothing happens where no server is set."""
    if clients.settings.SMTP_URL is None:
        return 0
    due = clients.store.query(DUE_SUBSCRIPTIONS, Session(), now=stored_time(now), limit=MAX_A_RUN)
    keys = [(row["id"], row["address_key"]) async for row in due]
    sent = await gather_limited((_send_due(clients, id_, key, now) for id_, key in keys), AT_ONCE)
    return sum(sent)


async def _send_due(clients: Clients, id_: str, key: str, now: datetime) -> bool:
    subscription = await clients.store.find(Subscription, id_, key, Session())
    if subscription is None or subscription.next_due_at is None or subscription.next_due_at > now:
        return False  # ended, suspended, or taken by another instance since
    if subscription.attempts >= MAX_ATTEMPTS:
        why = subscription.error or "its last attempt was cut off"
        await digest_put_off(clients.store, subscription, now, why)
        return False
    delay = exponential(FIRST_DELAY, subscription.attempts + 1, LONGEST_DELAY)
    retry_at = now + timedelta(seconds=delay)
    claimed = await digest_claimed(clients.store, subscription, now=now, retry_at=retry_at)
    return await _tell(clients, claimed, now) if claimed is not None else False


async def _tell(clients: Clients, subscription: Subscription, now: datetime) -> bool:
    rows = clients.store.query(
        PUBLISHED_ABOUT[subscription.topic.kind],
        Session(),
        name=subscription.topic.name,
        since=stored_time(subscription.since or subscription.created_at),
        until=stored_time(subscription.until or subscription.created_at),
        limit=MAX_ENTRIES + 1,
    )
    found = [row async for row in rows]
    sent = bool(found) and await _send(clients, subscription, found, now)
    if sent or not found:
        await digest_told(clients.store, subscription, now)
    return sent


async def _send(
    clients: Clients, subscription: Subscription, found: list[dict[str, object]], now: datetime
) -> bool:
    settings = clients.settings
    entries = entries_of(found[:MAX_ENTRIES], settings.PUBLIC_URL, subscription.since)
    try:
        await send_mail(settings, digest(settings, subscription, entries, more=len(found) > MAX_ENTRIES))
    except MailNotSentError as error:
        log.warning("The digest of subscription %s was not sent: %s", subscription.id, error)
        if error.for_good:
            await digest_refused(clients.store, subscription, now, str(error))
        elif subscription.attempts >= MAX_ATTEMPTS:
            await digest_put_off(clients.store, subscription, now, str(error))
        return False
    return True
