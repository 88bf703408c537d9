"""The chunks that embedding is asked for, without those that go or went with their archive."""

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.chunks import Chunk
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.queries.chunks import CHUNKS_BY_ID
from shared.pipeline.events.data import ChunksPrepared
from shared.pipeline.tombstones import was_removed
from shared.threads.locating import load_following_merges

__all__ = ["load_retained_chunks"]


async def load_retained_chunks(clients: Clients, data: ChunksPrepared, session: Session) -> list[Chunk]:
    """The announced chunks in order; of a deleted archive, those of messages that others have, too.

    A vector of the rest may have been written when its chunk was gone already: it goes here.
    """
    if data.archive_id is None or not await was_removed(clients.store, data.archive_id, session):
        places = dict(zip(data.chunk_ids, data.chunk_threads, strict=False))
        return await load_following_merges(clients, Chunk, places, data.chunk_ids, session)
    staying = await _staying(clients, data.archive_id, data.chunk_ids, session)
    await clients.index.delete([chunk_id for chunk_id in data.chunk_ids if chunk_id not in staying])
    return [staying[chunk_id] for chunk_id in data.chunk_ids if chunk_id in staying]


async def _staying(clients: Clients, archive: str, ids: list[str], session: Session) -> dict[str, Chunk]:
    """Wherever they are: what is left of a thread may have come apart."""
    rows = await clients.store.query_by_ids(CHUNKS_BY_ID, ids, session)
    chunks = [read_document(Chunk, row) for row in rows]
    keys = sorted({(chunk.message_key, chunk.thread_id) for chunk in chunks})
    messages = await clients.store.find_many(Message, keys, session)
    kept = {key for key, message in messages.items() if set(message.archive_ids) - {archive}}
    return {chunk.id: chunk for chunk in chunks if chunk.message_key in kept}
