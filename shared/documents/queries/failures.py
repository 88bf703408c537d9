"""Every query of the container `failures`."""

from shared.documents.queries.named_query import ALL, ONE, NamedQuery

FAILURES_BY_ID = NamedQuery(
    "failures_by_id",
    "failures",
    "SELECT c.id, c.error_hash, c.error_type, c.error_kind, c.last_error, c.abandoned_reason, c.timestamp,"
    " c.trace_id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
    ONE,
)

RECENT_FAILURES = NamedQuery(
    "recent_failures",
    "failures",
    "SELECT TOP 20 c.error_type, c.error_kind, c.timestamp FROM c WHERE c.timestamp >= @since"
    " ORDER BY c.timestamp DESC",
    ONE,
)

FAILURES_ABOUT = NamedQuery(
    "failures_about",
    "failures",
    "SELECT * FROM c WHERE c.id = @id OR c.idempotency_key = @id OR c.message_id = @id OR c.trace_id = @id"
    " OR c.original_event.event_id = @id OR c.original_event.data.archive_id = @id"
    " OR c.original_event.data.summary_id = @id OR c.original_event.data.report_id = @id"
    " OR c.original_event.data.thread_id = @id"
    " OR ARRAY_CONTAINS(c.original_event.data.message_keys, @id)"
    " OR ARRAY_CONTAINS(c.original_event.data.chunk_ids, @id)"
    " OR ARRAY_CONTAINS(c.original_event.data.thread_ids, @id)",
    ALL,
)

FAILURES_OF_ARCHIVE = NamedQuery(
    "failures_of_archive",
    "failures",
    "SELECT c.id, c.stage FROM c WHERE c.original_event.data.archive_id = @archive",
    ALL,
)

FAILURES_OF_THREAD = NamedQuery(
    "failures_of_thread",
    "failures",
    "SELECT c.id, c.stage FROM c WHERE c.original_event.data.thread_id = @thread"
    " OR ARRAY_CONTAINS(c.original_event.data.thread_ids, @thread)"
    " OR ARRAY_CONTAINS(c.original_event.data.chunk_threads, @thread)",
    ALL,
)
