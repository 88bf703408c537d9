"""When a message that has chunks is chunked again: what is stored follows what the message says now."""

from collections.abc import Collection, Sequence
from datetime import datetime

from pydantic import TypeAdapter

from shared.clients.connections import Clients
from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.documents.base import ProcessingStatus, UtcTime
from shared.documents.chunks import Chunk
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.queries.chunks import CHUNK_CREATION_TIMES, CHUNKS_OF_MESSAGES
from shared.documents.queries.messages import STORED_MESSAGES

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
    wanted = {each.id: each for each in chunks}
    fresh = {each.message_key for each in chunks} - {e.message_key for e in chunks if e.id not in created}
    again = [each.id for each in messages if each.id not in fresh]
    places = {each.id: each.thread_id for each in messages}
    found = await clients.store.query_by_ids(CHUNKS_OF_MESSAGES, again, session)
    stored = [read_document(Chunk, each) for each in found]
    here = [each for each in stored if each.thread_id == places[each.message_key]]
    await _remove([each for each in here if each.id not in wanted], clients, session)
    await _follow([(each, wanted[each.id]) for each in here if each.id in wanted], clients, session)


async def _remove(chunks: Sequence[Chunk], clients: Clients, session: Session) -> None:
    """The vector first: a chunk without one is found again, a vector without its chunk is not."""
    await clients.index.delete([each.id for each in chunks])
    for each in chunks:
        await clients.store.delete(Chunk, each.id, each.thread_id, session)


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
    stored = await clients.store.query_by_ids(STORED_MESSAGES, [each.id for each in messages], session)
    now = {(each["id"], each["thread_id"]): each["variant"] for each in stored}
    replaced = [
        each.id for each in messages if now.get((each.id, each.thread_id), each.variant) != each.variant
    ]
    if replaced:
        raise MessageReplacedError(f"{len(replaced)} messages were replaced, among them {replaced[0]}")


async def ensure_texts_unchanged(clients: Clients, chunks: Sequence[Chunk], session: Session) -> None:
    """A chunk that was written anew while it was embedded may have the old text's vector as its own."""
    stored = await clients.store.query_by_ids(CHUNK_CREATION_TIMES, [each.id for each in chunks], session)
    now = {
        (each["id"], each["thread_id"]): _TIME.validate_python(each["created_at"])
        for each in stored
        if each.get("created_at")
    }
    born = {(each.id, each.thread_id): each.created_at for each in chunks}
    replaced = [place for place, at in born.items() if now.get(place, at) != at]
    if replaced:
        undone = {
            "embedding_generated": False,
            "embedding_model": None,
            "status": ProcessingStatus.PENDING.value,
        }
        patches = [Patch(id_, thread, set=undone) for id_, thread in replaced]
        await clients.store.patch_all(Chunk, patches, session)
        raise ChunkReplacedError(f"{len(replaced)} chunks were replaced, among them {replaced[0][0]}")
