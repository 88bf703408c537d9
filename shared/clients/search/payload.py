"""A chunk as the index holds it: the payload that R-212 lists, and what links back to its documents."""

from typing import Any

from shared.clients.search.names import VECTOR_FIELD
from shared.documents.threads import Chunk, Thread


def archives_of_chunk(chunk: Chunk) -> dict[str, Any]:
    """All the archives that it can be found by."""
    return {"archive_id": chunk.archive_id, "archive_ids": chunk.archive_ids or [chunk.archive_id]}


def indexed_chunk(
    chunk: Chunk, vector: list[float], thread: Thread | None, model: str, now: str
) -> dict[str, Any]:
    return {
        "chunk_id": chunk.id,
        "message_key": chunk.message_key,
        "message_id": chunk.message_id,
        "thread_id": chunk.thread_id,
        **archives_of_chunk(chunk),
        "source": None if thread is None else thread.source,
        "chunk_index": chunk.chunk_index,
        "text": chunk.text,
        "sender": chunk.metadata.get("sender"),
        "sender_name": chunk.metadata.get("sender_name"),
        "date": chunk.metadata.get("date"),
        "subject": chunk.metadata.get("subject"),
        "draft_mentions": chunk.metadata.get("draft_mentions", []),
        "token_count": chunk.token_count,
        "embedding_model": model,
        "embedding_date": now,
        VECTOR_FIELD: vector,
    }
