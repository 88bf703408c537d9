"""Every query of the container `sources`."""

from shared.documents.queries.named_query import NamedQuery

__all__ = ["DEFINED", "DUE_SOURCES", "SOURCES"]

DUE_SOURCES = NamedQuery(
    "due_sources",
    "sources",
    "SELECT * FROM c WHERE c.enabled = true AND IS_STRING(c.next_fetch_at) AND c.next_fetch_at <= @now"
    " ORDER BY c.next_fetch_at",
)


SOURCES = NamedQuery(
    "sources", "sources", "SELECT * FROM c WHERE c.id > @after ORDER BY c.id OFFSET 0 LIMIT @limit"
)


DEFINED = NamedQuery("defined_sources", "sources", "SELECT * FROM c ORDER BY c.id OFFSET 0 LIMIT 500")
