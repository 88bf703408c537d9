"""The queries of messages, threads and chunks, and of their corrections."""

from shared.models.queries.named_query import (
    ADDRESS,
    CONSENSUS,
    NO_ENTRY,
    OF_ARCHIVE,
    OUTCOME,
    PARTICIPANT,
    PROCESSED,
    READABLE,
    UNREPORTED,
    ContainerQueries,
    ListQuery,
)
from shared.models.threads import Thread

_THREADS = ContainerQueries("threads")
_MESSAGES = ContainerQueries("messages")
_CHUNKS = ContainerQueries("chunks")
_PLACEMENTS = ContainerQueries("placements")
_CORRECTIONS = ContainerQueries("corrections")

_WITH_SUMMARY = (
    "SELECT c.id, c.root_message_id, c.archive_id, c.subject, c.summary_id, c.message_count, c.participants,"
    " c.has_consensus, c.consensus_type, c.outcome, c.first_message_date, c.last_message_date FROM c"
    " WHERE IS_NULL(c.merged_into) AND NOT IS_NULL(c.summary_id)"
)

THREADS_TO_CHECK = _THREADS.all(
    "all_threads",
    "SELECT c.id, c.message_count, c.archive_ids, c._ts FROM c"
    f" WHERE NOT IS_STRING(c.merged_into) AND {NO_ENTRY}",
)

UNREPORTED_THREADS = _THREADS.all(
    "unreported_threads",
    f"SELECT c.id, c.summary_id, c.lastError FROM c WHERE {PROCESSED} AND {UNREPORTED}"
    " AND IS_STRING(c.summary_id) AND NOT IS_STRING(c.merged_into)"
    " AND (c.lastAttemptTime <= @silent_before"
    " OR (IS_STRING(c.lastError) AND c.lastAttemptTime <= @failed_before))",
)

THREADS_WITHIN = _THREADS.all(
    "threads_within",
    _WITH_SUMMARY + " AND ARRAY_CONTAINS(c.sources, @source)"
    " AND c.first_message_date < @end AND c.last_message_date >= @start",
)

THREADS_OF_DRAFT = _THREADS.all(
    "threads_of_draft",
    _WITH_SUMMARY + " AND EXISTS(SELECT VALUE m FROM m IN c.draft_mentions"
    " WHERE m = @draft OR (STARTSWITH(m, @version) AND LENGTH(m) = @length))",
)

