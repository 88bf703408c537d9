"""The queries of archives and sources, and of the records of operations."""

from shared.models.queries.named_query import READABLE, ContainerQueries, ListQuery

_ARCHIVES = ContainerQueries("archives")
_SOURCES = ContainerQueries("sources")
_REMOVALS = ContainerQueries("removals")
_AUDITS = ContainerQueries("audits")
_RUNS = ContainerQueries("runs")
_FAILURES = ContainerQueries("failures")
_LOCKS = ContainerQueries("locks")
_SUPPRESSIONS = ContainerQueries("suppressions")

SUPPRESSIONS_OF_SOURCE = _SUPPRESSIONS.all(
    "suppressions_of_source", "SELECT * FROM c WHERE c.source = @source OR c.source = '*'"
)

SOURCE_NAMES = _ARCHIVES.all("source_names", "SELECT DISTINCT VALUE c.source FROM c")

PENDING_ARCHIVE_IDS = _ARCHIVES.all(
    "pending_archives", "SELECT VALUE c.id FROM c WHERE c.status = 'pending' OR c.removing"
)

ALL_ARCHIVE_IDS = _ARCHIVES.all("all_archives", "SELECT VALUE c.id FROM c")

ARCHIVE_FILES = _ARCHIVES.all(
    "archive_files",
    "SELECT c.id, c.source, c.file_path FROM c WHERE c._ts <= @before AND NOT c.removing",
)

SOURCES_IN_FLIGHT = _ARCHIVES.all(
    "sources_in_flight", "SELECT DISTINCT VALUE c.source FROM c WHERE c.status = 'pending' OR c.removing"
)

ARCHIVE_IDS_OF_SOURCE = _ARCHIVES.all(
    "archives_of_source", "SELECT VALUE c.id FROM c WHERE c.source = @source"
)

OLDEST_ARCHIVE_TIME = _ARCHIVES.all(
    "oldest_archive_time", "SELECT TOP 1 VALUE c.created_at FROM c ORDER BY c.created_at"
)

LATEST_ARCHIVES = _ARCHIVES.all(
    "latest_archives", "SELECT * FROM c ORDER BY c.ingestion_date DESC, c.id DESC OFFSET 0 LIMIT 100"
)

LATEST_ARCHIVES_OF_SOURCE = _ARCHIVES.all(
    "latest_archives_of_source",
    "SELECT * FROM c WHERE c.source = @source ORDER BY c.ingestion_date DESC OFFSET 0 LIMIT 12",
)

ARCHIVE_LIST = ListQuery(
    "archives",
    "archives",
    filters={"source": "c.source = @source", "status": "c.status = @status", "readable": READABLE},
    sorts=("-ingestion_date",),
)

SOURCES_WITH_AN_END = _SOURCES.all("sources_with_an_end", "SELECT * FROM c WHERE c.keep_days > 0")

DUE_SOURCES = _SOURCES.all(
    "due_sources",
    "SELECT * FROM c WHERE c.enabled = true AND IS_STRING(c.next_fetch_at) AND c.next_fetch_at <= @now"
    " ORDER BY c.next_fetch_at",
)

ALL_SOURCES = _SOURCES.all("all_sources", "SELECT * FROM c ORDER BY c.id")

DEFINED_SOURCES = _SOURCES.all("defined_sources", "SELECT * FROM c ORDER BY c.id OFFSET 0 LIMIT 500")

SOURCE_LIST = ListQuery(
    "sources", "sources", filters={"readable": "ARRAY_CONTAINS(@readable, c.id)"}, sorts=("id",)
)

# Few documents: only restricted sources name groups.
SOURCE_READERS = _SOURCES.all(
    "source_readers",
    "SELECT c.id, c.readers FROM c WHERE IS_ARRAY(c.readers) AND ARRAY_LENGTH(c.readers) > 0",
)

DEFINED_SOURCE_NAMES = _SOURCES.all("defined_source_names", "SELECT VALUE c.id FROM c")

UNFINISHED_REMOVALS = _REMOVALS.all(
    "unfinished_removals",
    "SELECT * FROM c WHERE c.status IN ('pending', 'running') AND c.updated_at <= @before",
)

REMOVALS_TO_LOOK_AT_AGAIN = _REMOVALS.all(
    "removals_to_look_at_again",
    "SELECT * FROM c WHERE c.status = 'succeeded' AND c.updated_at <= @before AND c.updated_at > @since"
    " AND IS_STRING(c.finished_at) AND NOT IS_STRING(c.looked_again_at)",
)

LAST_AUDITS = _AUDITS.all("last_audits", "SELECT TOP @limit * FROM c ORDER BY c.started_at DESC")

LATEST_RUN = _RUNS.one(
    "latest_run",
    "SELECT TOP 1 * FROM c WHERE c.dry_run = false AND c.status != 'running' ORDER BY c.started_at DESC",
)

LATEST_START = _RUNS.one(
    "latest_start",
    "SELECT TOP 1 c.started_at FROM c WHERE c.requested_by = @requested_by ORDER BY c.started_at DESC",
)

FAILURES_BY_ID = _FAILURES.one(
    "failures_by_id",
    "SELECT c.id, c.error_hash, c.error_type, c.error_kind, c.last_error, c.abandoned_reason, c.timestamp,"
    " c.trace_id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)

RECENT_FAILURES = _FAILURES.one(
    "recent_failures",
    "SELECT TOP 20 c.error_type, c.error_kind, c.timestamp FROM c WHERE c.timestamp >= @since"
    " ORDER BY c.timestamp DESC",
)

FAILURES_ABOUT = _FAILURES.all(
    "failures_about",
    "SELECT * FROM c WHERE c.id = @id OR c.idempotency_key = @id OR c.message_id = @id OR c.trace_id = @id"
    " OR c.original_event.event_id = @id OR c.original_event.data.archive_id = @id"
    " OR c.original_event.data.summary_id = @id OR c.original_event.data.report_id = @id"
    " OR c.original_event.data.thread_id = @id"
    " OR ARRAY_CONTAINS(c.original_event.data.message_keys, @id)"
    " OR ARRAY_CONTAINS(c.original_event.data.chunk_ids, @id)"
    " OR ARRAY_CONTAINS(c.original_event.data.thread_ids, @id)",
)

FAILURES_OF_ARCHIVE = _FAILURES.all(
    "failures_of_archive", "SELECT c.id, c.stage FROM c WHERE c.original_event.data.archive_id = @archive"
)

FAILURES_OF_THREAD = _FAILURES.all(
    "failures_of_thread",
    "SELECT c.id, c.stage FROM c WHERE c.original_event.data.thread_id = @thread"
    " OR ARRAY_CONTAINS(c.original_event.data.thread_ids, @thread)"
    " OR ARRAY_CONTAINS(c.original_event.data.chunk_threads, @thread)",
)

RETRY_LOCKS = "retry-"  # the prefix of the ids of locks that decide which copy of a retry does the work

EXPIRED_RETRY_LOCKS = _LOCKS.all(
    "expired_retry_locks",
    f"SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, '{RETRY_LOCKS}') AND c.expires <= @now",
)
