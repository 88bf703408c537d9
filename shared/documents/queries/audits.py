"""Every query of the container `audits`."""

from shared.documents.queries.named_query import ALL, NamedQuery

LAST_AUDITS = NamedQuery(
    "last_audits", "audits", "SELECT TOP @limit * FROM c ORDER BY c.started_at DESC", ALL
)
