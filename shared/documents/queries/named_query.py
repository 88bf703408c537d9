"""Every query that the app asks Cosmos DB, by name, in one place."""

from dataclasses import dataclass

__all__ = [
    "CHUNKS_OF_MESSAGES",
    "CHUNKS_OF_OTHER_MODELS",
    "CHUNKS_OF_THREAD",
    "CHUNK_BIRTHS",
    "CHUNK_STATES",
    "CURRENT_REPORTS",
    "CURRENT_SUMMARIES",
    "DUE_DELIVERIES",
    "EMBEDDED_CHUNKS",
    "ENTRIES_OF_BUCKET",
    "MESSAGES_OF_THREAD",
    "MESSAGES_WITHIN",
    "MESSAGE_DATES",
    "MESSAGE_STATES",
    "OTHER_MODELS",
    "STORED_MESSAGES",
    "THREADS_BY_NAME",
    "THREADS_OF_DRAFT",
    "THREADS_OF_MESSAGES",
    "THREADS_WITHIN",
    "THREAD_ENTRIES",
    "TOUCHED_DIGESTS",
    "NamedQuery",
    "outdated_documents",
    "states_of_threads",
]


@dataclass(frozen=True)
class NamedQuery:
    """A parameterised query over one container; values never become part of the text."""

    name: str
    container: str
    text: str


MESSAGES_OF_THREAD = NamedQuery(
    "messages_of_thread", "messages", "SELECT * FROM c WHERE c.thread_id = @place ORDER BY c.date"
)
CHUNKS_OF_THREAD = NamedQuery("chunks_of_thread", "chunks", "SELECT * FROM c")
MESSAGE_STATES = NamedQuery(
    "message_states", "messages", "SELECT c.id, c.status, c.variant FROM c WHERE c.thread_id = @place"
)
CURRENT_SUMMARIES = NamedQuery(
    "current_summaries", "summaries", "SELECT c.id, c.generated_at FROM c WHERE NOT c.outdated"
)
CURRENT_REPORTS = NamedQuery(
    "current_reports", "reports", "SELECT c.id, c.summary_id FROM c WHERE NOT c.outdated"
)
MESSAGE_DATES = NamedQuery(
    "message_dates", "messages", "SELECT c.date FROM c WHERE c.thread_id = @place AND NOT IS_NULL(c.date)"
)
MESSAGES_WITHIN = NamedQuery(
    "messages_within",
    "messages",
    "SELECT VALUE COUNT(1) FROM c WHERE c.thread_id = @place AND c.date >= @start AND c.date < @end",
)
_OF_DIGESTS = (
    "SELECT c.id, c.root_message_id, c.archive_id, c.subject, c.summary_id, c.message_count, c.participants,"
    " c.has_consensus, c.consensus_type, c.first_message_date, c.last_message_date FROM c"
    " WHERE IS_NULL(c.merged_into) AND NOT IS_NULL(c.summary_id)"
)
THREADS_WITHIN = NamedQuery(
    "threads_within",
    "threads",
    _OF_DIGESTS + " AND ARRAY_CONTAINS(c.sources, @source)"
    " AND c.first_message_date < @end AND c.last_message_date >= @start",
)
THREADS_OF_DRAFT = NamedQuery(
    "threads_of_draft",
    "threads",
    _OF_DIGESTS  # noqa: S608 - texts of ours; values are parameters
    + " AND EXISTS(SELECT VALUE m FROM m IN c.draft_mentions"
    " WHERE m = @draft OR (STARTSWITH(m, @version) AND LENGTH(m) = @length))",
)
TOUCHED_DIGESTS = NamedQuery(
    "touched_digests",
    "digests",
    "SELECT c.scope FROM c WHERE c.touches > c.made ORDER BY c._ts OFFSET 0 LIMIT @limit",
)
DUE_DELIVERIES = NamedQuery(
    "due_deliveries",
    "reports",
    "SELECT c.id, c.scope FROM c WHERE c.next_delivery_at <= @now"
    " ORDER BY c.next_delivery_at OFFSET 0 LIMIT @limit",
)
CHUNK_STATES = NamedQuery("chunk_states", "chunks", "SELECT c.id, c.status, c.embedding_generated FROM c")
STORED_MESSAGES = NamedQuery(
    "stored_messages",
    "messages",
    "SELECT c.id, c.shelf, c.thread_id, c.created_at, c.archive_ids, c.variant FROM c"
    " WHERE ARRAY_CONTAINS(@ids, c.id)",
)
THREADS_BY_NAME = NamedQuery("threads_by_name", "threads", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")
THREADS_OF_MESSAGES = NamedQuery(
    "threads_of_messages",
    "messages",
    "SELECT c.id, c.thread_id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)
CHUNKS_OF_MESSAGES = NamedQuery(
    "chunks_of_messages", "chunks", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.message_key)"
)
CHUNK_BIRTHS = NamedQuery(
    "chunk_births",
    "chunks",
    "SELECT c.id, c.thread_id, c.created_at FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)
ENTRIES_OF_BUCKET = NamedQuery("entries_of_bucket", "thread_index", "SELECT c.id, c.bucket, c.threads FROM c")
THREAD_ENTRIES = NamedQuery(
    "thread_entries",
    "thread_index",
    "SELECT c.id, c.bucket, c.threads FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)

_OF_OTHER_MODELS = "FROM c WHERE c.embedding_generated = true AND c.embedding_model != @model"
CHUNKS_OF_OTHER_MODELS = NamedQuery("chunks_of_other_models", "chunks", f"SELECT * {_OF_OTHER_MODELS}")
OTHER_MODELS = NamedQuery("other_models", "chunks", f"SELECT VALUE COUNT(1) {_OF_OTHER_MODELS}")
EMBEDDED_CHUNKS = NamedQuery(
    "embedded_chunks", "chunks", "SELECT VALUE COUNT(1) FROM c WHERE c.embedding_generated = true"
)


def states_of_threads(container: str, count: int) -> NamedQuery:
    """The states of the messages or chunks of the threads @thread0, @thread1 and so on: one query for all."""
    names = ", ".join(f"@thread{number}" for number in range(count))
    text = f"SELECT c.id, c.thread_id, c.status, c.variant FROM c WHERE c.thread_id IN ({names})"  # noqa: S608 - names of ours
    return NamedQuery("states_of_threads", container, text)


def outdated_documents(container: str) -> NamedQuery:
    """Documents whose stored schema version is not @version, for a backfill."""
    return NamedQuery(
        "outdated_documents",
        container,
        "SELECT * FROM c WHERE NOT IS_DEFINED(c.schema_version) OR c.schema_version != @version",
    )
