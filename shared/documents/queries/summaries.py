"""Every query of the container `summaries`."""

from shared.documents.queries.conditions import ABOUT_THREAD
from shared.documents.queries.named_query import NamedQuery, Partitions

__all__ = [
    "SUMMARIES_ABOUT",
    "SUMMARIES_OF_THREAD",
    "SUMMARIES_TO_CHECK",
    "SUMMARY_FLAGS",
    "SUMMARY_IDS_OF_SCOPE",
]

SUMMARIES_TO_CHECK = NamedQuery(
    "all_summaries", "summaries", "SELECT * FROM c WHERE c._ts <= @before", Partitions.ALL
)

SUMMARY_FLAGS = NamedQuery(
    "summary_flags",
    "summaries",
    "SELECT c.id, c.generated_at, c.outdated FROM c",
    Partitions.ONE,
)

SUMMARIES_ABOUT = NamedQuery(
    "summaries_about",
    "summaries",
    f"SELECT c.id, c.scope FROM c WHERE {ABOUT_THREAD}",
    Partitions.ALL,
)

SUMMARY_IDS_OF_SCOPE = NamedQuery("summaries_of", "summaries", "SELECT VALUE c.id FROM c", Partitions.ONE)

SUMMARIES_OF_THREAD = NamedQuery(
    "summaries_of_thread", "summaries", "SELECT * FROM c WHERE c.thread_id = @id", Partitions.ALL
)
