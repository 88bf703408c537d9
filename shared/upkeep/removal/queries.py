"""What of an archive or a source is where."""

from shared.documents.queries.named_query import NamedQuery

__all__ = [
    "ARCHIVES_OF_SOURCE",
    "CHUNKS_ANYWHERE",
    "CHUNK_THREADS",
    "FAILURES_OF_ARCHIVE",
    "FAILURES_OF_THREAD",
    "MESSAGE_PLACES",
    "MESSAGE_THREADS",
    "REPORTS_ABOUT",
    "REPORTS_OF",
    "SIGNPOSTS_TO",
    "SUMMARIES_ABOUT",
    "SUMMARIES_OF",
    "THREADS_OF_ARCHIVE",
    "THREAD_CHUNKS",
    "UNFINISHED",
]

_OF = "(c.archive_id = @archive OR ARRAY_CONTAINS(c.archive_ids, @archive))"
_ABOUT = "(c.scope = @thread OR ARRAY_CONTAINS(c.thread_ids, @thread))"

THREADS_OF_ARCHIVE = NamedQuery("threads_of_archive", "threads", f"SELECT VALUE c.id FROM c WHERE {_OF}")  # noqa: S608
MESSAGE_THREADS = NamedQuery(
    "message_threads",
    "messages",
    f"SELECT VALUE c.thread_id FROM c WHERE {_OF}",  # noqa: S608
)
CHUNK_THREADS = NamedQuery(
    "chunk_threads", "chunks", "SELECT VALUE c.thread_id FROM c WHERE c.archive_id = @archive"
)
CHUNKS_ANYWHERE = NamedQuery("chunks_anywhere", "chunks", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")
MESSAGE_PLACES = NamedQuery(
    "message_places", "messages", "SELECT c.id, c.archive_id, c.archive_ids FROM c WHERE c.thread_id = @place"
)
THREAD_CHUNKS = NamedQuery(
    "thread_chunks", "chunks", "SELECT c.id, c.message_key, c.archive_id, c.embedding_generated FROM c"
)
SUMMARIES_ABOUT = NamedQuery(
    "summaries_about",
    "summaries",
    f"SELECT c.id, c.scope FROM c WHERE {_ABOUT}",  # noqa: S608
)
REPORTS_ABOUT = NamedQuery("reports_about", "reports", f"SELECT c.id, c.scope FROM c WHERE {_ABOUT}")  # noqa: S608
FAILURES_OF_ARCHIVE = NamedQuery(
    "failures_of_archive",
    "failures",
    "SELECT c.id, c.stage FROM c WHERE c.original_event.data.archive_id = @archive",
)
FAILURES_OF_THREAD = NamedQuery(
    "failures_of_thread",
    "failures",
    "SELECT c.id, c.stage FROM c WHERE c.original_event.data.thread_id = @thread"
    " OR ARRAY_CONTAINS(c.original_event.data.thread_ids, @thread)"
    " OR ARRAY_CONTAINS(c.original_event.data.chunk_threads, @thread)",
)
SUMMARIES_OF = NamedQuery("summaries_of", "summaries", "SELECT VALUE c.id FROM c")
REPORTS_OF = NamedQuery("reports_of", "reports", "SELECT VALUE c.id FROM c")
SIGNPOSTS_TO = NamedQuery("signposts_to", "threads", "SELECT VALUE c.id FROM c WHERE c.merged_into = @thread")
ARCHIVES_OF_SOURCE = NamedQuery(
    "archives_of_source", "archives", "SELECT VALUE c.id FROM c WHERE c.source = @source"
)
UNFINISHED = NamedQuery(
    "unfinished_removals",
    "removals",
    "SELECT * FROM c WHERE c.status IN ('pending', 'running') AND c.updated_at <= @before",
)
