"""Every query of the container `removals`."""

from shared.documents.queries.named_query import ALL, NamedQuery

UNFINISHED_REMOVALS = NamedQuery(
    "unfinished_removals",
    "removals",
    "SELECT * FROM c WHERE c.status IN ('pending', 'running') AND c.updated_at <= @before",
    ALL,
)

REMOVALS_TO_LOOK_AT_AGAIN = NamedQuery(
    "removals_to_look_at_again",
    "removals",
    "SELECT * FROM c WHERE c.status = 'succeeded' AND c.updated_at <= @before AND c.updated_at > @since"
    " AND IS_STRING(c.finished_at) AND NOT IS_STRING(c.looked_again_at)",
    ALL,
)
