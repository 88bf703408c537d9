"""Every query that the app asks Cosmos DB, by name, in one place."""

from dataclasses import dataclass

__all__ = ["FAILED", "NEVER", "OPEN", "SILENT", "NamedQuery", "outdated_documents", "states_of_threads"]


OPEN = "c.status IN ('pending', 'processing')"  # we never write "processing", yet read it

FAILED = "IS_STRING(c.lastError) AND NOT IS_STRING(c.requeued_at)"

SILENT = "(NOT IS_STRING(c.lastError) OR IS_STRING(c.requeued_at))"

NEVER = "(NOT IS_DEFINED(c.lastAttemptTime) OR IS_NULL(c.lastAttemptTime))"

_OF = "(c.archive_id = @archive OR ARRAY_CONTAINS(c.archive_ids, @archive))"

_ABOUT = "(c.scope = @thread OR ARRAY_CONTAINS(c.thread_ids, @thread))"


@dataclass(frozen=True)
class NamedQuery:
    """A parameterised query over one container; values never become part of the text."""

    name: str
    container: str
    text: str


_OF_DIGESTS = (
    "SELECT c.id, c.root_message_id, c.archive_id, c.subject, c.summary_id, c.message_count, c.participants,"
    " c.has_consensus, c.consensus_type, c.first_message_date, c.last_message_date FROM c"
    " WHERE IS_NULL(c.merged_into) AND NOT IS_NULL(c.summary_id)"
)

_OF_OTHER_MODELS = "FROM c WHERE c.embedding_generated = true AND c.embedding_model != @model"


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
