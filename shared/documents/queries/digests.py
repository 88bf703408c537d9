"""Every query of the container `digests`."""

from shared.documents.queries.named_query import ALL, NamedQuery

TOUCHED_DIGESTS = NamedQuery(
    "touched_digests",
    "digests",
    "SELECT c.scope FROM c WHERE c.touches > c.made ORDER BY c._ts OFFSET 0 LIMIT @limit",
    ALL,
)
