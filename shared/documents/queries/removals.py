"""Every query of the container `removals`."""

from shared.documents.queries.named_query import ALL, NamedQuery

UNFINISHED_REMOVALS = NamedQuery(
    "unfinished_removals",
    "removals",
    "SELECT * FROM c WHERE c.status IN ('pending', 'running') AND c.updated_at <= @before",
    ALL,
)
