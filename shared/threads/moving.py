"""Finds the documents of threads, and moves them to another thread with their chunks and vectors.

A document is created in the new partition before it is deleted from the old one: a crash leaves two copies,
and the same move again removes the first. A thread of which nothing is left stays as a redirect
(`merged_into`), and its summaries become outdated.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.lease import THREADING, Lease
from shared.clients.cosmos.session import Patch, Session, TurnOverError
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

Model = TypeVar("Model", bound=Document)
MAX_REDIRECTS = 50  # damaged documents may point to each other
_BY_ID = {Message.container: THREADS_OF_MESSAGES, Chunk.container: CHUNKS_BY_ID}


class ThreadMovedError(OvertakenError):
    """Messages were moved to another thread while they were worked on: the stage retries where they are."""


async def load_messages(clients: Clients, thread_id: str, session: Session) -> list[Message]:
    return await clients.store.query_documents(
        Message, MESSAGES_OF_THREAD, session, partition_value=thread_id
    )


async def load_chunks(clients: Clients, thread_id: str, session: Session) -> list[Chunk]:
    return await clients.store.query_documents(Chunk, CHUNKS_OF_THREAD, session, partition_value=thread_id)


async def resolve_thread(clients: Clients, thread_id: str, session: Session) -> str:
    """The id of the thread that it is part of now: its own, or that of the thread it was merged into."""
    for _ in range(MAX_REDIRECTS):
        thread = await clients.store.find(Thread, thread_id, thread_id, session)
        if thread is None or thread.merged_into is None:
            return thread_id
        thread_id = thread.merged_into
    return thread_id


async def absorb(clients: Clients, thread: Thread, session: Session) -> list[Thread]:
    """Move the thread's messages to it. Return the threads that lost some, and still exist.

    The caller holds the lease. After a crash `absorbing` here and `losing` there have the next caller go on,
    and the losing threads are not summarized before.
    """
    losers: list[Thread] = []
    if not thread.absorbing:
        return losers
    state = ThreadState.from_document(thread.threading)
    keys = {message_key(node, thread.source or "") for node in state.members}
    for old in thread.absorbing:
        await move_messages(clients, old, dict.fromkeys(keys, thread.id), session)
        await clients.store.catch_up(Thread, [old], session)
        loser = await clients.store.find(Thread, old, old, session)
        if loser is None or loser.merged_into is not None:
            continue
        if thread.id in loser.losing and not await messages_left(clients.store, loser, thread.id, session):
            raise TurnOverError
        losers.append(loser)
    await merge_finished(clients.store, thread, session)
    return losers


async def move_messages(clients: Clients, old: str, new_threads: Mapping[str, str], session: Session) -> None:
    """Move those of these messages (by key) that are in the old thread, then their chunks.

    A stage that writes chunks there looks for the messages after its write, and this looks for chunks after
    the messages have moved. So one of the two sees the other, if both read the latest.
    """
    await clients.store.catch_up(Message, [old], session)
    found = await load_messages(clients, old, session)
    moving = [message for message in found if message.id in new_threads]
    await _move(clients, moving, old, new_threads, session)
    await move_chunks(clients, old, new_threads, session)
    await outdate_merged(clients, old, session)


async def outdate_merged(clients: Clients, thread_id: str, session: Session) -> None:
    """Mark the summaries of a thread that was merged as outdated."""
    thread = await clients.store.find(Thread, thread_id, thread_id, session)
    if thread is None or thread.merged_into is not None:
        for model in (Summary, Report):
            await clients.store.refresh(model, session)
        await all_outdated(clients.store, thread_id, session)


async def move_chunks(clients: Clients, old: str, new_threads: Mapping[str, str], session: Session) -> None:
    await clients.store.refresh(Chunk, session)
    found = await load_chunks(clients, old, session)
    moving = {chunk.id: new_threads[chunk.message_key] for chunk in found if chunk.message_key in new_threads}
    await _move(clients, [chunk for chunk in found if chunk.id in moving], old, moving, session)


async def rescue_chunks(clients: Clients, old: str, session: Session) -> None:
    """Move chunks whose message is not in this thread any more to the thread that it is in."""
    await clients.store.refresh(Chunk, session)
    found = await load_chunks(clients, old, session)
    now = await threads_of_messages(clients, {chunk.message_key for chunk in found}, session)
    await move_chunks(clients, old, {key: thread for key, thread in now.items() if thread != old}, session)


async def threads_of_messages(clients: Clients, keys: Collection[str], session: Session) -> dict[str, str]:
    """The threads that these messages are in now."""
    rows = await clients.store.query_by_ids(THREADS_OF_MESSAGES, sorted(keys), session)
    return {row["id"]: row["thread_id"] for row in rows}


async def _move(
    clients: Clients,
    documents: Sequence[Message] | Sequence[Chunk],
    old: str,
    new_threads: Mapping[str, str],
    session: Session,
) -> None:
    """A chunk's vector is updated before the old chunk is deleted, by which it is found."""
    if not documents:
        return
    model: type[Document] = type(documents[0])
    moved = [document.model_copy(update={"thread_id": new_threads[document.id]}) for document in documents]
    here = model.partition_of(old)
    staying = [document for document in moved if model.partition_of(document.thread_id) == here]
    patches = [Patch(document.id, old, set={"thread_id": document.thread_id}) for document in staying]
    await clients.store.patch_all(model, patches, session)
    leaving = [document for document in moved if model.partition_of(document.thread_id) != here]
    await clients.store.create_missing(leaving, session)
    indexed = [document for document in moved if getattr(document, "embedding_generated", False)]
    labels = [{"chunk_id": document.id, "thread_id": document.thread_id} for document in indexed]
    await clients.index.upsert(labels)
    await clients.store.delete_all(model, [document.id for document in leaving], old, session)


