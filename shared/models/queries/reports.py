"""The queries of summaries, reports, digests and subscriptions."""

from shared.models.queries.named_query import (
    ABOUT_THREAD,
    ADDRESS,
    CONSENSUS,
    OUTCOME,
    PARTICIPANT,
    READABLE,
    UNREPORTED,
    ContainerQueries,
    ListQuery,
)
from shared.models.reports import TopicKind

_SUMMARIES = ContainerQueries("summaries")
_REPORTS = ContainerQueries("reports")
_DIGESTS = ContainerQueries("digests")
_SUBSCRIPTIONS = ContainerQueries("subscriptions")

REPORT_EVIDENCE = _REPORTS.all(
    "report_evidence",
    "SELECT c.id, c.scope, c.evidence FROM c WHERE c._ts <= @before AND IS_ARRAY(c.evidence)",
)

REPORTS_TO_CHECK = _REPORTS.all(
    "all_reports", "SELECT c.id, c.scope, c.summary_id FROM c WHERE c._ts <= @before"
)

REPORTS_PUBLISHED_SINCE = _REPORTS.all(
    "reports_published_since", "SELECT c.id, c.scope, c.summary_id FROM c WHERE c.published_at >= @since"
)

DUE_DELIVERIES = _REPORTS.all(
    "due_deliveries",
    "SELECT c.id, c.scope FROM c WHERE c.next_delivery_at <= @now"
    " ORDER BY c.next_delivery_at OFFSET 0 LIMIT @limit",
)

NEXT_DELIVERY = _REPORTS.all(
    "next_delivery",
    "SELECT TOP 1 c.next_delivery_at FROM c WHERE IS_STRING(c.next_delivery_at) ORDER BY c.next_delivery_at",
)

REPORTS_ABOUT = _REPORTS.all(
    "reports_about", f"SELECT c.id, c.scope, c.summary_id FROM c WHERE {ABOUT_THREAD}"
)

REPORT_IDS_OF_SCOPE = _REPORTS.one("reports_of", "SELECT VALUE c.id FROM c")

REPORTS_OF_THREAD = _REPORTS.all("reports_of_thread", "SELECT * FROM c WHERE c.thread_id = @id")

LATEST_REPORT_TITLES = _REPORTS.all(
    "reports_lately",
    "SELECT TOP @limit c.report_id AS id, c.title, c.source, c.summary_type, c.consensus_type, c.outcome,"
    " c.published_at FROM c WHERE (IS_NULL(@source) OR c.source = @source)"
    " ORDER BY c.published_at DESC",
)

# The readings of threads, for searches by outcome, genre, stance and open call. The caller filters them,
# because a search may combine several conditions.
MOST_READINGS = 1000  # the maximum of one call
READINGS_OF_THREADS = _REPORTS.all(
    "readings_of_threads",
    f"SELECT TOP {MOST_READINGS} c.thread_id, c.source, c.last_message_date,"
    " c.outcome.kind AS outcome, c.genre, c.counts, IS_OBJECT(c.open_call) AS is_open"
    " FROM c WHERE IS_STRING(c.thread_id)"
    " AND (IS_NULL(@source) OR c.source = @source) AND ("
    "(IS_STRING(c.outcome.kind) AND ARRAY_CONTAINS(@outcomes, c.outcome.kind))"
    " OR (ARRAY_CONTAINS(@outcomes, 'unresolved') AND c.outcome.tier = 'remark')"
    " OR (IS_STRING(c.genre) AND ARRAY_CONTAINS(@genres, c.genre))"
    " OR (@open AND IS_OBJECT(c.open_call))"
    " OR (ARRAY_CONTAINS(@stances, 'support') AND c.counts.support > 0)"
    " OR (ARRAY_CONTAINS(@stances, 'oppose') AND c.counts.oppose > 0)"
    " OR (ARRAY_CONTAINS(@stances, 'mixed') AND c.counts.mixed > 0))"
    " ORDER BY c.last_message_date DESC",
)

REPORT_LIST = ListQuery(
    "reports",
    "reports",
    filters={
        "source": "c.source = @source",
        "thread": "(c.thread_id = @thread OR ARRAY_CONTAINS(c.thread_ids, @thread))",
        "draft": "ARRAY_CONTAINS(c.draft_mentions, @draft)",
        "since": "c.last_message_date >= @since",
        "until": "c.last_message_date < @until",
        "participant": PARTICIPANT,
        "address": ADDRESS,
        "consensus": CONSENSUS,
        "type": "c.summary_type = @type",
        "digests": "c.summary_type IN ('weekly', 'consensus')",
        "open_call": "IS_OBJECT(c.open_call) = @open_call",
        "outcome": OUTCOME,
        "readable": READABLE,
        "person": "ARRAY_CONTAINS(c.person_ids, @person)",
    },
    sorts=("-published_at", "published_at", "-last_message_date", "last_message_date"),
)

SUMMARIES_TO_CHECK = _SUMMARIES.all("all_summaries", "SELECT * FROM c WHERE c._ts <= @before")

SUMMARIES_ABOUT = _SUMMARIES.all(
    "summaries_about", f"SELECT c.id, c.scope, c.created_at FROM c WHERE {ABOUT_THREAD}"
)

THREAD_SUMMARIES_MADE_SINCE = _SUMMARIES.all(
    "thread_summaries_made_since",
    "SELECT c.id, c.scope, c.thread_id, c.created_at FROM c"
    " WHERE c.created_at >= @since AND IS_STRING(c.thread_id)",
)

SUMMARY_IDS_OF_SCOPE = _SUMMARIES.one("summaries_of", "SELECT VALUE c.id FROM c")

SUMMARIES_OF_THREAD = _SUMMARIES.all("summaries_of_thread", "SELECT * FROM c WHERE c.thread_id = @id")

DUE_DIGESTS = _DIGESTS.all(
    "due_digests",
    f"SELECT c.scope FROM c WHERE c.touches > c.made OR (IS_STRING(c.summary_id) AND {UNREPORTED}"
    " AND c._ts <= @silent_before AND c.announced < @most) ORDER BY c._ts OFFSET 0 LIMIT @limit",
)

DUE_SUBSCRIPTIONS = _SUBSCRIPTIONS.all(
    "due_subscriptions",
    "SELECT c.id, c.address_key FROM c WHERE c.next_due_at <= @now ORDER BY c.next_due_at"
    " OFFSET 0 LIMIT @limit",
)

SUBSCRIPTIONS_OF_ADDRESS = _SUBSCRIPTIONS.one(
    "subscriptions_of_address", "SELECT c.id, c.confirmed_at FROM c"
)

LATELY_ASKED = _SUBSCRIPTIONS.all("lately_asked", "SELECT VALUE COUNT(1) FROM c WHERE c.asked_at > @after")

_ABOUT = {
    TopicKind.SOURCES: "c.source = @name",
    TopicKind.DRAFTS: "ARRAY_CONTAINS(c.draft_mentions, @name)",
    TopicKind.PEOPLE: "ARRAY_CONTAINS(c.person_ids, @name)",
    TopicKind.THREADS: "c.thread_id = @name",
}

PUBLISHED_ABOUT = {
    kind: _REPORTS.all(
        f"published_about_{kind}",
        "SELECT c.report_id, c.title, c.thread_id, c.source, c.outcome, c.threads, c.published_at,"
        f" c.last_message_date FROM c WHERE {about} AND c.published_at > @since AND c.published_at <= @until"
        f" AND (IS_NULL(@readable) OR {READABLE})"
        " ORDER BY c.published_at DESC OFFSET 0 LIMIT @limit",
    )
    for kind, about in _ABOUT.items()
}
