"""Every query of the container `summaries`."""

from shared.documents.queries.conditions import ABOUT_THREAD
from shared.documents.queries.named_query import ALL, ONE, NamedQuery

SUMMARIES_TO_CHECK = NamedQuery("all_summaries", "summaries", "SELECT * FROM c WHERE c._ts <= @before", ALL)

SUMMARY_FLAGS = NamedQuery(
    "summary_flags", "summaries", "SELECT c.id, c.generated_at, c.outdated FROM c", ONE
)

SUMMARIES_ABOUT = NamedQuery(
    "summaries_about", "summaries", f"SELECT c.id, c.scope, c.created_at FROM c WHERE {ABOUT_THREAD}", ALL
)

THREAD_SUMMARIES_MADE_SINCE = NamedQuery(
    "thread_summaries_made_since",
    "summaries",
    "SELECT c.id, c.scope, c.thread_id, c.created_at, c.outdated FROM c"
    " WHERE c.created_at >= @since AND IS_STRING(c.thread_id)",
    ALL,
)

SUMMARY_IDS_OF_SCOPE = NamedQuery("summaries_of", "summaries", "SELECT VALUE c.id FROM c", ONE)

SUMMARIES_OF_THREAD = NamedQuery(
    "summaries_of_thread", "summaries", "SELECT * FROM c WHERE c.thread_id = @id", ALL
)
