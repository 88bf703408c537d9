"""Moves messages to another thread with their chunks and vectors, and finds documents that were moved."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.fence import TurnOverError
from shared.clients.cosmos.lease import THREADING, Lease
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError, OvertakenError
from shared.core.ids import message_key
from shared.documents.base import Document
from shared.documents.containers import read_document
from shared.documents.queries.threads import (
    CHUNKS_BY_ID,
    CHUNKS_OF_THREAD,
    MESSAGES_OF_THREAD,
    THREADS_OF_MESSAGES,
)
from shared.documents.reports import Report, Summary
from shared.documents.threads import Chunk, Message, Thread
from shared.domain.threading.assignment import ThreadState
from shared.pipeline.event_types import ChunksPrepared
from shared.pipeline.lifecycle.archives import was_removed
from shared.pipeline.lifecycle.summaries import all_outdated
from shared.pipeline.lifecycle.threads import merge_finished, messages_left

MAX_REDIRECTS = 50  # a bound, in case damaged documents point to each other


async def resolve_thread(clients: Clients, thread_id: str, session: Session) -> str:
    """The id of the thread that it is part of now: its own, or that of the one it was merged into."""
    for _ in range(MAX_REDIRECTS):
        thread = await clients.store.find(Thread, thread_id, thread_id, session)
        if thread is None or thread.merged_into is None:
            return thread_id
        thread_id = thread.merged_into
    return thread_id


async def absorb(clients: Clients, thread: Thread, session: Session) -> list[Thread]:
    """Fetch the thread's messages from where they were before; the threads that lost some, and still exist.

    The caller holds the lease. A crash on the way leaves `absorbing` here and `losing` there, so that whoever
    comes next goes on, and the losing threads are not summarised before.
    """
    losers: list[Thread] = []
    if not thread.absorbing:
        return losers
    state = ThreadState.from_document(thread.threading)
    keys = {message_key(node, thread.source or "") for node in state.members}
    for old in thread.absorbing:
        await move_messages(clients, old, dict.fromkeys(keys, thread.id), session)
        losers += await _finish_losing(clients, old, thread.id, session)
    await merge_finished(clients.store, thread, session)
    return losers


async def _finish_losing(clients: Clients, old: str, new: str, session: Session) -> list[Thread]:
    await clients.store.catch_up(Thread, [old], session)
    loser = await clients.store.find(Thread, old, old, session)
    if loser is None or loser.merged_into is not None:
        return []
    if new in loser.losing and not await messages_left(clients.store, loser, new, session):
        raise TurnOverError
    return [loser]


async def move_messages(clients: Clients, old: str, new_threads: Mapping[str, str], session: Session) -> None:
    """Move those of these messages (by key) that are in the old thread, then their chunks.

    A stage may have written chunks to the old thread just before: after its write it looks whether the
    messages are still there, and this looks for its chunks after the messages have moved. So one of the two
    sees the other, if both read what is newest.
    """
    await clients.store.catch_up(Message, [old], session)
    found = await clients.store.query_documents(Message, MESSAGES_OF_THREAD, session, partition_value=old)
    await _move(
        clients, [message for message in found if message.id in new_threads], old, new_threads, session
    )
    await move_chunks(clients, old, new_threads, session)
    await outdate_merged(clients, old, session)


async def outdate_merged(clients: Clients, thread_id: str, session: Session) -> None:
    """Where it is merged, its summaries do not hold any more."""
    thread = await clients.store.find(Thread, thread_id, thread_id, session)
    if thread is None or thread.merged_into is not None:
        for model in (Summary, Report):
            await clients.store.catch_up(model, [thread_id], session)
        await all_outdated(clients.store, thread_id, session)


async def move_chunks(clients: Clients, old: str, new_threads: Mapping[str, str], session: Session) -> None:
    await clients.store.catch_up(Chunk, [old], session)
    found = await clients.store.query_documents(Chunk, CHUNKS_OF_THREAD, session, partition_value=old)
    moving = {chunk.id: new_threads[chunk.message_key] for chunk in found if chunk.message_key in new_threads}
    await _move(clients, [chunk for chunk in found if chunk.id in moving], old, moving, session)


async def rescue_chunks(clients: Clients, old: str, session: Session) -> None:
    """Move chunks whose message is not in this thread any more to where it is now."""
    await clients.store.catch_up(Chunk, [old], session)
    found = await clients.store.query_documents(Chunk, CHUNKS_OF_THREAD, session, partition_value=old)
    now = await threads_of_messages(clients, {chunk.message_key for chunk in found}, session)
    await move_chunks(clients, old, {key: thread for key, thread in now.items() if thread != old}, session)


async def threads_of_messages(clients: Clients, keys: Collection[str], session: Session) -> dict[str, str]:
    """Where these messages are now."""
    rows = await clients.store.query_by_ids(THREADS_OF_MESSAGES, sorted(keys), session)
    return {row["id"]: row["thread_id"] for row in rows}


async def _move(
    clients: Clients,
    documents: Sequence[Message] | Sequence[Chunk],
    old: str,
    new_threads: Mapping[str, str],
    session: Session,
) -> None:
    """A chunk's vector is updated before the old chunk goes: it is found by it."""
    if not documents:
        return
    model: type[Document] = type(documents[0])
    moved = [document.model_copy(update={"thread_id": new_threads[document.id]}) for document in documents]
    old_shelf = model.partition_of(old)
    staying = [document for document in moved if model.partition_of(document.thread_id) == old_shelf]
    patches = [Patch(document.id, old, set={"thread_id": document.thread_id}) for document in staying]
    await clients.store.patch_all(model, patches, session)
    leaving = [document for document in moved if model.partition_of(document.thread_id) != old_shelf]
    await clients.store.create_missing(leaving, session)
    await clients.index.upsert(
        [
            {"chunk_id": document.id, "thread_id": document.thread_id}
            for document in moved
            if getattr(document, "embedding_generated", False)
        ]
    )
    await clients.store.delete_all(model, [document.id for document in leaving], old, session)


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
