"""Finds the documents that an event announces: their threads may have been merged, or deleted, since."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.lease import THREADING, Lease
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError, OvertakenError
from shared.documents.base import Document
from shared.documents.containers import read_document
from shared.documents.queries.threads import CHUNKS_BY_ID, THREADS_OF_MESSAGES
from shared.documents.threads import Chunk, Message, Thread
from shared.pipeline.event_types import ChunksPrepared
from shared.pipeline.tombstones import was_removed
from shared.threads.merging import outdate_merged, rescue_chunks

Model = TypeVar("Model", bound=Document)
_BY_ID = {Message.container: THREADS_OF_MESSAGES, Chunk.container: CHUNKS_BY_ID}


class ThreadMovedError(OvertakenError):
    """Messages were moved to another thread while they were worked on: the stage retries where they are."""


async def load_following_merges(
    clients: Clients, model: type[Model], thread_of: Mapping[str, str], ids: Sequence[str], session: Session
) -> list[Model]:
    """The announced documents in order. `thread_of` has the thread of each when the event was published."""
    known = [(id_, thread_of[id_]) for id_ in ids if id_ in thread_of]
    found = await _find_in_place(clients, model, known, session)
    missing = [id_ for id_, _ in known if id_ not in found]
    if missing:
        rows = await clients.store.query_by_ids(_BY_ID[model.container], missing, session)
        found |= await _find_in_place(
            clients, model, [(row["id"], row["thread_id"]) for row in rows], session
        )
    absent = [id_ for id_ in ids if id_ not in found]
    if absent:
        raise DocumentNotFoundError(
            f"{len(absent)} of {len(ids)} documents in {model.container} are not there,"
            f" among them {absent[0]}"
        )
    return [found[id_] for id_ in ids]


async def _find_in_place(
    clients: Clients, model: type[Model], places: Sequence[tuple[str, str]], session: Session
) -> dict[str, Model]:
    """Those that are in these threads. One that moved within its partition is in another."""
    found = await clients.store.find_many(model, places, session)
    thread_of = dict(places)
    return {id_: document for id_, document in found.items() if document.partition_value == thread_of[id_]}


async def find_unmerged(clients: Clients, thread_ids: set[str], session: Session) -> dict[str, Thread]:
    """The threads about to be written to. ThreadMovedError where one is known to be merged.

    Then something of it is still there, or nobody would be about to write: it is moved first.
    """
    found = await clients.store.find_many(Thread, [(id_, id_) for id_ in sorted(thread_ids)], session)
    merged = sorted(thread.id for thread in found.values() if thread.merged_into is not None)
    if merged:
        async with Lease(clients.store, THREADING, clients.runtime).held(session):
            for old in merged:
                await rescue_chunks(clients, old, session)
    _raise_for(merged)
    return found


async def ensure_in_place(
    clients: Clients,
    written: Iterable[tuple[str, str]],
    session: Session,
    *,
    named: Iterable[tuple[str, str]] = (),
) -> None:
    """ThreadMovedError where messages (key and thread) were moved while their chunks were written.

    Those chunks may have come too late for the move to take them along, so they are moved here. The threads
    that the event names are looked at, too: an earlier delivery of it may have written there, and crashed.
    """
    own = set(written)
    places = sorted(own.union(named))
    await clients.store.catch_up(Message, {thread for _, thread in places}, session)
    in_place = await _in_place(clients, places, session)
    moved = [place for place in places if place not in in_place]
    if moved:
        async with Lease(clients.store, THREADING, clients.runtime).held(session):
            for old in sorted({thread for _, thread in moved}):
                await rescue_chunks(clients, old, session)
                await outdate_merged(clients, old, session)
    _raise_for([thread for key, thread in moved if (key, thread) in own])


async def _in_place(
    clients: Clients, places: Sequence[tuple[str, str]], session: Session
) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    by_thread: dict[str, list[tuple[str, str]]] = {}
    for place in places:
        by_thread.setdefault(place[1], []).append(place)
    for group in by_thread.values():  # a message may be asked for in two threads
        found |= {(id_, group[0][1]) for id_ in await _find_in_place(clients, Message, group, session)}
    return found


def _raise_for(moved: Sequence[str]) -> None:
    if moved:
        raise ThreadMovedError(f"{len(moved)} messages or threads were moved, among them {moved[0]}")


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
