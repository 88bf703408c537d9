"""Every query of the container `locks`."""

from shared.documents.queries.named_query import ALL, NamedQuery

RETRY_LOCKS = "retry-"  # how the ids of those begin that say which copy of a retry does the work

EXPIRED_RETRY_LOCKS = NamedQuery(
    "expired_retry_locks",
    "locks",
    f"SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, '{RETRY_LOCKS}') AND c.expires <= @now",
    ALL,
)
