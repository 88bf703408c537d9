"""Queries over the documents that the sweep looks after: archives, messages, chunks, threads."""

from typing import Protocol

from shared.documents.base import RetryableDocument
from shared.documents.queries.conditions import (
    FAILED,
    GIVEN_UP,
    NEVER,
    OF_ARCHIVE,
    OPEN,
    PROCESSED,
    SILENT,
    STUCK,
)
from shared.documents.queries.named_query import ALL, NamedQuery

_DUE = ("id", "attemptCount", "lastAttemptTime", "lastError", "requeued_at", "created_at")
_SHOWN = ("id", "status", *_DUE[1:])


class RetryableCollection(Protocol):
    """A container and what distinguishes its documents for the sweep."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> type[RetryableDocument]: ...
    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def alive(self) -> str: ...


def due_failed(collection: RetryableCollection, *, exactly: bool) -> NamedQuery:
    """Failed at @before or earlier, after @attempts attempts; without `exactly` after at least so many."""
    attempts = f"c.attemptCount {'=' if exactly else '>='} @attempts"
    condition = f"{attempts} AND c.lastAttemptTime <= @before AND {FAILED}"
    return _due(collection, "due_failed", condition, "lastAttemptTime")


def due_silent(collection: RetryableCollection) -> NamedQuery:
    """Attempted at @before or earlier, and nothing was heard since."""
    return _due(collection, "due_silent", f"{SILENT} AND c.lastAttemptTime <= @before", "lastAttemptTime")


def due_never(collection: RetryableCollection) -> NamedQuery:
    """Never attempted: created at @before or earlier, after @after."""
    condition = f"{NEVER} AND (c.created_at <= @before OR c.attemptCount >= @last) AND c.created_at > @after"
    return _due(collection, "due_never", condition, "created_at")


def stuck_documents(collection: RetryableCollection) -> NamedQuery:
    """Open, and nothing was heard of them since @old."""
    return _shown(collection, "stuck", f"{OPEN} AND {collection.alive} AND ({STUCK})", "created_at")


def failed_documents(collection: RetryableCollection) -> NamedQuery:
    return _shown(collection, "failed", "c.status IN ('failed_max_retries', 'failed')", "created_at")


def unfinished_of_archive(collection: RetryableCollection) -> NamedQuery:
    """What is not done of @archive, given up or not."""
    condition = f"{OF_ARCHIVE} AND NOT {PROCESSED} AND {collection.alive}"
    return _shown(collection, "unfinished_of_archive", condition, "created_at")


def documents_by_ids(collection: RetryableCollection) -> NamedQuery:
    return _shown(collection, "by_ids", "ARRAY_CONTAINS(@ids, c.id)", "id")


def count_waiting(collection: RetryableCollection, max_attempts: int) -> NamedQuery:
    """Failed, and in their backoff: after N attempts until @beforeN."""
    waiting = " OR ".join(
        f"(c.attemptCount {'=' if attempts < max_attempts else '>='} {attempts:d}"
        f" AND c.lastAttemptTime > @before{attempts:d})"
        for attempts in range(1, max_attempts + 1)
    )
    return _count(collection, "count_waiting", f"{OPEN} AND {collection.alive} AND {FAILED} AND ({waiting})")


def count_stuck(collection: RetryableCollection) -> NamedQuery:
    return _count(collection, "count_stuck", f"{OPEN} AND {collection.alive} AND ({STUCK})")


def count_open(collection: RetryableCollection) -> NamedQuery:
    return _count(collection, "count_open", f"{OPEN} AND {collection.alive}")


def count_late(collection: RetryableCollection) -> NamedQuery:
    """Open, though they were made at @before or earlier."""
    return _count(collection, "count_late", f"{OPEN} AND {collection.alive} AND c.created_at <= @before")


def count_given_up(collection: RetryableCollection) -> NamedQuery:
    return _count(collection, "count_given_up", GIVEN_UP)


def count_refused(collection: RetryableCollection) -> NamedQuery:
    """Archives that could not be read."""
    return _count(collection, "count_refused", "c.status = 'failed'")


def finished_since(collection: RetryableCollection) -> NamedQuery:
    """Up to 20 that were finished after @since: the circuit breaker weighs as many failures."""
    text = f"SELECT TOP 20 VALUE 1 FROM c WHERE {PROCESSED} AND c.lastAttemptTime > @since"
    return NamedQuery("finished", collection.name, text, ALL)


def _due(collection: RetryableCollection, name: str, condition: str, order: str) -> NamedQuery:
    fields = ", ".join(f"c.{field}" for field in (*_DUE, *collection.fields))
    text = (
        f"SELECT {fields}, c.{collection.model.partition_field} AS place FROM c"
        f" WHERE {OPEN} AND {collection.alive} AND {condition} ORDER BY c.{order}"
    )
    return NamedQuery(name, collection.name, text, ALL)


def _shown(collection: RetryableCollection, name: str, condition: str, order: str) -> NamedQuery:
    names = dict.fromkeys((*_SHOWN, collection.model.partition_field, *collection.fields))
    fields = ", ".join(f"c.{field}" for field in names)
    text = f"SELECT {fields} FROM c WHERE {condition} ORDER BY c.{order}"
    return NamedQuery(f"{collection.name}_{name}", collection.name, text, ALL)


def _count(collection: RetryableCollection, name: str, condition: str) -> NamedQuery:
    text = f"SELECT VALUE COUNT(1) FROM c WHERE {condition}"
    return NamedQuery(name, collection.name, text, ALL)
