"""Every query of the container `sources`."""

from shared.documents.queries.list_query import ListQuery
from shared.documents.queries.named_query import ALL, NamedQuery

DUE_SOURCES = NamedQuery(
    "due_sources",
    "sources",
    "SELECT * FROM c WHERE c.enabled = true AND IS_STRING(c.next_fetch_at) AND c.next_fetch_at <= @now"
    " ORDER BY c.next_fetch_at",
    ALL,
)

ALL_SOURCES = NamedQuery("all_sources", "sources", "SELECT * FROM c ORDER BY c.id", ALL)

DEFINED_SOURCES = NamedQuery(
    "defined_sources", "sources", "SELECT * FROM c ORDER BY c.id OFFSET 0 LIMIT 500", ALL
)

SOURCE_LIST = ListQuery("sources", "sources", filters={}, sorts=("id",))
