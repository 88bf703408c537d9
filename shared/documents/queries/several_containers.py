"""Queries that read the same of several containers."""

from shared.core.ids import REPORT_PREFIX
from shared.documents.queries.conditions import GIVEN_UP, NO_FENCE, OF_ARCHIVE, PROCESSED
from shared.documents.queries.named_query import ALL, NamedQuery


def states_of_threads(container: str, count: int) -> NamedQuery:
    """The states of the messages or chunks of the threads @thread0, @thread1 and so on: one query for all."""
    names = ", ".join(f"@thread{number}" for number in range(count))
    text = f"SELECT c.id, c.thread_id, c.status, c.variant, c.conflicts FROM c WHERE c.thread_id IN ({names})"
    return NamedQuery("states_of_threads", container, text, ALL)


def documents_with_id(container: str) -> NamedQuery:
    """All documents with this @id: an id is unique only within its partition."""
    return NamedQuery("by_id", container, "SELECT * FROM c WHERE c.id = @id", ALL)


def first_with_id(container: str) -> NamedQuery:
    """One document with this @id, for readers whose address names no partition."""
    text = "SELECT * FROM c WHERE c.id = @id OFFSET 0 LIMIT 1"
    return NamedQuery(f"{container}_by_id", container, text, ALL)


def finished_count(container: str) -> NamedQuery:
    """How many documents of this container were finished at @since or later."""
    finished = {"summaries": "c.generated_at >= @since", "reports": "c.published_at >= @since"}
    condition = finished.get(container, f"{PROCESSED} AND c.lastAttemptTime >= @since")
    text = f"SELECT VALUE COUNT(1) FROM c WHERE {condition}"
    return NamedQuery("finished_count", container, text, ALL)


def _progress_count(name: str, container: str, condition: str) -> NamedQuery:
    text = f"SELECT VALUE COUNT(1) FROM c WHERE {condition}"
    return NamedQuery(f"archive_{name}", container, text, ALL)


_MESSAGES = "ARRAY_CONTAINS(c.archive_ids, @archive)"
_CHUNKS = OF_ARCHIVE
_THREADS = f"{_MESSAGES} AND IS_NULL(c.merged_into)"
_REPORTED = f"IS_STRING(c.summary_id) AND c.report_id = CONCAT('{REPORT_PREFIX}', c.summary_id)"
# A thread that grew keeps the version that was last asked for until its new summary is there.
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
    "reports": "true",  # it is published when it is stored
}


def done_ids(container: str) -> NamedQuery:
    """Which of @ids are done, wherever they are."""
    text = f"SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id) AND {_DONE_CONDITIONS[container]}"
    return NamedQuery(f"{container}_done", container, text, ALL)


def archives_by_id(container: str) -> NamedQuery:
    """Which archives have the documents @ids, wherever they are; of a thread also what it was merged into."""
    text = (
        "SELECT c.id, c.archive_id, c.archive_ids, c.merged_into FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"
        f" AND {NO_FENCE}"
    )
    return NamedQuery(f"{container}_archives", container, text, ALL)
