"""Every query of the container `corrections`."""

from shared.documents.queries.named_query import ALL, NamedQuery

CORRECTIONS_OF_MESSAGES = NamedQuery(
    "corrections_of_messages",
    "corrections",
    "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.message_id)",
    ALL,
)

ACTIVE_CORRECTIONS = NamedQuery(
    "active_corrections", "corrections", "SELECT * FROM c WHERE NOT c.revoked", ALL
)
