"""Finds the documents that an event announces: their threads may have been merged, or deleted, since."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.lease import THREADING, Lease
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.documents.base import Document
from shared.documents.chunks import Chunk
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.queries.chunks import CHUNKS_BY_ID
from shared.documents.threads import Thread
from shared.pipeline.event_types import ChunksPrepared
from shared.pipeline.tombstones import was_removed
from shared.threads.merging import follow_merge, resolve_thread

Model = TypeVar("Model", bound=Document)


class ThreadMovedError(DocumentNotFoundError):
    """A thread was merged while its documents were worked on: the stage retries where they are now."""


async def load_following_merges(
    clients: Clients, model: type[Model], thread_of: Mapping[str, str], ids: Sequence[str], session: Session
) -> list[Model]:
    """The announced documents in order. `thread_of` has the thread of each when the event was published."""
    known = [(id_, thread_of[id_]) for id_ in ids if id_ in thread_of]
    found = await clients.store.find_many(model, known, session)
    missing = [(id_, thread) for id_, thread in known if id_ not in found]
    if missing:
        now = {thread: await resolve_thread(clients, thread, session) for thread in {t for _, t in missing}}
        found |= await clients.store.find_many(
            model, [(id_, now[thread]) for id_, thread in missing], session
        )
    absent = [id_ for id_ in ids if id_ not in found]
    if absent:
        raise DocumentNotFoundError(
            f"{len(absent)} of {len(ids)} documents in {model.container} are not there,"
            f" among them {absent[0]}"
        )
    return [found[id_] for id_ in ids]


async def find_unmerged(clients: Clients, thread_ids: set[str], session: Session) -> dict[str, Thread]:
    """The threads about to be written to. ThreadMovedError where one is known to be merged."""
    found = await clients.store.find_many(Thread, [(id_, id_) for id_ in sorted(thread_ids)], session)
    _raise_for([thread.id for thread in found.values() if thread.merged_into is not None])
    return found


async def ensure_not_merged(
    clients: Clients, written: set[str], session: Session, *, named: Iterable[str] = ()
) -> None:
    """ThreadMovedError where a thread was merged while documents were written to it.

    Those documents may have come too late for the merge to move them, so they are moved here. The threads
    that the event names are looked at, too: an earlier delivery of it may have written there, and crashed.
    """
    threads = sorted(written.union(named))
    await clients.store.catch_up(Thread, threads, session)
    found = await clients.store.find_many(Thread, [(id_, id_) for id_ in threads], session)
    merged = [thread.id for thread in found.values() if thread.merged_into is not None]
    if merged:
        async with Lease(clients.store, THREADING, clients.runtime).held(session):
            for old in merged:
                await follow_merge(clients, old, await resolve_thread(clients, old, session), session)
    _raise_for([id_ for id_ in merged if id_ in written])


def _raise_for(moved: Sequence[str]) -> None:
    if moved:
        raise ThreadMovedError(f"{len(moved)} threads were merged into others, among them {moved[0]}")


async def load_retained_chunks(clients: Clients, data: ChunksPrepared, session: Session) -> list[Chunk]:
    """The announced chunks in order; of a deleted archive, only those of messages that other archives have.

    The vectors of the others are deleted here: an earlier delivery may have written them after the removal
    had looked for them.
    """
    if data.archive_id is None or not await was_removed(clients.store, data.archive_id, session):
        thread_of = dict(zip(data.chunk_ids, data.chunk_threads, strict=False))
        return await load_following_merges(clients, Chunk, thread_of, data.chunk_ids, session)
    retained = await _retained_chunks(clients, data.archive_id, data.chunk_ids, session)
    await clients.index.delete([id_ for id_ in data.chunk_ids if id_ not in retained])
    return [retained[id_] for id_ in data.chunk_ids if id_ in retained]


async def _retained_chunks(
    clients: Clients, archive: str, ids: list[str], session: Session
) -> dict[str, Chunk]:
    """In whichever thread: a removal may have split the one that the event names."""
    rows = await clients.store.query_by_ids(CHUNKS_BY_ID, ids, session)
    chunks = [read_document(Chunk, row) for row in rows]
    keys = sorted({(chunk.message_key, chunk.thread_id) for chunk in chunks})
    messages = await clients.store.find_many(Message, keys, session)
    retained = {key for key, message in messages.items() if set(message.archive_ids) - {archive}}
    return {chunk.id: chunk for chunk in chunks if chunk.message_key in retained}
