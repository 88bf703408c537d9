"""Every query of the container `summaries`."""

from shared.documents.queries.named_query import _ABOUT, NamedQuery

__all__ = ["CURRENT_SUMMARIES", "SUMMARIES", "SUMMARIES_ABOUT", "SUMMARIES_OF"]

SUMMARIES = NamedQuery("all_summaries", "summaries", "SELECT * FROM c WHERE c._ts <= @before")


CURRENT_SUMMARIES = NamedQuery(
    "current_summaries", "summaries", "SELECT c.id, c.generated_at FROM c WHERE NOT c.outdated"
)


SUMMARIES_ABOUT = NamedQuery(
    "summaries_about",
    "summaries",
    f"SELECT c.id, c.scope FROM c WHERE {_ABOUT}",  # noqa: S608
)


SUMMARIES_OF = NamedQuery("summaries_of", "summaries", "SELECT VALUE c.id FROM c")
