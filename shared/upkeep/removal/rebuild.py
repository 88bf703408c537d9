"""Rebuilds a thread that lost messages, as if they had never come in.

Its document and its index entries are deleted, and its remaining messages are threaded again. That can split
the thread: then messages, chunks and vectors move to the new threads.
"""

from collections.abc import Sequence

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.queries.threads import MESSAGES_OF_THREAD
from shared.documents.threads import Message, Thread
from shared.domain.threading.assignment import ThreadState
from shared.threads.index import ThreadIndex
from shared.threads.registry import Registry


async def drop_thread(
    clients: Clients, thread: Thread, session: Session, redirects: Sequence[str] = ()
) -> None:
    """Delete its document and the redirects to it, after their entries in the index.

    An entry may still name a thread that was merged into this one. Redirects can form a chain: the last one
    goes first, so that a crash leaves no redirect to nothing.
    """
    names = [thread.id, *redirects]
    if "members" in thread.threading:  # one of the version before has none
        state = ThreadState.from_document(thread.threading)
        index = ThreadIndex(clients.store, clients.runtime.now)
        await index.leave(names, state, thread.source or "", session)
    for name in reversed(names):
        await clients.store.delete(Thread, name, name, session)


async def rebuild_thread(clients: Clients, thread_id: str, session: Session) -> set[str]:
    """Thread the messages that are left in the partition; the ids of the threads that they make now.

    The caller holds the threading lease and has dropped the thread.
    """
    messages = await clients.store.query_documents(
        Message, MESSAGES_OF_THREAD, session, partition_value=thread_id
    )
    rebuilt: set[str] = set()
    for source in sorted({message.source for message in messages}):
        own = [message for message in messages if message.source == source]
        threaded = await Registry(clients).rethread(own, source, session, origin=thread_id)
        rebuilt |= {*threaded.threads.values(), *threaded.touched.values()}
    return rebuilt
