"""Every query of the container `thread_index`."""

from shared.documents.queries.named_query import ALL, ONE, NamedQuery

ENTRIES_TO_CHECK = NamedQuery(
    "all_entries", "thread_index", "SELECT c.id, c.bucket, c.threads FROM c WHERE c._ts <= @before", ALL
)

ENTRIES_OF_BUCKET = NamedQuery(
    "entries_of_bucket", "thread_index", "SELECT c.id, c.bucket, c.threads, c._etag FROM c", ONE
)

THREAD_ENTRIES = NamedQuery(
    "thread_entries",
    "thread_index",
    "SELECT c.id, c.bucket, c.threads, c._etag FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
    ALL,
)
