"""Subscriptions to digests by mail: request, confirmation by a link (double opt-in), delivery and end.

A visitor can type in any address. So an address gets at most one mail an hour for a topic and has few open
requests, the site sends a limited number of such mails an hour, and an answer never shows whether an address
is known. Digests are sent at least once: an attempt is counted before it is made, and a repeat has the same
Message-ID.
"""

import asyncio
import logging
import smtplib
import ssl
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from functools import partial

from shared.azure.access import ACCESS_DAYS, ANYBODY, Caller, clients_of
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.concurrency import gather_limited
from shared.core.errors import PipelineError
from shared.core.ids import address_key, subscription_id
from shared.core.times import stored_time
from shared.mail.masking import mask_json
from shared.models.queries.reports import (
    DUE_SUBSCRIPTIONS,
    LATELY_ASKED,
    PUBLISHED_ABOUT,
    SUBSCRIPTIONS_OF_ADDRESS,
)
from shared.models.reports import Cadence, Subscription, Topic
from shared.pipeline.retry import exponential
from shared.pipeline.state.deliveries import (
    claim_digest,
    confirm_subscription,
    end_subscription,
    mark_confirmation_sent,
    mark_digest_refused,
    mark_digest_sent,
    postpone_digest,
    unconfirm_subscription,
)
from shared.publishing.mails import confirmation, digest, entries_of
from shared.settings.app import Settings

TIMEOUT_SECONDS = 10  # For one command, after which the server counts as down.
_REFUSED_FOR_GOOD = range(500, 600)


class MailNotSentError(Exception):
    """The server did not accept the mail. `for_good` means that it will never accept the address."""

    def __init__(self, message: str, *, for_good: bool = False) -> None:
        super().__init__(message)
        self.for_good = for_good


async def send_mail(settings: Settings, mail: EmailMessage) -> None:
    """Send the mail in a thread, because smtplib blocks."""
    try:
        await asyncio.to_thread(_send_blocking, settings, mail)
    except smtplib.SMTPRecipientsRefused as error:
        code, reply = next(iter(error.recipients.values()))
        text = f"the server refused the address: {code} {reply.decode('utf-8', 'replace')}"
        raise MailNotSentError(text[:300], for_good=code in _REFUSED_FOR_GOOD) from error
    except (smtplib.SMTPException, OSError) as error:  # OSError: no connection, time-out or TLS failure.
        raise MailNotSentError(f"{type(error).__name__}: {error}"[:300]) from error


def _send_blocking(settings: Settings, mail: EmailMessage) -> None:
    chosen = settings.mail_server
    if chosen is None:
        raise ValueError("SMTP_URL is not set: no mail is sent without it")
    context = ssl.create_default_context()
    secure = partial(smtplib.SMTP_SSL, context=context) if chosen.tls else smtplib.SMTP
    with secure(chosen.host, chosen.port, timeout=TIMEOUT_SECONDS) as server:
        if chosen.starttls:
            server.starttls(context=context)
        if chosen.user is not None and chosen.password is not None:
            server.login(chosen.user, chosen.password)
        server.sendmail(settings.EMAIL_FROM, [str(mail["To"])], mail.as_bytes(policy=SMTP))


log = logging.getLogger(__name__)
MAX_A_RUN = 200
AT_ONCE = 4
MAX_ATTEMPTS = 8
FIRST_DELAY = 60.0
LONGEST_DELAY = 3600.0
MAX_ENTRIES = 50


async def send_due_digests(clients: Clients, now: datetime) -> int:
    """Send the due digests, and return how many the server accepted. Do nothing without SMTP_URL."""
    if clients.settings.SMTP_URL is None:
        return 0
    due = clients.store.query(DUE_SUBSCRIPTIONS, Session(), now=stored_time(now), limit=MAX_A_RUN)
    keys = [(row["id"], row["address_key"]) async for row in due]
    sent = await gather_limited((_send_due(clients, id_, key, now) for id_, key in keys), AT_ONCE)
    return sum(sent)


async def _send_due(clients: Clients, id_: str, key: str, now: datetime) -> bool:
    subscription = await clients.store.find(Subscription, id_, Session(), partition=key)
    if subscription is None or subscription.next_due_at is None or subscription.next_due_at > now:
        return False  # Ended, suspended, or sent by another instance.
    if subscription.attempts >= MAX_ATTEMPTS:
        why = subscription.error or "its last attempt was interrupted"
        await postpone_digest(clients.store, subscription, now, why)
        return False
    delay = exponential(FIRST_DELAY, subscription.attempts + 1, LONGEST_DELAY)
    retry_at = now + timedelta(seconds=delay)
    claimed = await claim_digest(clients.store, subscription, now=now, retry_at=retry_at)
    return await _send_digest(clients, claimed, now) if claimed is not None else False


def _has_lapsed(settings: Settings, subscription: Subscription, now: datetime) -> bool:
    """Return whether the account's roles and groups are too old to use, at a site with accounts."""
    asked_at = subscription.confirmed_at or subscription.created_at
    is_known = subscription.account and asked_at > now - timedelta(days=ACCESS_DAYS)
    return settings.AUTH_MODE != "public" and not is_known


