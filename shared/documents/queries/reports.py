"""Every query of the container `reports`."""

from shared.documents.queries.named_query import _ABOUT, NamedQuery

__all__ = ["CURRENT_REPORTS", "DUE_DELIVERIES", "REPORTS", "REPORTS_ABOUT", "REPORTS_OF"]

REPORTS = NamedQuery(
    "all_reports", "reports", "SELECT c.id, c.scope, c.summary_id FROM c WHERE c._ts <= @before"
)


CURRENT_REPORTS = NamedQuery(
    "current_reports", "reports", "SELECT c.id, c.summary_id FROM c WHERE NOT c.outdated"
)


DUE_DELIVERIES = NamedQuery(
    "due_deliveries",
    "reports",
    "SELECT c.id, c.scope FROM c WHERE c.next_delivery_at <= @now"
    " ORDER BY c.next_delivery_at OFFSET 0 LIMIT @limit",
)


REPORTS_ABOUT = NamedQuery("reports_about", "reports", f"SELECT c.id, c.scope FROM c WHERE {_ABOUT}")  # noqa: S608


REPORTS_OF = NamedQuery("reports_of", "reports", "SELECT VALUE c.id FROM c")
