"""Every query of the container `reports`."""

from shared.documents.queries.conditions import ABOUT_THREAD
from shared.documents.queries.list_query import ADDRESS, CONSENSUS, OUTCOME, PARTICIPANT, ListQuery
from shared.documents.queries.named_query import ALL, ONE, NamedQuery

REPORT_EVIDENCE = NamedQuery(
    "report_evidence",
    "reports",
    "SELECT c.id, c.scope, c.evidence FROM c WHERE c._ts <= @before AND IS_ARRAY(c.evidence)",
    ALL,
)

REPORTS_TO_CHECK = NamedQuery(
    "all_reports", "reports", "SELECT c.id, c.scope, c.summary_id FROM c WHERE c._ts <= @before", ALL
)

REPORTS_PUBLISHED_SINCE = NamedQuery(
    "reports_published_since",
    "reports",
    "SELECT c.id, c.scope, c.summary_id FROM c WHERE c.published_at >= @since",
    ALL,
)

REPORT_FLAGS = NamedQuery("report_flags", "reports", "SELECT c.id, c.summary_id, c.outdated FROM c", ONE)

DUE_DELIVERIES = NamedQuery(
    "due_deliveries",
    "reports",
    "SELECT c.id, c.scope FROM c WHERE c.next_delivery_at <= @now"
    " ORDER BY c.next_delivery_at OFFSET 0 LIMIT @limit",
    ALL,
)

NEXT_DELIVERY = NamedQuery(
    "next_delivery",
    "reports",
    "SELECT TOP 1 c.next_delivery_at FROM c WHERE IS_STRING(c.next_delivery_at) ORDER BY c.next_delivery_at",
    ALL,
)

REPORTS_ABOUT = NamedQuery(
    "reports_about", "reports", f"SELECT c.id, c.scope, c.summary_id FROM c WHERE {ABOUT_THREAD}", ALL
)

REPORT_IDS_OF_SCOPE = NamedQuery("reports_of", "reports", "SELECT VALUE c.id FROM c", ONE)

LAST_OTHER_REPORT = NamedQuery(
    "last_other_report",
    "reports",
    "SELECT TOP 1 VALUE c.published_at FROM c WHERE c.scope = @partition_value AND c.id != @id"
    " ORDER BY c.published_at DESC",
    ONE,
)

REPORTS_OF_THREAD = NamedQuery("reports_of_thread", "reports", "SELECT * FROM c WHERE c.thread_id = @id", ALL)

LATEST_REPORT_TITLES = NamedQuery(
    "reports_lately",
    "reports",
    "SELECT TOP @limit c.id, c.title, c.source, c.summary_type, c.consensus_type, c.outcome,"
    " c.published_at FROM c WHERE (IS_NULL(@source) OR c.source = @source)"
    " AND (NOT IS_DEFINED(c.outdated) OR c.outdated = false)"
    " ORDER BY c.published_at DESC",
    ALL,
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
        "current": "c.outdated = false",
        "open_call": "IS_OBJECT(c.open_call) = @open_call",
        "outcome": OUTCOME,
        "person": "ARRAY_CONTAINS(c.person_ids, @person)",
    },
    sorts=("-published_at", "published_at", "-last_message_date", "last_message_date"),
)
