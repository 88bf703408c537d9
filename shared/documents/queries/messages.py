"""Every query of the container `messages`."""

from shared.documents.queries.named_query import _OF, NamedQuery

__all__ = [
    "ALL_MESSAGE_THREADS",
    "MESSAGES",
    "MESSAGES_OF_THREAD",
    "MESSAGES_WITHIN",
    "MESSAGE_DATES",
    "MESSAGE_PLACES",
    "MESSAGE_STATES",
    "MESSAGE_THREADS",
    "STORED_MESSAGES",
    "THREADS_OF_MESSAGES",
]

MESSAGES = NamedQuery(
    "held_messages",
    "messages",
    "SELECT c.id, c.status, c.archive_id, c.attemptCount, LENGTH(c.body_normalized) AS length, c._ts FROM c"
    " WHERE c.thread_id = @partition_value",
)


ALL_MESSAGE_THREADS = NamedQuery(
    "message_homes", "messages", "SELECT c.id, c.thread_id, c._ts FROM c WHERE c._ts <= @before"
)


MESSAGES_OF_THREAD = NamedQuery(
    "messages_of_thread", "messages", "SELECT * FROM c WHERE c.thread_id = @partition_value ORDER BY c.date"
)


MESSAGE_STATES = NamedQuery(
    "message_states",
    "messages",
    "SELECT c.id, c.status, c.variant FROM c WHERE c.thread_id = @partition_value",
)


MESSAGE_DATES = NamedQuery(
    "message_dates",
    "messages",
    "SELECT c.date FROM c WHERE c.thread_id = @partition_value AND NOT IS_NULL(c.date)",
)


MESSAGES_WITHIN = NamedQuery(
    "messages_within",
    "messages",
    "SELECT VALUE COUNT(1) FROM c"
    " WHERE c.thread_id = @partition_value AND c.date >= @start AND c.date < @end",
)


STORED_MESSAGES = NamedQuery(
    "stored_messages",
    "messages",
    "SELECT c.id, c.shelf, c.thread_id, c.created_at, c.archive_ids, c.variant FROM c"
    " WHERE ARRAY_CONTAINS(@ids, c.id)",
)


THREADS_OF_MESSAGES = NamedQuery(
    "threads_of_messages",
    "messages",
    "SELECT c.id, c.thread_id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)


MESSAGE_THREADS = NamedQuery(
    "message_threads",
    "messages",
    f"SELECT VALUE c.thread_id FROM c WHERE {_OF}",  # noqa: S608
)


MESSAGE_PLACES = NamedQuery(
    "message_places",
    "messages",
    "SELECT c.id, c.archive_id, c.archive_ids FROM c WHERE c.thread_id = @partition_value",
)
