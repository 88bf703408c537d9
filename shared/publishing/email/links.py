"""The links of a subscription's mails: signed, so that only who got the mail can use them."""

import hashlib
import hmac
import json
from enum import StrEnum
from urllib.parse import urlencode

from shared.documents.reports import Subscription
from shared.settings.app import Settings


class LinkPurpose(StrEnum):
    CONFIRM = "confirm"
    UNSUBSCRIBE = "unsubscribe"


def link_to(settings: Settings, subscription: Subscription, purpose: LinkPurpose) -> str:
    named = {
        "of": subscription.address_key,
        "id": subscription.id,
        "token": token_of(settings, subscription.address_key, subscription.id, purpose),
    }
    return f"{settings.PUBLIC_URL.rstrip('/')}/subscriptions/{purpose}?{urlencode(named)}"


def is_signed(settings: Settings, named: tuple[str, str, str], purpose: LinkPurpose) -> bool:
    """Whether a link with this partition, id and token is one of ours."""
    address_key, id_, token = named
    wanted = token_of(settings, address_key, id_, purpose)
    return hmac.compare_digest(token.encode("utf-8", "replace"), wanted.encode())


def token_of(settings: Settings, address_key: str, id_: str, purpose: LinkPurpose) -> str:
    secret = settings.EMAIL_SECRET
    if secret is None:
        raise ValueError("EMAIL_SECRET is not set: nothing is signed without it")
    message = json.dumps(["subscription", purpose, address_key, id_]).encode()
    return hmac.new(secret.get_secret_value().encode(), message, hashlib.sha256).hexdigest()
