"""Moves the documents of a merged thread: messages, chunks and vectors; its summaries become outdated.

A document is created in the new partition before it is deleted from the old one, so a crash leaves two copies
and loses none; the same move again removes the first. The merged thread itself stays as a redirect
(`merged_into`).
"""

from shared.clients.connections import Clients
from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.documents.base import Document
from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.documents.queries.chunks import CHUNKS_OF_THREAD
from shared.documents.queries.messages import MESSAGES_OF_THREAD
from shared.documents.queries.named_query import NamedQuery
from shared.documents.reports import Report
from shared.documents.summaries import Summary
from shared.documents.threads import Thread
from shared.pipeline.lifecycle.summaries import all_outdated

MAX_REDIRECTS = 50  # a bound, in case damaged documents point to each other


async def resolve_thread(clients: Clients, thread_id: str, session: Session) -> str:
    """The id of the thread that it is part of now: its own, or that of the one it was merged into."""
    for _ in range(MAX_REDIRECTS):
        thread = await clients.store.find(Thread, thread_id, thread_id, session)
        if thread is None or thread.merged_into is None:
            return thread_id
        thread_id = thread.merged_into
    return thread_id


async def follow_merge(clients: Clients, old: str, new: str, session: Session) -> None:
    """Move what belongs to the old thread. The redirect must stand, so that no stage writes there again.

    A stage may have written to the old thread just before: it looks for a redirect after its write, and this
    looks for its writes after the redirect. So one of the two sees the other, if both read what is newest.
    """
    for model in (Message, Chunk, Summary, Report):
        await clients.store.catch_up(model, [old], session)
    await _move(clients, Message, MESSAGES_OF_THREAD, old, new, session)
    await _move(clients, Chunk, CHUNKS_OF_THREAD, old, new, session)
    await all_outdated(clients.store, old, session)


async def _move(
    clients: Clients,
    model: type[Document],
    query: NamedQuery,
    old: str,
    new: str,
    session: Session,
) -> None:
    """Move one kind of document. A chunk's vector is updated before the old chunk goes: it is found by it."""
    stored = await clients.store.query_documents(model, query, session, partition_value=old)
    if not stored:
        return
    if model.partition_of(old) == model.partition_of(new):
        patches = [Patch(document.id, old, set={"thread_id": new}) for document in stored]
        await clients.store.patch_all(model, patches, session)
        return
    moved = [document.model_copy(update={"thread_id": new}) for document in stored]
    await clients.store.create_missing(moved, session)
    indexed = [document.id for document in stored if getattr(document, "embedding_generated", False)]
    await clients.index.upsert([{"chunk_id": id_, "thread_id": new} for id_ in indexed])
    await clients.store.delete_all(model, [document.id for document in stored], old, session)
