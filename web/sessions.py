"""Stored access records: ended sessions, and secret addresses of feeds."""

import hashlib
import hmac
import secrets
from dataclasses import replace
from datetime import timedelta

from shared.azure.access import ACCESS_DAYS, Caller
from shared.azure.connections import Clients, clients
from shared.azure.cosmos.session import Session
from shared.models.records import AccessKind, AccessRecord

SESSION_SECONDS = 8 * 3600


async def end_session(connected: Clients, cookie: str) -> None:
    now = connected.runtime.now()
    record = AccessRecord(
        id=_id("session", cookie), kind=AccessKind.ENDED, created_at=now, ttl=SESSION_SECONDS
    )
    await connected.store.upsert(record, Session())


async def has_ended(cookie: str) -> bool:
    store = (await clients()).store
    return await store.find(AccessRecord, _id("session", cookie), Session()) is not None


async def feed_of(connected: Clients, name: str) -> AccessRecord | None:
    return await connected.store.find(AccessRecord, _id("feed", name), Session())


async def make_feed_key(connected: Clients, caller: Caller) -> str:
    """Create a secret for the feeds of the account. It replaces an earlier secret."""
    secret, now = secrets.token_urlsafe(24), connected.runtime.now()
    record = AccessRecord(
        id=_id("feed", caller.name),
        kind=AccessKind.FEED,
        name=caller.name,
        roles=sorted(caller.roles),
        groups=sorted(caller.groups),
        secret_hash=_hash(secret),
        expires_at=now + timedelta(days=ACCESS_DAYS),
        created_at=now,
        ttl=ACCESS_DAYS * 24 * 3600,
    )
    await connected.store.upsert(record, Session())
    return f"{record.id.removeprefix('feed-')}.{secret}"


async def revoke_feed_key(connected: Clients, name: str) -> None:
    await connected.store.delete(AccessRecord, _id("feed", name), Session())


async def caller_of_feed(connected: Clients, key: str) -> Caller | None:
    """Return the owner of the feeds, with the groups at the time of creation."""
    id_, _, secret = key.partition(".")
    if not id_.isalnum() or not id_.isascii():
        return None
    record = await connected.store.find(AccessRecord, f"feed-{id_}", Session())
    if record is None or not hmac.compare_digest(record.secret_hash, _hash(secret)):
        return None
    if record.expires_at is None or record.expires_at <= connected.runtime.now():
        return None
    account = Caller.of_account(connected.settings, record.name, record.roles, record.groups)
    return replace(account, sees_addresses=connected.settings.SHOW_ADDRESSES)  # others may know the address


def _id(kind: str, text: str) -> str:
    return f"{kind}-{_hash(f'{kind} {text}')[:40]}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
