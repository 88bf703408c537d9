"""Rebuilds a thread that lost messages, as if they had never come in.

Its document and its index entries are deleted, and its remaining messages are threaded again, once for each
archive that has them. That can split the thread: then messages, chunks and vectors move to the new threads.
"""

from collections.abc import Mapping, Sequence

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.chunks import Chunk
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.prepared_message import prepare_message
from shared.documents.queries.chunks import CHUNK_ARCHIVES_OF_THREAD, CHUNKS_OF_THREAD
from shared.documents.queries.messages import MESSAGES_OF_THREAD
from shared.documents.threads import Thread
from shared.domain.mail.models import ParsedAddress, ParsedAttachment, Segment, SegmentKind
from shared.domain.mail.models import ParsedMail as ParsedMessage
from shared.domain.threading.assignment import InMemoryThreads, ThreadState, assign
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
    if thread.threading:
        state = ThreadState.from_document(thread.threading)
        await ThreadIndex(clients.store, clients.runtime.now).leave(names, state, session)
    for name in reversed(names):
        await clients.store.delete(Thread, name, name, session)


async def rebuild_thread(
    clients: Clients, thread_id: str, sources: Mapping[str, str], session: Session
) -> set[str]:
    """Thread the messages that are left in the partition; the ids of the threads that they make now.

    `sources` has the source of each archive. The caller holds the threading lease and has dropped the thread.
    """
    messages = [
        read_document(Message, row)
        async for row in clients.store.query(MESSAGES_OF_THREAD, session, partition_value=thread_id)
    ]
    await _update_indexed_threads(clients, thread_id, messages, sources, session)
    thread_of: dict[str, str] = {}
    for archive in sorted({archive for message in messages for archive in message.archive_ids}):
        members = [
            prepare_message(parsed_message(message)) for message in messages if archive in message.archive_ids
        ]
        threaded = await Registry(clients).add(members, archive, sources.get(archive, ""), session)
        thread_of = {node: threaded.renamed.get(id_, id_) for node, id_ in thread_of.items()}
        thread_of |= threaded.assignments
    moved = {
        message.id: thread_of[message.message_id]
        for message in messages
        if thread_of[message.message_id] != thread_id
    }
    await _move(clients, thread_id, [message for message in messages if message.id in moved], moved, session)
    return set(thread_of.values())


async def _update_indexed_threads(
    clients: Clients,
    thread_id: str,
    messages: Sequence[Message],
    sources: Mapping[str, str],
    session: Session,
) -> None:
    """Write to the vectors which thread and source they will have: first, so that a crash cannot skip it."""
    assigned = assign([parsed_message(message) for message in messages], InMemoryThreads()).assignments
    source_names: dict[str, set[str]] = {}
    for message in messages:
        own = {sources[archive] for archive in message.archive_ids if archive in sources}
        source_names.setdefault(assigned[message.message_id], set()).update(own)
    thread_of = {message.id: assigned[message.message_id] for message in messages}
    vectors = [
        {
            "chunk_id": row["id"],
            "thread_id": thread_of[row["message_key"]],
            "source": min(source_names[thread_of[row["message_key"]]], default=None),
        }
        async for row in clients.store.query(CHUNK_ARCHIVES_OF_THREAD, session, partition_value=thread_id)
        if row["embedding_generated"] and row["message_key"] in thread_of
    ]
    await clients.index.upsert(vectors)


async def _move(
    clients: Clients,
    old: str,
    messages: Sequence[Message],
    moved: Mapping[str, str],
    session: Session,
) -> None:
    """Move them to their new threads: created there first, then deleted here."""
    if not moved:
        return
    found = [
        read_document(Chunk, row)
        async for row in clients.store.query(CHUNKS_OF_THREAD, session, partition_value=old)
    ]
    chunks = [row for row in found if row.message_key in moved]
    store = clients.store
    await store.upsert_all(
        [chunk.model_copy(update={"thread_id": moved[chunk.message_key]}) for chunk in chunks], session
    )
    await store.upsert_all(
        [message.model_copy(update={"thread_id": moved[message.id]}) for message in messages], session
    )
    await store.delete_all(Chunk, [chunk.id for chunk in chunks], old, session)
    left = [key for key, new in moved.items() if Message.partition_of(new) != Message.partition_of(old)]
    await store.delete_all(Message, left, old, session)


def parsed_message(message: Message) -> ParsedMessage:
    """A stored message as the parser returned it, as far as threading needs it."""
    return ParsedMessage(
        message_key=message.message_key,
        message_id=message.message_id,
        in_reply_to=[message.in_reply_to] if message.in_reply_to else [],
        references=message.references,
        subject=message.subject,
        sender=ParsedAddress(message.from_.name, message.from_.email),
        to=[ParsedAddress(address.name, address.email) for address in message.to],
        cc=[ParsedAddress(address.name, address.email) for address in message.cc],
        date=message.date,
        body_raw=message.body_raw,
        body_normalized=message.body_normalized,
        body_html=message.body_html,
        segments=[
            Segment(SegmentKind(segment["kind"]), segment["start"], segment["end"])
            for segment in message.segments
        ],
        headers=message.headers,
        attachments=[
            ParsedAttachment(attachment.filename or "", attachment.content_type, attachment.size_bytes)
            for attachment in message.attachments
        ],
        draft_mentions=message.draft_mentions,
        warnings=message.warnings,
    )
