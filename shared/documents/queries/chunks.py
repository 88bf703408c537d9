"""Every query of the container `chunks`."""

from shared.documents.queries.conditions import OF_ARCHIVE
from shared.documents.queries.list_query import ListQuery
from shared.documents.queries.named_query import ALL, ONE, NamedQuery

_OF_OTHER_MODELS = "FROM c WHERE c.embedding_generated = true AND c.embedding_model != @model"

CHUNKS_TO_CHECK = NamedQuery(
    "held_chunks",
    "chunks",
    "SELECT c.id, c.message_key, c.token_count, c.archive_id, c.attemptCount, c.embedding_generated, c._ts"
    " FROM c",
    ONE,
)

ALL_CHUNK_THREADS = NamedQuery(
    "chunk_homes",
    "chunks",
    "SELECT c.id, c.thread_id, c.message_key, c._ts FROM c WHERE c._ts <= @before",
    ALL,
)

CHUNK_TEXTS = NamedQuery(
    "chunk_texts", "chunks", "SELECT c.id, c.text FROM c WHERE ARRAY_CONTAINS(@ids, c.id)", ONE
)

EXISTING_CHUNK_IDS = NamedQuery(
    "existing_chunks", "chunks", "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)", ALL
)

CHUNKS_OF_THREAD = NamedQuery("chunks_of_thread", "chunks", "SELECT * FROM c", ONE)

CHUNK_STATES = NamedQuery(
    "chunk_states", "chunks", "SELECT c.id, c.status, c.embedding_generated FROM c", ONE
)

CHUNKS_OF_MESSAGES = NamedQuery(
    "chunks_of_messages", "chunks", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.message_key)", ALL
)

CHUNK_CREATION_TIMES = NamedQuery(
    "chunk_births",
    "chunks",
    "SELECT c.id, c.thread_id, c.created_at, c.archive_id, c.archive_ids FROM c"
    " WHERE ARRAY_CONTAINS(@ids, c.id)",
    ALL,
)

CHUNKS_OF_OTHER_MODELS = NamedQuery("chunks_of_other_models", "chunks", f"SELECT * {_OF_OTHER_MODELS}", ALL)

COUNT_OF_OTHER_MODELS = NamedQuery("other_models", "chunks", f"SELECT VALUE COUNT(1) {_OF_OTHER_MODELS}", ALL)

COUNT_OF_EMBEDDED_CHUNKS = NamedQuery(
    "embedded_chunks", "chunks", "SELECT VALUE COUNT(1) FROM c WHERE c.embedding_generated = true", ALL
)

CHUNK_THREADS_OF_ARCHIVE = NamedQuery(
    "chunk_threads", "chunks", f"SELECT VALUE c.thread_id FROM c WHERE {OF_ARCHIVE}", ALL
)

CHUNKS_BY_ID = NamedQuery(
    "chunks_anywhere", "chunks", "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)", ALL
)

CHUNK_ARCHIVES_OF_THREAD = NamedQuery(
    "thread_chunks",
    "chunks",
    "SELECT c.id, c.message_key, c.archive_id, c.archive_ids, c.embedding_generated FROM c",
    ONE,
)

CHUNK_LIST = ListQuery(
    "chunks",
    "chunks",
    filters={"thread": "c.thread_id = @thread", "message": "c.message_key = @message"},
    sorts=("message_key",),
)
