"""Every query of the container `placements`."""

from shared.documents.queries.named_query import ALL, ONE, NamedQuery

ACTIVE_PLACEMENTS = NamedQuery(
    "active_placements", "placements", "SELECT c.message_id, c.parent FROM c WHERE NOT c.revoked", ONE
)

PLACEMENTS_OF_SOURCE = NamedQuery("placements_of_source", "placements", "SELECT * FROM c", ONE)

UNAPPLIED_PLACEMENTS = NamedQuery(
    "unapplied_placements", "placements", "SELECT * FROM c WHERE NOT c.applied", ALL
)
