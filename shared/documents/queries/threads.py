"""Every query of the container `threads`."""

from shared.documents.queries.conditions import NO_FENCE, OF_ARCHIVE, PROCESSED
from shared.documents.queries.list_query import ADDRESS, CONSENSUS, OUTCOME, PARTICIPANT, ListQuery
from shared.documents.queries.named_query import ALL, NamedQuery
from shared.documents.threads import Thread

_WITH_SUMMARY = (
    "SELECT c.id, c.root_message_id, c.archive_id, c.subject, c.summary_id, c.message_count, c.participants,"
    " c.has_consensus, c.consensus_type, c.outcome, c.first_message_date, c.last_message_date FROM c"
    " WHERE IS_NULL(c.merged_into) AND NOT IS_NULL(c.summary_id)"
)

THREADS_TO_CHECK = NamedQuery(
    "all_threads",
    "threads",
    "SELECT c.id, c.message_count, c.archive_ids, c._ts FROM c"
    f" WHERE NOT IS_STRING(c.merged_into) AND {NO_FENCE}",
    ALL,
)

UNREPORTED_THREADS = NamedQuery(
    "unreported_threads",
    "threads",
    f"SELECT c.id, c.summary_id, c.lastError FROM c WHERE {PROCESSED} AND NOT IS_STRING(c.report_id)"
    " AND IS_STRING(c.summary_id) AND NOT IS_STRING(c.merged_into)"
    " AND (c.lastAttemptTime <= @silent_before"
    " OR (IS_STRING(c.lastError) AND c.lastAttemptTime <= @failed_before))",
    ALL,
)

THREADS_WITHIN = NamedQuery(
    "threads_within",
    "threads",
    _WITH_SUMMARY + " AND ARRAY_CONTAINS(c.sources, @source)"
    " AND c.first_message_date < @end AND c.last_message_date >= @start",
    ALL,
)

THREADS_OF_DRAFT = NamedQuery(
    "threads_of_draft",
    "threads",
    _WITH_SUMMARY + " AND EXISTS(SELECT VALUE m FROM m IN c.draft_mentions"
    " WHERE m = @draft OR (STARTSWITH(m, @version) AND LENGTH(m) = @length))",
    ALL,
)

THREADS_BY_ID = NamedQuery(
    "threads_by_name", "threads", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)", ALL
)

THREAD_IDS_OF_ARCHIVE = NamedQuery(
    "threads_of_archive", "threads", f"SELECT VALUE c.id FROM c WHERE {OF_ARCHIVE}", ALL
)

REDIRECTS_TO = NamedQuery(
    "signposts_to", "threads", "SELECT VALUE c.id FROM c WHERE c.merged_into = @thread", ALL
)

THREADS_WITH_ARCHIVE = NamedQuery(
    "threads_with_archive",
    "threads",
    "SELECT c.id, c.created_at, c.subject FROM c WHERE ARRAY_CONTAINS(c.archive_ids, @id)",
    ALL,
)

# Those that an edition did not reach yet, or whose summary of it is still due.
_LEFT_BY_EDITION = (
    f"SELECT VALUE c.id FROM c WHERE NOT IS_STRING(c.merged_into) AND {NO_FENCE}"
    " AND (NOT IS_STRING(c.edition) OR c.edition != @edition OR c.status = 'pending')"
)
LEFT_BY_EDITION = NamedQuery("left_by_edition", "threads", _LEFT_BY_EDITION, ALL)
LEFT_BY_EDITION_OF_SOURCE = NamedQuery(
    "left_by_edition_of_source",
    "threads",
    f"{_LEFT_BY_EDITION} AND ARRAY_CONTAINS(c.sources, @source)",
    ALL,
)

THREADS_OF_VOTE = NamedQuery(
    "threads_of_vote",
    "threads",
    "SELECT c.id, c.subject, c.first_message_date, c.summary_id, c.result_thread FROM c"
    " WHERE NOT IS_STRING(c.merged_into)"
    " AND c.vote_subject = @subject AND ARRAY_CONTAINS(c.sources, @source)",
    ALL,
)

# Versions of one patch series begin threads of their own; their subjects differ in what stands in brackets.
THREADS_OF_SERIES = NamedQuery(
    "threads_of_series",
    "threads",
    "SELECT TOP 60 c.id, c.thread_id, c.created_at, c.root_message_id, c.archive_id, c.subject, c.summary_id,"
    " c.outcome, c.first_message_date, c.last_message_date FROM c"
    " WHERE IS_NULL(c.merged_into) AND ARRAY_CONTAINS(c.sources, @source) AND ENDSWITH(c.subject, @words)",
    ALL,
)

# In no order: sorting thousands of rows over all partitions takes longer than a reader waits.
TIMELINE_OF_SOURCE = NamedQuery(
    "timeline_of_source",
    "threads",
    "SELECT c.last_message_date AS at, c.message_count AS messages, c.outcome.kind AS kind,"
    " c.outcome.tier AS tier FROM c WHERE IS_NULL(c.merged_into) AND ARRAY_CONTAINS(c.sources, @source)"
    " AND c.last_message_date >= @since",
    ALL,
)

PARTICIPANTS_OF_SOURCE = NamedQuery(
    "participants_of_source",
    "threads",
    "SELECT c.participants FROM c WHERE IS_NULL(c.merged_into) AND ARRAY_CONTAINS(c.sources, @source)",
    ALL,
)

THREAD_LIST = ListQuery(
    "threads",
    "threads",
    always="IS_NULL(c.merged_into)",
    filters={
        "source": "ARRAY_CONTAINS(c.sources, @source)",
        "archive": "ARRAY_CONTAINS(c.archive_ids, @archive)",
        # A thread has drafts as they were written, with their versions.
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
        "begun_before": "c.first_message_date < @begun_before",
    },
    sorts=("-last_message_date", "last_message_date", "-first_message_date", "-message_count"),
    # Without what threading keeps, which can be large.
    fields=tuple(
        name for name in Thread.model_fields if name not in {"threading", "absorbing", "losing", "etag"}
    ),
)
