"""When a message that has chunks is chunked again: what is stored follows what the message says now."""

from collections.abc import Collection, Sequence
from datetime import datetime

from pydantic import TypeAdapter

from shared.clients.connections import Clients
from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.documents.base import UtcTime
from shared.documents.chunks import Chunk
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.queries.chunks import CHUNK_CREATION_TIMES, CHUNKS_OF_MESSAGES
from shared.documents.queries.messages import STORED_MESSAGES
from shared.pipeline.lifecycle.chunks import chunks_reset

__all__ = [
    "ChunkReplacedError",
    "MessageReplacedError",
    "check_variants",
    "ensure_texts_unchanged",
    "sync_stored_chunks",
]

_TIME: TypeAdapter[datetime] = TypeAdapter(UtcTime)
INDEXED = {
    "sender": "sender",
    "sender_name": "sender_name",
    "date": "date",
    "subject": "subject",
    "draft_mentions": "draft_mentions",
}


class MessageReplacedError(DocumentNotFoundError):
    """A message got other content while its chunks were written: they are made again."""


class ChunkReplacedError(DocumentNotFoundError):
    """A chunk got another text while it was embedded: it is embedded again."""


async def sync_stored_chunks(
    clients: Clients,
    messages: Sequence[Message],
    chunks: Sequence[Chunk],
    created: Collection[str],
    session: Session,
) -> None:
    """Chunks that were there already are compared with what they should be."""
    wanted = {chunk.id: chunk for chunk in chunks}
    fresh = {chunk.message_key for chunk in chunks} - {e.message_key for e in chunks if e.id not in created}
    again = [message.id for message in messages if message.id not in fresh]
    places = {message.id: message.thread_id for message in messages}
    found = await clients.store.query_by_ids(CHUNKS_OF_MESSAGES, again, session)
    stored = [read_document(Chunk, row) for row in found]
    here = [chunk for chunk in stored if chunk.thread_id == places[chunk.message_key]]
    await _remove([chunk for chunk in here if chunk.id not in wanted], clients, session)
    await _follow([(chunk, wanted[chunk.id]) for chunk in here if chunk.id in wanted], clients, session)


async def _remove(chunks: Sequence[Chunk], clients: Clients, session: Session) -> None:
    """The vector first: a chunk without one is found again, a vector without its chunk is not."""
    await clients.index.delete([chunk.id for chunk in chunks])
    for chunk in chunks:
        await clients.store.delete(Chunk, chunk.id, chunk.thread_id, session)


async def _follow(pairs: Sequence[tuple[Chunk, Chunk]], clients: Clients, session: Session) -> None:
    other_text = [new for old, new in pairs if (old.text, old.token_count) != (new.text, new.token_count)]
    await clients.store.upsert_all(other_text, session)
    same = [(old, new) for old, new in pairs if (old.text, old.token_count) == (new.text, new.token_count)]
    changed = [(old, new) for old, new in same if _about(old) != _about(new)]
    patches = [Patch(new.id, new.thread_id, set=_about(new)) for _, new in changed]
    await clients.store.patch_all(Chunk, patches, session)
    await clients.index.upsert([_indexed(new) for old, new in changed if old.embedding_generated])


def _about(chunk: Chunk) -> dict[str, object]:
    """What may differ without the text."""
    return {
        "archive_id": chunk.archive_id,
        "start_offset": chunk.start_offset,
        "end_offset": chunk.end_offset,
        "metadata": chunk.metadata,
    }


def _indexed(chunk: Chunk) -> dict[str, object]:
    about = {field: chunk.metadata.get(name) for field, name in INDEXED.items()}
    return {"chunk_id": chunk.id, "archive_id": chunk.archive_id, **about}


async def check_variants(clients: Clients, messages: Sequence[Message], session: Session) -> None:
    """What was written for content that is no longer there would stay."""
    stored = await clients.store.query_by_ids(STORED_MESSAGES, [message.id for message in messages], session)
    now = {(row["id"], row["thread_id"]): row["variant"] for row in stored}
    replaced = [
        message.id
        for message in messages
        if now.get((message.id, message.thread_id), message.variant) != message.variant
    ]
    if replaced:
        raise MessageReplacedError(f"{len(replaced)} messages were replaced, among them {replaced[0]}")


async def ensure_texts_unchanged(clients: Clients, chunks: Sequence[Chunk], session: Session) -> None:
    """A chunk that was written anew while it was embedded may have the old text's vector as its own."""
    stored = await clients.store.query_by_ids(CHUNK_CREATION_TIMES, [chunk.id for chunk in chunks], session)
    now = {
        (row["id"], row["thread_id"]): _TIME.validate_python(row["created_at"])
        for row in stored
        if row.get("created_at")
    }
    born = {(chunk.id, chunk.thread_id): chunk.created_at for chunk in chunks}
    replaced = [place for place, at in born.items() if now.get(place, at) != at]
    if replaced:
        await chunks_reset(clients.store, replaced, session)
        raise ChunkReplacedError(f"{len(replaced)} chunks were replaced, among them {replaced[0][0]}")