OF_SOURCE_BY_ID = _THREADS.one("of_source_by_id", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")

OPEN_ENTRIES = _THREADS.one(
    "open_entries",
    "SELECT * FROM c WHERE (c.kind IN ('todo', 'placement') AND c.source = @source) OR c.id = @tombstone",
)

ENTRIES_OF_ARCHIVE = _THREADS.one(
    "entries_of_archive", "SELECT * FROM c WHERE c.kind = 'id' AND ARRAY_CONTAINS(c.archives, @archive)"
)

VERSIONS_OF_PARTITION = _THREADS.one(
    "versions_of_partition", "SELECT c.source FROM c WHERE c.kind = 'version'"
)

OPEN_TODOS = _THREADS.all(
    "open_todos", "SELECT c.id, c.source FROM c WHERE c.kind = 'todo' AND c.created_at <= @before"
)

THREAD_IDS_OF_ARCHIVE = _THREADS.all("threads_of_archive", f"SELECT VALUE c.id FROM c WHERE {OF_ARCHIVE}")

REDIRECTS_TO = _THREADS.all("signposts_to", "SELECT VALUE c.id FROM c WHERE c.merged_into = @thread")

THREADS_WITH_ARCHIVE = _THREADS.all(
    "threads_with_archive",
    "SELECT c.id, c.created_at, c.subject FROM c WHERE ARRAY_CONTAINS(c.archive_ids, @id)",
)

# Threads that an edition has not reached yet, or whose summary for it is missing.
_LEFT_BY_EDITION = (
    f"SELECT VALUE c.id FROM c WHERE NOT IS_STRING(c.merged_into) AND {NO_ENTRY}"
    " AND (NOT IS_STRING(c.edition) OR c.edition != @edition OR c.status = 'pending')"
)
LEFT_BY_EDITION = _THREADS.all("left_by_edition", _LEFT_BY_EDITION)
LEFT_BY_EDITION_OF_SOURCE = _THREADS.all(
    "left_by_edition_of_source", f"{_LEFT_BY_EDITION} AND ARRAY_CONTAINS(c.sources, @source)"
)

THREADS_OF_VOTE = _THREADS.all(
    "threads_of_vote",
    "SELECT c.id, c.subject, c.first_message_date, c.summary_id, c.result_thread FROM c"
    " WHERE NOT IS_STRING(c.merged_into)"
    " AND c.vote_subject = @subject AND ARRAY_CONTAINS(c.sources, @source)",
)

# Versions of a patch series start separate threads. Their subjects differ only in brackets.
THREADS_OF_SERIES = _THREADS.all(
    "threads_of_series",
    "SELECT TOP 60 c.id, c.thread_id, c.created_at, c.root_message_id, c.archive_id, c.subject, c.summary_id,"
    " c.outcome, c.first_message_date, c.last_message_date FROM c"
    " WHERE IS_NULL(c.merged_into) AND ARRAY_CONTAINS(c.sources, @source) AND ENDSWITH(c.subject, @words)",
)

# Unordered, because sorting thousands of rows over all partitions takes too long for a request.
TIMELINE_OF_SOURCE = _THREADS.all(
    "timeline_of_source",
    "SELECT c.last_message_date AS at, c.message_count AS messages, c.outcome.kind AS kind,"
    " c.outcome.tier AS tier FROM c WHERE IS_NULL(c.merged_into) AND ARRAY_CONTAINS(c.sources, @source)"
    " AND c.last_message_date >= @since",
)

PARTICIPANTS_OF_SOURCE = _THREADS.all(
    "participants_of_source",
    "SELECT c.participants FROM c WHERE IS_NULL(c.merged_into) AND ARRAY_CONTAINS(c.sources, @source)",
)

THREAD_LIST = ListQuery(
    "threads",
    "threads",
    always="IS_NULL(c.merged_into)",
    filters={
        "source": "ARRAY_CONTAINS(c.sources, @source)",
        "archive": "ARRAY_CONTAINS(c.archive_ids, @archive)",
        # A thread has the drafts with their versions.
        "draft": (
            "EXISTS(SELECT VALUE d FROM d IN c.draft_mentions WHERE d = @draft"
            " OR (STARTSWITH(d, CONCAT(@draft, '-')) AND LENGTH(d) = LENGTH(@draft) + 3"
            " AND REGEXMATCH(d, '-[0-9][0-9]$')))"
        ),
        "since": "c.last_message_date >= @since",
        "until": "c.last_message_date < @until",
        "participant": PARTICIPANT,
        "address": ADDRESS,
        "consensus": CONSENSUS,
        "status": "c.status = @status",
        "open_call": "IS_OBJECT(c.open_call) = @open_call",
        "genre": "c.outcome.genre = @genre",
        "outcome": OUTCOME,
        "readable": READABLE,
        "begun_before": "c.first_message_date < @begun_before",
    },
    sorts=("-last_message_date", "last_message_date", "-first_message_date", "-message_count"),
    # Without the threading data, which can be large.
    fields=tuple(name for name in Thread.model_fields if name not in {"threading", "inexact", "etag"}),
)

MESSAGES_TO_CHECK = _MESSAGES.all(
    "held_messages",
    "SELECT c.id, c.status, c.archive_id, c.attemptCount, c.text_version, c.chunk_set, c.chunk_count, c._ts"
    " FROM c WHERE c.thread_id = @thread",
)

ALL_MESSAGE_THREADS = _MESSAGES.all(
    "message_homes", "SELECT c.id, c.source, c.thread_id, c.archive_ids, c._ts FROM c WHERE c._ts <= @before"
)

MESSAGES_OF_THREAD = _MESSAGES.all("messages_of_thread", "SELECT * FROM c WHERE c.thread_id = @thread")

MESSAGE_STATES = _MESSAGES.all(
    "message_states",
    "SELECT c.id, c.status, c.text_version, c.conflicts, c.chunk_set, c.chunk_count FROM c"
    " WHERE ARRAY_CONTAINS(@ids, c.id)",
)

MESSAGES_BY_KEY = _MESSAGES.all("messages_by_key", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")

MESSAGE_DATES = _MESSAGES.all(
    "message_dates", "SELECT c.date FROM c WHERE c.thread_id = @thread AND NOT IS_NULL(c.date)"
)

COUNT_OF_MESSAGES_WITHIN = _MESSAGES.all(
    "messages_within",
    "SELECT VALUE COUNT(1) FROM c WHERE c.thread_id = @thread AND c.date >= @start AND c.date < @end",
)

_ERASABLE = (
    "SELECT c.id, c.post_id, c.message_id, c.source, c.thread_id, c.archive_ids, c.body_raw, c.status, c.date"
    " FROM c"
)
ERASABLE_OF_PEOPLE = _MESSAGES.all(
    "erasable_of_people", f'{_ERASABLE} WHERE ARRAY_CONTAINS(@addresses, LOWER(c["from"].email))'
)
ERASABLE_OF_THREAD = _MESSAGES.all("erasable_of_thread", f"{_ERASABLE} WHERE c.thread_id = @thread")
ERASABLE_OF_POSTS = _MESSAGES.all("erasable_of_posts", f"{_ERASABLE} WHERE ARRAY_CONTAINS(@ids, c.post_id)")
EXPIRED_OF_SOURCE = _MESSAGES.all(
    "expired_of_source",
    f"{_ERASABLE} WHERE c.source = @source AND IS_STRING(c.date) AND c.date < @before OFFSET 0 LIMIT 5000",
)
ERASABLE_OF_ARCHIVE = _MESSAGES.all("erasable_of_archive", f"{_ERASABLE} WHERE {OF_ARCHIVE}")

_COPIES = (
    "SELECT c.id, c.post_id, c.message_id, c.source, c.sources, c.thread_id, c.label_version, c.created_at,"
    " c.archive_id, c.archive_ids, c.place, c.copies, c.elsewhere, c.conflicts, c.variant, c.identity,"
    " c.text_version, c._etag FROM c"
)

STORED_COPIES = _MESSAGES.all("stored_copies", f"{_COPIES} WHERE ARRAY_CONTAINS(@ids, c.post_id)")

STORED_LABELS = _MESSAGES.all("stored_labels", f"{_COPIES} WHERE ARRAY_CONTAINS(@ids, c.id)")

COPIES_ELSEWHERE = _MESSAGES.all(
    "copies_elsewhere", f"{_COPIES} WHERE ARRAY_CONTAINS(@ids, c.post_id) AND c.source != @source"
)

MEMBER_FACTS = _MESSAGES.all(
    "member_facts",
    'SELECT c.id, c.message_id, c.subject, c["from"], c.date, c.archive_ids, c.draft_mentions FROM c'
    " WHERE ARRAY_CONTAINS(@ids, c.id)",
)

MESSAGES_WITH_ID = _MESSAGES.all(
    "messages_with_id", "SELECT TOP 20 * FROM c WHERE ARRAY_CONTAINS(@message_ids, c.message_id)"
)

MESSAGES_AND_ANSWERS_OF_OTHER_LISTS = _MESSAGES.all(
    "messages_and_answers",
    "SELECT * FROM c WHERE c.thread_id = @thread"
    " OR (ARRAY_CONTAINS(@ids, c.in_reply_to) AND c.source != @source)",
)

THREADS_OF_MESSAGES = _MESSAGES.all(
    "threads_of_messages", "SELECT c.id, c.thread_id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"
)

MESSAGE_SOURCES_OF_ARCHIVE = _MESSAGES.all(
    "message_sources_of_archive", f"SELECT c.id, c.source FROM c WHERE {OF_ARCHIVE}"
)

MESSAGES_OF_ARCHIVE = _MESSAGES.all(
    "messages_of_archive", f"SELECT c.id, c.thread_id, c.copies FROM c WHERE {OF_ARCHIVE}"
)

MESSAGE_ARCHIVES = _MESSAGES.all(
    "message_archives",
    "SELECT c.id, c.thread_id, c.archive_id, c.archive_ids FROM c WHERE c._ts <= @before",
)

ENTRIES_TO_CHECK = _THREADS.all(
    "all_entries",
    "SELECT c.id, c.pk, c.archives, c.waits, c.threads FROM c"
    " WHERE c.kind IN ('id', 'subject') AND c._ts <= @before",
)

_OF_OTHER_MODELS = "FROM c WHERE c.embedding_generated = true AND c.embedding_model != @model"

CHUNKS_TO_CHECK = _CHUNKS.all(
    "held_chunks",
    "SELECT c.id, c.thread_id, c.message_key, c.token_count, c.archive_id, c.attemptCount,"
    " c.embedding_generated, c._ts FROM c"
    " WHERE c.thread_id = @thread OR ARRAY_CONTAINS(@keys, c.message_key)",
)

ALL_CHUNK_THREADS = _CHUNKS.all(
    "chunk_homes", "SELECT c.id, c.thread_id, c.message_key, c._ts FROM c WHERE c._ts <= @before"
)

CHUNK_STATES = _CHUNKS.all(
    "chunk_states",
    "SELECT c.id, c.status, c.message_key FROM c WHERE ARRAY_CONTAINS(@ids, c.message_key)",
)

CHUNKS_OF_MESSAGES = _CHUNKS.all(
    "chunks_of_messages", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.message_key)"
)

CHUNKS_OF_OTHER_MODELS = _CHUNKS.all("chunks_of_other_models", f"SELECT * {_OF_OTHER_MODELS}")

COUNT_OF_OTHER_MODELS = _CHUNKS.all("other_models", f"SELECT VALUE COUNT(1) {_OF_OTHER_MODELS}")

COUNT_OF_EMBEDDED_CHUNKS = _CHUNKS.all(
    "embedded_chunks", "SELECT VALUE COUNT(1) FROM c WHERE c.embedding_generated = true"
)

CHUNKS_BY_ID = _CHUNKS.all("chunks_anywhere", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")

MESSAGE_ARCHIVES_OF_THREAD = _MESSAGES.all(
    "message_places", "SELECT c.id, c.archive_ids FROM c WHERE c.thread_id = @thread"
)

_LABELS = (
    "SELECT c.id, c.message_key, c.status, c.thread_id, c.archive_id, c.archive_ids, c.label_version,"
    " c.embedding_generated, c._etag FROM c"
)

CHUNKS_OF_KEYS = _CHUNKS.all("chunks_of_keys", f"{_LABELS} WHERE ARRAY_CONTAINS(@ids, c.message_key)")

CHUNK_LABELS = _CHUNKS.all("chunk_labels", f"{_LABELS} WHERE ARRAY_CONTAINS(@ids, c.id)")

CHUNK_KEYS_OF_ARCHIVE = _CHUNKS.all(
    "chunk_keys_of_archive", f"SELECT DISTINCT VALUE c.message_key FROM c WHERE {OF_ARCHIVE}"
)

CHUNK_LIST = ListQuery(
    "chunks",
    "chunks",
    filters={"thread": "c.thread_id = @thread", "message": "c.message_key = @message"},
    sorts=("message_key",),
)

PLACEMENTS_OF_SOURCE = _PLACEMENTS.one("placements_of_source", "SELECT * FROM c")

UNAPPLIED_PLACEMENTS = _PLACEMENTS.all("unapplied_placements", "SELECT * FROM c WHERE NOT c.applied")

CORRECTIONS_OF_MESSAGES = _CORRECTIONS.all(
    "corrections_of_messages", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.message_id)"
)

ACTIVE_CORRECTIONS = _CORRECTIONS.all(
    "active_corrections", "SELECT * FROM c WHERE NOT c.revoked AND c.kind != 'reported'"
)

REPORTED_ERRORS = _CORRECTIONS.all(
    "reported_errors", "SELECT * FROM c WHERE NOT c.revoked AND c.kind = 'reported'"
)