async def _send_digest(clients: Clients, subscription: Subscription, now: datetime) -> bool:
    settings = clients.settings
    if _has_lapsed(settings, subscription, now):
        if await _send(clients, subscription, confirmation(settings, subscription, now), now):
            await unconfirm_subscription(clients.store, subscription, now)
        return False
    reader = Caller.of_account(settings, subscription.account, subscription.roles, subscription.groups)
    store = (await clients_of(clients, reader)).store
    rows = store.query(
        PUBLISHED_ABOUT[subscription.topic.kind],
        Session(),
        readable=None if store.readable is None else sorted(store.readable),
        name=subscription.topic.name,
        since=stored_time(subscription.since or subscription.created_at),
        until=stored_time(subscription.until or subscription.created_at),
        limit=MAX_ENTRIES + 1,
    )
    found = [row if reader.sees_addresses else mask_json(row) async for row in rows]
    entries = entries_of(found[:MAX_ENTRIES], settings.PUBLIC_URL, subscription.since)
    mail = digest(settings, subscription, entries, more=len(found) > MAX_ENTRIES)
    sent = bool(found) and await _send(clients, subscription, mail, now)
    if sent or not found:
        await mark_digest_sent(clients.store, subscription, now)
    return sent


async def _send(clients: Clients, subscription: Subscription, mail: EmailMessage, now: datetime) -> bool:
    try:
        await send_mail(clients.settings, mail)
    except MailNotSentError as error:
        log.warning("The mail of subscription %s was not sent: %s", subscription.id, error)
        if error.for_good:
            await mark_digest_refused(clients.store, subscription, now, str(error))
        elif subscription.attempts >= MAX_ATTEMPTS:
            await postpone_digest(clients.store, subscription, now, str(error))
        return False
    return True


ASK_AGAIN_AFTER = timedelta(hours=1)
MAX_OPEN = 3  # Unconfirmed requests of one address.
MAX_OF_ADDRESS = 50
MAX_ASKED_AN_HOUR = 200


class TooManyRequestsError(PipelineError):
    """The site has reached its limit of confirmation mails for this hour."""


async def subscribe(clients: Clients, address: str, topic: Topic, cadence: Cadence) -> None:
    """Send the confirmation mail, unless the address had one lately or has too many requests."""
    now = clients.runtime.now()
    key = address_key(address)
    id_ = subscription_id(key, topic.kind, topic.name)
    known = await clients.store.find(Subscription, id_, Session(), partition=key)
    if known is None:
        new = Subscription(
            id=id_,
            address_key=key,
            address=address,
            topic=topic,
            cadence=cadence,
            created_at=now,
            asked_at=now,
        )
        subscription = new if await _create(clients, new) else None
    elif known.asked_at > now - ASK_AGAIN_AFTER:
        return
    else:  # Unless another request sends the mail.
        subscription = known if await mark_confirmation_sent(clients.store, known, now) else None
    if subscription is not None:
        await send_mail(clients.settings, confirmation(clients.settings, subscription, now))
        log.info("Sent the confirmation mail of subscription %s", id_)


async def _create(clients: Clients, subscription: Subscription) -> bool:
    """Create the subscription. Return False if the address has too many or another request was faster."""
    rows = clients.store.query(SUBSCRIPTIONS_OF_ADDRESS, Session(), partition=subscription.address_key)
    confirmed = [row.get("confirmed_at") is not None async for row in rows]
    if confirmed.count(False) >= MAX_OPEN or len(confirmed) >= MAX_OF_ADDRESS:
        log.warning(
            "The address of subscription %s has too many subscriptions or open requests", subscription.id
        )
        return False
    after = stored_time(subscription.asked_at - ASK_AGAIN_AFTER)
    (count,) = [row async for row in clients.store.query(LATELY_ASKED, Session(), after=after)]
    if int(count) >= MAX_ASKED_AN_HOUR:  # type: ignore[call-overload]
        raise TooManyRequestsError("too many subscription requests. Try again in an hour")
    return await clients.store.create(subscription, Session())


async def find_subscription(clients: Clients, key: str, id_: str) -> Subscription | None:
    return await clients.store.find(Subscription, id_, Session(), partition=key)


async def confirm(clients: Clients, subscription: Subscription, caller: Caller = ANYBODY) -> None:
    """Confirm the subscription. A repeat changes nothing. Precondition: the link was signed for it."""
    known = ANYBODY if clients.settings.AUTH_MODE == "public" else caller
    account = {"account": known.name, "roles": sorted(known.roles), "groups": sorted(known.groups)}
    if not await confirm_subscription(clients.store, subscription, clients.runtime.now(), account):
        again = await find_subscription(clients, subscription.address_key, subscription.id)
        if again is not None:
            await confirm_subscription(clients.store, again, clients.runtime.now(), account)


async def unsubscribe(clients: Clients, subscription: Subscription) -> None:
    """End the subscription. Precondition: the link was signed for it."""
    await end_subscription(clients.store, subscription)
    log.info("The subscription %s was ended by its reader", subscription.id)


async def forget_address(clients: Clients, address: str) -> int:
    """End all subscriptions of an address, and return their number."""
    key = address_key(address)
    rows = clients.store.query(SUBSCRIPTIONS_OF_ADDRESS, Session(), partition=key)
    ids = [row["id"] async for row in rows]
    await clients.store.delete_all(Subscription, ids, Session(), partition=key)
    return len(ids)
