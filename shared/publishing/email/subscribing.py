"""Asking for digests, saying yes by a link in a mail (double opt-in), and saying no.

Anybody can type anybody's address into a form. So one address gets at most one mail an hour for a topic, has
few requests open, and the site sends a bounded number of such mails an hour; and an answer never says whether
an address is known.
"""

import logging
from datetime import datetime, timedelta

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import PipelineError
from shared.core.ids import address_key, subscription_id
from shared.core.times import stored_time
from shared.documents.queries.reports import LATELY_ASKED, SUBSCRIPTIONS_OF_ADDRESS
from shared.documents.reports import Cadence, Subscription, Topic
from shared.pipeline.lifecycle.deliveries import (
    subscription_asked,
    subscription_confirmed,
    subscription_ended,
)
from shared.publishing.email.messages import confirmation
from shared.publishing.email.sending import send_mail

log = logging.getLogger(__name__)
ASK_AGAIN_AFTER = timedelta(hours=1)
MAX_OPEN = 3  # requests of one address that nobody has confirmed
MAX_OF_ADDRESS = 50
MAX_ASKED_AN_HOUR = 200


class TooManyRequestsError(PipelineError):
    """The site has sent as many mails of this kind as it does in an hour."""


async def subscribe(clients: Clients, address: str, topic: Topic, cadence: Cadence) -> None:
    """Send the mail that asks whether it is wanted; MailNotSentError where that fails.

    Nothing is sent, and nothing said, where the address has had one lately or has too many.
    """
    now = clients.runtime.now()
    key = address_key(address)
    id_ = subscription_id(key, topic.kind, topic.name)
    known = await clients.store.find(Subscription, id_, key, Session())
    if known is None:
        asked = await _create(
            clients,
            Subscription(
                id=id_,
                address_key=key,
                address=address,
                topic=topic,
                cadence=cadence,
                created_at=now,
                asked_at=now,
            ),
        )
    else:
        asked = await _ask_again(clients, known, now)
    if asked is not None:
        await send_mail(clients.settings, confirmation(clients.settings, asked, now))
        log.info("A mail asks whether the subscription %s is wanted", id_)


async def _create(clients: Clients, subscription: Subscription) -> Subscription | None:
    """The subscription, stored; None where the address has too many, or another request was faster."""
    rows = clients.store.query(SUBSCRIPTIONS_OF_ADDRESS, Session(), partition_value=subscription.address_key)
    confirmed = [row.get("confirmed_at") is not None async for row in rows]
    if confirmed.count(False) >= MAX_OPEN or len(confirmed) >= MAX_OF_ADDRESS:
        log.warning("The subscription %s is one too many for its address", subscription.id)
        return None
    after = stored_time(subscription.asked_at - ASK_AGAIN_AFTER)
    (asked,) = [row async for row in clients.store.query(LATELY_ASKED, Session(), after=after)]
    if int(asked) >= MAX_ASKED_AN_HOUR:  # type: ignore[call-overload]
        raise TooManyRequestsError("too many subscription requests. Try again in an hour")
    created = await clients.store.create(subscription, Session())
    return subscription if created else None


async def _ask_again(clients: Clients, known: Subscription, now: datetime) -> Subscription | None:
    """None where a mail was sent lately, or another request is about to send one."""
    if known.asked_at > now - ASK_AGAIN_AFTER:
        return None
    return known if await subscription_asked(clients.store, known, now) else None


async def find_subscription(clients: Clients, key: str, id_: str) -> Subscription | None:
    return await clients.store.find(Subscription, id_, key, Session())


async def confirm(clients: Clients, subscription: Subscription) -> None:
    """Once or several times: the same. Precondition: the link was signed for it."""
    if not await subscription_confirmed(clients.store, subscription, clients.runtime.now()):
        again = await find_subscription(clients, subscription.address_key, subscription.id)
        if again is not None:
            await subscription_confirmed(clients.store, again, clients.runtime.now())


async def unsubscribe(clients: Clients, subscription: Subscription) -> None:
    """Precondition: the link was signed for it."""
    await subscription_ended(clients.store, subscription)
    log.info("The subscription %s was ended by its reader", subscription.id)


async def forget_address(clients: Clients, address: str) -> int:
    """End all that an address has subscribed to; how many there were."""
    key = address_key(address)
    rows = clients.store.query(SUBSCRIPTIONS_OF_ADDRESS, Session(), partition_value=key)
    ids = [row["id"] async for row in rows]
    await clients.store.delete_all(Subscription, ids, key, Session())
    return len(ids)
