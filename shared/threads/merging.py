"""Moves messages to another thread, with their chunks and vectors; what is left of a thread is a redirect.

A document is created in the new partition before it is deleted from the old one, so a crash leaves two copies
and loses none; the same move again removes the first. A thread of which nothing is left stays as a redirect
(`merged_into`), and its summaries become outdated.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from shared.clients.connections import Clients
from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.fence import TurnOverError
from shared.clients.cosmos.session import Session
from shared.core.ids import message_key
from shared.documents.queries.threads import CHUNKS_OF_THREAD, MESSAGES_OF_THREAD, THREADS_OF_MESSAGES
from shared.documents.reports import Report, Summary
from shared.documents.threads import Chunk, Message, Thread
from shared.domain.threading.assignment import ThreadState
from shared.pipeline.lifecycle.summaries import all_outdated
from shared.pipeline.lifecycle.threads import merge_finished, messages_left

if TYPE_CHECKING:
    from shared.documents.base import Document

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
