"""Queries that are the same for several containers."""

from typing import Protocol

from shared.core.ids import REPORT_PREFIX
from shared.models.base import RetryableDocument
from shared.models.queries.named_query import (
    FAILED,
    GIVEN_UP,
    NEVER,
    OF_ARCHIVE,
    OPEN,
    PROCESSED,
    SILENT,
    STUCK,
    NamedQuery,
)


def documents_with_id(container: str) -> NamedQuery:
    """Return the query for all documents with this @id, which is unique only within a partition."""
    return NamedQuery("by_id", container, "SELECT * FROM c WHERE c.id = @id")


def first_with_id(container: str) -> NamedQuery:
    """Return the query for one document with this @id, for addresses without a partition."""
    text = "SELECT * FROM c WHERE c.id = @id OFFSET 0 LIMIT 1"
    return NamedQuery(f"{container}_by_id", container, text)


def finished_count(container: str) -> NamedQuery:
    """Return the query for the number of documents finished at @since or later."""
    finished = {"summaries": "c.generated_at >= @since", "reports": "c.published_at >= @since"}
    condition = finished.get(container, f"{PROCESSED} AND c.lastAttemptTime >= @since")
    text = f"SELECT VALUE COUNT(1) FROM c WHERE {condition}"
    return NamedQuery("finished_count", container, text)


def _progress_count(name: str, container: str, condition: str) -> NamedQuery:
    text = f"SELECT VALUE COUNT(1) FROM c WHERE {condition}"
    return NamedQuery(f"archive_{name}", container, text)


_MESSAGES = "ARRAY_CONTAINS(c.archive_ids, @archive)"
_CHUNKS = OF_ARCHIVE
_THREADS = f"{_MESSAGES} AND IS_NULL(c.merged_into)"
_REPORTED = f"IS_STRING(c.summary_id) AND c.report_id = CONCAT('{REPORT_PREFIX}', c.summary_id)"
# A thread that grew keeps the version that was requested last until its new summary is stored.
_ASKED = f"({PROCESSED} OR (NOT IS_NULL(c.content_hash) AND IS_NULL(c.summary_id) AND NOT {GIVEN_UP}))"

ARCHIVE_PROGRESS_COUNTS = (
    _progress_count("messages", "messages", _MESSAGES),
    _progress_count("messages_chunked", "messages", f"{_MESSAGES} AND {PROCESSED}"),
    _progress_count("messages_given_up", "messages", f"{_MESSAGES} AND {GIVEN_UP}"),
    _progress_count("chunks", "chunks", _CHUNKS),
    _progress_count("chunks_embedded", "chunks", f"{_CHUNKS} AND c.embedding_generated = true"),
    _progress_count("chunks_given_up", "chunks", f"{_CHUNKS} AND {GIVEN_UP}"),
    _progress_count("threads", "threads", _THREADS),
    _progress_count("threads_asked_for", "threads", f"{_THREADS} AND {_ASKED}"),
    _progress_count("threads_summarized", "threads", f"{_THREADS} AND {PROCESSED}"),
    _progress_count("threads_reported", "threads", f"{_THREADS} AND {PROCESSED} AND {_REPORTED}"),
    _progress_count("threads_given_up", "threads", f"{_THREADS} AND {GIVEN_UP}"),
)


_DONE_CONDITIONS = {
    "archives": PROCESSED,
    "messages": PROCESSED,
    "chunks": f"{PROCESSED} AND c.embedding_generated = true",
    "threads": f"{PROCESSED} AND NOT IS_STRING(c.merged_into)",
    "reports": "true",  # a stored report is published
}


def done_ids(container: str) -> NamedQuery:
    """Return the query for the ids in @ids that are done, in all partitions."""
    id_ = "c.report_id" if container == "reports" else "c.id"
    text = f"SELECT VALUE {id_} FROM c WHERE ARRAY_CONTAINS(@ids, {id_}) AND {_DONE_CONDITIONS[container]}"
    return NamedQuery(f"{container}_done", container, text)


def archives_by_id(container: str) -> NamedQuery:
    """Return the query for the archives of the documents @ids and, for a thread, the target of its merge."""
    text = "SELECT c.id, c.archive_id, c.archive_ids, c.merged_into FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"
    return NamedQuery(f"{container}_archives", container, text)


