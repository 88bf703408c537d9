"""Every query of the container `thread_index`."""

from shared.documents.queries.named_query import NamedQuery

__all__ = ["ENTRIES", "ENTRIES_OF_BUCKET", "THREAD_ENTRIES"]

ENTRIES = NamedQuery(
    "all_entries", "thread_index", "SELECT c.id, c.bucket, c.threads FROM c WHERE c._ts <= @before"
)


ENTRIES_OF_BUCKET = NamedQuery("entries_of_bucket", "thread_index", "SELECT c.id, c.bucket, c.threads FROM c")


THREAD_ENTRIES = NamedQuery(
    "thread_entries",
    "thread_index",
    "SELECT c.id, c.bucket, c.threads FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)
