"""Every query that the app asks Cosmos DB, by name, in one place."""

from dataclasses import dataclass

__all__ = [
    "CHUNKS_OF_MESSAGES",
    "CHUNKS_OF_THREAD",
    "CHUNK_STATES",
    "CURRENT_REPORTS",
    "CURRENT_SUMMARIES",
    "MESSAGES_OF_THREAD",
    "MESSAGE_STATES",
    "STORED_MESSAGES",
    "THREAD_ENTRIES",
    "NamedQuery",
    "outdated_documents",
]


@dataclass(frozen=True)
class NamedQuery:
    """A parameterised query over one container; values never become part of the text."""

    name: str
    container: str
    text: str


MESSAGES_OF_THREAD = NamedQuery("messages_of_thread", "messages", "SELECT * FROM c ORDER BY c.date")
CHUNKS_OF_THREAD = NamedQuery("chunks_of_thread", "chunks", "SELECT * FROM c")
MESSAGE_STATES = NamedQuery("message_states", "messages", "SELECT c.id, c.status FROM c")
CURRENT_SUMMARIES = NamedQuery(
    "current_summaries", "summaries", "SELECT c.id, c.generated_at FROM c WHERE NOT c.outdated"
)
CURRENT_REPORTS = NamedQuery(
    "current_reports", "reports", "SELECT c.id, c.summary_id FROM c WHERE NOT c.outdated"
)
CHUNK_STATES = NamedQuery("chunk_states", "chunks", "SELECT c.id, c.status, c.embedding_generated FROM c")
STORED_MESSAGES = NamedQuery(
    "stored_messages",
    "messages",
    "SELECT c.id, c.thread_id, c.created_at, c.archive_ids, c.variant FROM c"
    " WHERE ARRAY_CONTAINS(@ids, c.id)",
)
CHUNKS_OF_MESSAGES = NamedQuery(
    "chunks_of_messages", "chunks", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.message_key)"
)
THREAD_ENTRIES = NamedQuery(
    "thread_entries",
    "thread_index",
    "SELECT c.id, c.bucket, c.threads FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)


def outdated_documents(container: str) -> NamedQuery:
    """Documents whose stored schema version is not @version, for a backfill."""
    return NamedQuery(
        "outdated_documents",
        container,
        "SELECT * FROM c WHERE NOT IS_DEFINED(c.schema_version) OR c.schema_version != @version",
    )
