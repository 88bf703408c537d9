"""Subscriptions: who asked for a digest by e-mail of what, how often, and until when they have been told."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from shared.documents.base import Document, Subdocument, UtcTime

UNCONFIRMED_SECONDS = 48 * 3600
FOR_EVER = -1


class TopicKind(StrEnum):
    """What can be followed, under the names that addresses of pages have."""

    SOURCES = "sources"
    DRAFTS = "drafts"
    PEOPLE = "people"
    THREADS = "threads"


class Cadence(StrEnum):
    DAILY = "daily"
    WEEKLY = "weekly"


class Topic(Subdocument):
    kind: TopicKind
    name: str = Field(min_length=1, max_length=255)
    label: str = Field(default="", max_length=200)


class Subscription(Document):
    """Unconfirmed, it goes by itself after two days; unsubscribed, it is deleted at once."""

    container = "subscriptions"
    partition_field = "address_key"

    address_key: str
    address: str
    topic: Topic
    cadence: Cadence
    asked_at: UtcTime  # when a mail to confirm was last sent
    confirmed_at: UtcTime | None = None
    since: UtcTime | None = None  # what was published until then is told
    until: UtcTime | None = None  # the end of the digest that is being sent
    next_due_at: UtcTime | None = None
    attempts: int = Field(default=0, ge=0)  # at the digest that is being sent
    refusals: int = Field(default=0, ge=0)  # digests in a row that the server refused for good
    error: str | None = None
    ttl: int | Literal[-1] = UNCONFIRMED_SECONDS