_DUE = ("id", "attemptCount", "lastAttemptTime", "lastError", "requeued_at", "created_at")
_SHOWN = ("id", "status", *_DUE[1:])


class RetryableCollection(Protocol):
    """A container and the conditions of its documents for the sweep."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> type[RetryableDocument]: ...
    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def alive(self) -> str: ...


def due_failed(collection: RetryableCollection, *, exactly: bool) -> NamedQuery:
    """Failed at @before or earlier after @attempts attempts, or after at least as many without `exactly`."""
    attempts = f"c.attemptCount {'=' if exactly else '>='} @attempts"
    condition = f"{attempts} AND c.lastAttemptTime <= @before AND {FAILED}"
    return _due(collection, "due_failed", condition, "lastAttemptTime")


def due_silent(collection: RetryableCollection) -> NamedQuery:
    """Attempted at @before or earlier, without a known outcome."""
    return _due(collection, "due_silent", f"{SILENT} AND c.lastAttemptTime <= @before", "lastAttemptTime")


def due_never(collection: RetryableCollection) -> NamedQuery:
    """Never attempted, and created after @after and not after @before."""
    condition = f"{NEVER} AND (c.created_at <= @before OR c.attemptCount >= @last) AND c.created_at > @after"
    return _due(collection, "due_never", condition, "created_at")


def stuck_documents(collection: RetryableCollection) -> NamedQuery:
    """Open, without a sign of progress since @old."""
    return _shown(collection, "stuck", f"{OPEN} AND {collection.alive} AND ({STUCK})", "created_at")


def failed_documents(collection: RetryableCollection) -> NamedQuery:
    return _shown(collection, "failed", "c.status IN ('failed_max_retries', 'failed')", "created_at")


def unfinished_of_archive(collection: RetryableCollection) -> NamedQuery:
    """The documents of @archive that are not done, including failed documents."""
    condition = f"{OF_ARCHIVE} AND NOT {PROCESSED} AND {collection.alive}"
    return _shown(collection, "unfinished_of_archive", condition, "created_at")


def documents_by_ids(collection: RetryableCollection) -> NamedQuery:
    return _shown(collection, "by_ids", "ARRAY_CONTAINS(@ids, c.id)", "id")


def count_waiting(collection: RetryableCollection, max_attempts: int) -> NamedQuery:
    """Failed and in their backoff: after N attempts until @beforeN."""
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
    """Open, although created at @before or earlier."""
    return _count(collection, "count_late", f"{OPEN} AND {collection.alive} AND c.created_at <= @before")


def count_given_up(collection: RetryableCollection) -> NamedQuery:
    return _count(collection, "count_given_up", GIVEN_UP)


def count_refused(collection: RetryableCollection) -> NamedQuery:
    """Archives that could not be read."""
    return _count(collection, "count_refused", "c.status = 'failed'")


def finished_since(collection: RetryableCollection) -> NamedQuery:
    """Up to 20 documents finished after @since, because the circuit breaker compares as many failures."""
    text = f"SELECT TOP 20 VALUE 1 FROM c WHERE {PROCESSED} AND c.lastAttemptTime > @since"
    return NamedQuery("finished", collection.name, text)


def _due(collection: RetryableCollection, name: str, condition: str, order: str) -> NamedQuery:
    fields = ", ".join(f"c.{field}" for field in (*_DUE, *collection.fields))
    text = (
        f"SELECT {fields}, c.{collection.model.thread_field()} AS place FROM c"
        f" WHERE {OPEN} AND {collection.alive} AND {condition} ORDER BY c.{order}"
    )
    return NamedQuery(name, collection.name, text)


def _shown(collection: RetryableCollection, name: str, condition: str, order: str) -> NamedQuery:
    names = dict.fromkeys((*_SHOWN, collection.model.thread_field(), *collection.fields))
    fields = ", ".join(f"c.{field}" for field in names)
    text = f"SELECT {fields} FROM c WHERE {condition} ORDER BY c.{order}"
    return NamedQuery(f"{collection.name}_{name}", collection.name, text)


def _count(collection: RetryableCollection, name: str, condition: str) -> NamedQuery:
    text = f"SELECT VALUE COUNT(1) FROM c WHERE {condition}"
    return NamedQuery(name, collection.name, text)
