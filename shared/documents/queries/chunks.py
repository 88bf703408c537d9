"""Every query of the container `chunks`."""

from shared.documents.queries.named_query import _OF_OTHER_MODELS, NamedQuery

__all__ = [
    "ALL_CHUNK_THREADS",
    "ANYWHERE",
    "CHUNKS",
    "CHUNKS_ANYWHERE",
    "CHUNKS_OF_MESSAGES",
    "CHUNKS_OF_OTHER_MODELS",
    "CHUNKS_OF_THREAD",
    "CHUNK_BIRTHS",
    "CHUNK_STATES",
    "CHUNK_TEXTS",
    "CHUNK_THREADS",
    "EMBEDDED_CHUNKS",
    "OTHER_MODELS",
    "THREAD_CHUNKS",
]

CHUNKS = NamedQuery(
    "held_chunks",
    "chunks",
    "SELECT c.id, c.message_key, c.token_count, c.archive_id, c.attemptCount, c.embedding_generated, c._ts"
    " FROM c",
)


ALL_CHUNK_THREADS = NamedQuery(
    "chunk_homes", "chunks", "SELECT c.id, c.thread_id, c.message_key, c._ts FROM c WHERE c._ts <= @before"
)


CHUNK_TEXTS = NamedQuery(
    "chunk_texts", "chunks", "SELECT c.id, c.text FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"
)


ANYWHERE = NamedQuery(
    "chunks_anywhere", "chunks", "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"
)


CHUNKS_OF_THREAD = NamedQuery("chunks_of_thread", "chunks", "SELECT * FROM c")


CHUNK_STATES = NamedQuery("chunk_states", "chunks", "SELECT c.id, c.status, c.embedding_generated FROM c")


CHUNKS_OF_MESSAGES = NamedQuery(
    "chunks_of_messages", "chunks", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.message_key)"
)


CHUNK_BIRTHS = NamedQuery(
    "chunk_births",
    "chunks",
    "SELECT c.id, c.thread_id, c.created_at FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
)


CHUNKS_OF_OTHER_MODELS = NamedQuery("chunks_of_other_models", "chunks", f"SELECT * {_OF_OTHER_MODELS}")


OTHER_MODELS = NamedQuery("other_models", "chunks", f"SELECT VALUE COUNT(1) {_OF_OTHER_MODELS}")


EMBEDDED_CHUNKS = NamedQuery(
    "embedded_chunks", "chunks", "SELECT VALUE COUNT(1) FROM c WHERE c.embedding_generated = true"
)


CHUNK_THREADS = NamedQuery(
    "chunk_threads", "chunks", "SELECT VALUE c.thread_id FROM c WHERE c.archive_id = @archive"
)


CHUNKS_ANYWHERE = NamedQuery("chunks_anywhere", "chunks", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)")


THREAD_CHUNKS = NamedQuery(
    "thread_chunks", "chunks", "SELECT c.id, c.message_key, c.archive_id, c.embedding_generated FROM c"
)
