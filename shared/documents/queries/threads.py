"""Every query of the container `threads`."""

from shared.documents.queries.named_query import _OF, _OF_DIGESTS, NamedQuery

__all__ = [
    "REDIRECTS_TO",
    "THREADS",
    "THREADS_BY_NAME",
    "THREADS_OF_ARCHIVE",
    "THREADS_OF_DRAFT",
    "THREADS_WITHIN",
]

THREADS = NamedQuery(
    "all_threads",
    "threads",
    "SELECT c.id, c.message_count, c.archive_ids, c._ts FROM c WHERE NOT IS_STRING(c.merged_into)",
)


THREADS_WITHIN = NamedQuery(
    "threads_within",
    "threads",
    _OF_DIGESTS + " AND ARRAY_CONTAINS(c.sources, @source)"
    " AND c.first_message_date < @end AND c.last_message_date >= @start",
)


THREADS_OF_DRAFT = NamedQuery(
    "threads_of_draft",
    "threads",
    _OF_DIGESTS  # noqa: S608 - texts of ours; values are parameters
    + " AND EXISTS(SELECT VALUE m FROM m IN c.draft_mentions"
    " WHERE m = @draft OR (STARTSWITH(m, @version) AND LENGTH(m) = @length))",
)


THREADS_BY_NAME = NamedQuery("threads_by_name", "threads", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")


THREADS_OF_ARCHIVE = NamedQuery("threads_of_archive", "threads", f"SELECT VALUE c.id FROM c WHERE {_OF}")  # noqa: S608


REDIRECTS_TO = NamedQuery("signposts_to", "threads", "SELECT VALUE c.id FROM c WHERE c.merged_into = @thread")
