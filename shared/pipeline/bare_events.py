"""Completion of events that have only the required fields.

The app's own events also name threads, versions and summaries.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.models.queries.threads import CHUNKS_BY_ID, THREADS_OF_MESSAGES
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline.event_types import (
    ChunksPrepared,
    EmbeddingsGenerated,
    EventData,
    JSONParsed,
    SummarizationRequested,
    SummaryComplete,
)
from shared.pipeline.readiness import ready_thread

QUERIES = {Message: THREADS_OF_MESSAGES, Chunk: CHUNKS_BY_ID}
Rows = dict[str, dict[str, Any]]


async def fill_in(data: EventData, clients: Clients, session: Session) -> EventData:
    """Look up the optional fields that the event lacks. A missing document leaves its field empty."""
    match data:
        case JSONParsed() if not data.message_threads:
            messages = await _rows(Message, data.message_keys, clients, session)
            return data.model_copy(
                update={"message_threads": _each(messages, data.message_keys, "thread_id")}
            )
        case ChunksPrepared() if not data.thread_ids:
            chunks = await _rows(Chunk, data.chunk_ids, clients, session)
            messages = await _rows(Message, data.message_keys, clients, session)
            threads = _each(chunks, data.chunk_ids, "thread_id")
            more = {
                "chunk_threads": threads,
                "chunk_messages": _each(chunks, data.chunk_ids, "message_key"),
                "thread_ids": _distinct([*threads, *_each(messages, data.message_keys, "thread_id")]),
                "archive_id": next((row["archive_id"] for row in chunks.values()), data.archive_id),
            }
            return data.model_copy(update=more)
        case EmbeddingsGenerated() if not data.named_threads():
            chunks = await _rows(Chunk, data.chunk_ids, clients, session)
            threads = _distinct(_each(chunks, data.chunk_ids, "thread_id"))
            if not threads:
                raise DocumentNotFoundError(f"none of {len(data.chunk_ids)} chunks exists")
            return data.model_copy(update={"thread_ids": threads})
        case SummarizationRequested() if not data.content_hashes:
            ready = [await ready_thread(clients, id_, session) for id_ in data.thread_ids]
            return data.model_copy(
                update={"content_hashes": [found.version if found else "" for found in ready]}
            )
        case SummaryComplete() if data.summary_id is None:
            await clients.store.refresh(Thread, session)
            thread = await clients.store.find(Thread, data.thread_id, session)
            if thread is None or thread.summary_id is None:
                raise DocumentNotFoundError(f"thread {data.thread_id} does not exist, or has no summary")
            return data.model_copy(update={"summary_id": thread.summary_id})
    return data


async def _rows(model: type[Message | Chunk], ids: Sequence[str], clients: Clients, session: Session) -> Rows:
    """Return the rows by id. The event has no session token of its publisher, so read at the primary."""
    await clients.store.refresh(model, session)
    return {row["id"]: row for row in await clients.store.query_by_ids(QUERIES[model], ids, session)}


def _each(rows: Rows, ids: Iterable[str], name: str) -> list[str]:
    return [rows[id_][name] if id_ in rows else "" for id_ in ids]


def _distinct(ids: Iterable[str]) -> list[str]:
    return sorted({*ids} - {""})