async def load_following_merges(
    clients: Clients, model: type[Model], thread_of: Mapping[str, str], ids: Sequence[str], session: Session
) -> list[Model]:
    """The announced documents in order. `thread_of` has the thread of each when the event was published."""
    known = [(id_, thread_of[id_]) for id_ in ids if id_ in thread_of]
    found = await _find_in_place(clients, model, known, session)
    missing = [id_ for id_, _ in known if id_ not in found]
    if missing:
        rows = await clients.store.query_by_ids(_BY_ID[model.container], missing, session)
        now = [(row["id"], row["thread_id"]) for row in rows]
        found |= await _find_in_place(clients, model, now, session)
    absent = [id_ for id_ in ids if id_ not in found]
    if absent:
        some = f"{len(absent)} of {len(ids)} documents in {model.container}"
        raise DocumentNotFoundError(f"{some} are not there, among them {absent[0]}")
    return [found[id_] for id_ in ids]


async def _find_in_place(
    clients: Clients, model: type[Model], places: Sequence[tuple[str, str]], session: Session
) -> dict[str, Model]:
    """Those that are in these threads, and not in another one of the same partition."""
    found = await clients.store.find_many(model, places, session)
    thread_of = dict(places)
    return {id_: document for id_, document in found.items() if document.partition_value == thread_of[id_]}


async def find_unmerged(clients: Clients, thread_ids: set[str], session: Session) -> dict[str, Thread]:
    """The threads about to be written to. ThreadMovedError where one is merged: its chunks are moved."""
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

    Those chunks may have come too late for the move, so they are moved here. So are chunks in the threads
    that the event names: an earlier delivery of it may have written there, and crashed.
    """
    own = set(written)
    places = sorted(own.union(named))
    await clients.store.refresh(Message, session)
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

    The vectors of the others are deleted: an earlier delivery may have written them after the removal.
    """
    if data.archive_id is None or not await was_removed(clients.store, data.archive_id, session):
        thread_of = dict(zip(data.chunk_ids, data.chunk_threads, strict=False))
        return await load_following_merges(clients, Chunk, thread_of, data.chunk_ids, session)
    # In any thread: a removal may have split the one that the event names.
    rows = await clients.store.query_by_ids(CHUNKS_BY_ID, data.chunk_ids, session)
    chunks = [read_document(Chunk, row) for row in rows]
    keys = sorted({(chunk.message_key, chunk.thread_id) for chunk in chunks})
    messages = await clients.store.find_many(Message, keys, session)
    kept = {key for key, message in messages.items() if set(message.archive_ids) - {data.archive_id}}
    retained = {chunk.id: chunk for chunk in chunks if chunk.message_key in kept}
    await clients.index.delete([id_ for id_ in data.chunk_ids if id_ not in retained])
    return [retained[id_] for id_ in data.chunk_ids if id_ in retained]
