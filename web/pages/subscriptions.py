"""Subscriptions to digests by email: the form, confirmation and unsubscription.

Mail servers open links in mail, so a GET changes nothing and the page has a button. Only one-click
unsubscription (RFC 8058) is a POST from other sites.
"""

import re

import azure.functions as func

from shared.azure.connections import Clients
from shared.core.ids import SUBSCRIPTION_ID
from shared.models.reports import Cadence, Subscription, Topic, TopicKind
from shared.publishing.mails import LinkPurpose, is_signed, topic_words
from shared.publishing.subscriptions import (
    MailNotSentError,
    TooManyRequestsError,
    confirm,
    find_subscription,
    subscribe,
    unsubscribe,
)
from shared.settings.outgoing import is_address
from shared.views.topics import find_topic
from web.access import check_people_shown, from_this_site
from web.connected import clients, current_caller
from web.forms import form_of
from web.problems import Problem
from web.rendering import page, show

NEVER_KEPT = {"Cache-Control": "no-store"}
LARGEST_FORM = 2048
NO_MAIL = "This site sends no mail. Every list, draft and thread has a feed."
NO_TOPIC = "Nothing with this name can be subscribed to."
ASKED = (
    "If the address can be used, a confirmation mail is on its way."
    " Open its link within two days to subscribe."
)
OLD_LINK = "This link is invalid or has expired."


@page("page_subscribe", "subscriptions")
async def subscribe_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await _clients_with_mail()
    topic = await _topic(req, connected, req.params.get("kind", ""), req.params.get("name", ""))
    return show(req, "pages/subscribe.html", headers=NEVER_KEPT, topic=topic, cadences=list(Cadence))


@page("page_subscribe_send", "subscriptions", "POST")
async def subscribe_send(req: func.HttpRequest) -> func.HttpResponse:
    connected = await _clients_with_mail()
    if not from_this_site(req.headers):
        raise Problem(403, "The form was not sent from this site. Reload the page and try again.")
    form = form_of(req, LARGEST_FORM)
    topic = await _topic(req, connected, form.get("kind", ""), form.get("name", ""))
    address, cadence = form.get("address", "").strip(), form.get("cadence", "")
    if not is_address(address):
        raise Problem(400, "Enter an email address, such as name@example.org.")
    if cadence not in list(Cadence):
        raise Problem(400, "Choose a frequency: daily or weekly.")
    try:
        await subscribe(connected, address, topic, Cadence(cadence))
    except TooManyRequestsError as error:
        raise Problem(429, f"{str(error)[0].upper()}{str(error)[1:]}.") from error
    except MailNotSentError as error:
        raise Problem(503, "The mail could not be sent. Try again later.") from error
    return show(req, "pages/subscribed.html", headers=NEVER_KEPT, title="Check your mail", said=ASKED)


@page("page_confirm", "subscriptions/confirm")
async def confirm_page(req: func.HttpRequest) -> func.HttpResponse:
    return await _button(req, LinkPurpose.CONFIRM, "Confirm your subscription", "Confirm")


@page("page_confirm_send", "subscriptions/confirm", "POST")
async def confirm_send(req: func.HttpRequest) -> func.HttpResponse:
    connected, subscription = await _signed(req, LinkPurpose.CONFIRM)
    if subscription is None:
        raise Problem(404, OLD_LINK)
    await confirm(connected, subscription, current_caller())
    said = f"You will get a {subscription.cadence} digest of {topic_words(subscription)} when there is news."
    return show(req, "pages/subscribed.html", headers=NEVER_KEPT, title="Confirmed", said=said)


@page("page_unsubscribe", "subscriptions/unsubscribe")
async def unsubscribe_page(req: func.HttpRequest) -> func.HttpResponse:
    return await _button(req, LinkPurpose.UNSUBSCRIBE, "Unsubscribe", "Unsubscribe")


@page("page_unsubscribe_send", "subscriptions/unsubscribe", "POST")
async def unsubscribe_send(req: func.HttpRequest) -> func.HttpResponse:
    """Unsubscribe by the button or by one click in a mail program. A repeat is not an error."""
    connected, subscription = await _signed(req, LinkPurpose.UNSUBSCRIBE)
    if subscription is not None:
        await unsubscribe(connected, subscription)
    said = "You are unsubscribed, and your address was deleted."
    return show(req, "pages/subscribed.html", headers=NEVER_KEPT, title="Unsubscribed", said=said)


async def _button(req: func.HttpRequest, purpose: LinkPurpose, title: str, button: str) -> func.HttpResponse:
    _, subscription = await _signed(req, purpose)
    if subscription is None:
        raise Problem(404, OLD_LINK)
    said = f"{subscription.cadence.capitalize()} digest of {topic_words(subscription)}."
    action = f"/subscriptions/{purpose}?{req.url.partition('?')[2]}"
    return show(
        req,
        "pages/subscription.html",
        headers=NEVER_KEPT,
        title=title,
        said=said,
        action=action,
        button=button,
    )


async def _signed(req: func.HttpRequest, purpose: LinkPurpose) -> tuple[Clients, Subscription | None]:
    """Return the subscription of the link, or None if it has ended."""
    connected = await _clients_with_mail()
    key, id_, token = (req.params.get(name, "") for name in ("of", "id", "token"))
    if not (re.fullmatch(SUBSCRIPTION_ID, key) and re.fullmatch(SUBSCRIPTION_ID, id_)):
        raise Problem(404, OLD_LINK)
    if not is_signed(connected.settings, (key, id_, token), purpose):
        raise Problem(404, OLD_LINK)
    subscription = await find_subscription(connected, key, id_)
    if subscription is not None and purpose is LinkPurpose.CONFIRM:
        await _topic(req, connected, subscription.topic.kind, subscription.topic.name)
    return connected, subscription


async def _clients_with_mail() -> Clients:
    connected = await clients()
    if not connected.settings.sends_mail:
        raise Problem(404, NO_MAIL)
    return connected


async def _topic(req: func.HttpRequest, connected: Clients, kind: str, name: str) -> Topic:
    """Return the topic with its stored name, so that no text of the form is used in mail."""
    if kind == TopicKind.PEOPLE:
        check_people_shown(req, connected.settings)
    topic = await find_topic(connected, TopicKind(kind), name) if kind in list(TopicKind) else None
    if topic is None:
        raise Problem(404, NO_TOPIC)
    return topic
