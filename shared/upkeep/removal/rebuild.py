"""A thread that has lost messages becomes what it would be if they had never come in.

Its document and its place in the index are dropped, and what is left of its messages is threaded again, for
each archive that has them. That can split it: then messages, chunks and vectors move to their new threads.
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

__all__ = ["drop_thread", "parsed_message", "rebuild_thread"]


async def drop_thread(
    clients: Clients, thread: Thread, session: Session, signposts: Sequence[str] = ()
) -> None:
    """Delete its document and the signposts to it, after their entries in the index.

    An entry may still name a thread that became this one. The signposts lead to each other: the last goes
    first.
    """
    names = [thread.id, *signposts]
    if thread.threading:
        state = ThreadState.from_document(thread.threading)
        await ThreadIndex(clients.store, clients.runtime.now).leave(names, state, session)
    for name in reversed(names):
        await clients.store.delete(Thread, name, name, session)


async def rebuild_thread(
    clients: Clients, thread_id: str, sources: Mapping[str, str], session: Session
) -> set[str]:
    """Thread what is left in the partition; the ids of the threads that it is now.

    `sources` has the source of each archive. The caller holds the threading lock, and dropped the thread.
    """
    messages = [
        read_document(Message, each)
        async for each in clients.store.query(MESSAGES_OF_THREAD, session, partition_value=thread_id)
    ]
    await _update_indexed_threads(clients, thread_id, messages, sources, session)
    places: dict[str, str] = {}
    for archive in sorted({one for each in messages for one in each.archive_ids}):
        members = [prepare_message(parsed_message(each)) for each in messages if archive in each.archive_ids]
        threaded = await Registry(clients).add(members, archive, sources.get(archive, ""), session)
        places = {node: threaded.renamed.get(place, place) for node, place in places.items()}
        places |= threaded.assignments
    moved = {each.id: places[each.message_id] for each in messages if places[each.message_id] != thread_id}
    await _move(clients, thread_id, [each for each in messages if each.id in moved], moved, session)
    return set(places.values())


async def _update_indexed_threads(
    clients: Clients,
    thread_id: str,
    messages: Sequence[Message],
    sources: Mapping[str, str],
    session: Session,
) -> None:
    """Which threads there will be, of which source; told before they are there, so that no crash skips it."""
    places = assign([parsed_message(each) for each in messages], InMemoryThreads()).assignments
    names: dict[str, set[str]] = {}
    for each in messages:
        own = {sources[one] for one in each.archive_ids if one in sources}
        names.setdefault(places[each.message_id], set()).update(own)
    thread_of = {each.id: places[each.message_id] for each in messages}
    vectors = [
        {
            "chunk_id": each["id"],
            "thread_id": thread_of[each["message_key"]],
            "source": min(names[thread_of[each["message_key"]]], default=None),
        }
        async for each in clients.store.query(CHUNK_ARCHIVES_OF_THREAD, session, partition_value=thread_id)
        if each["embedding_generated"] and each["message_key"] in thread_of
    ]
    await clients.index.upsert(vectors)


async def _move(
    clients: Clients,
    old: str,
    messages: Sequence[Message],
    moved: Mapping[str, str],
    session: Session,
) -> None:
    """To their new threads: there first, then away from here."""
    if not moved:
        return
    found = [
        read_document(Chunk, each)
        async for each in clients.store.query(CHUNKS_OF_THREAD, session, partition_value=old)
    ]
    chunks = [each for each in found if each.message_key in moved]
    store = clients.store
    await store.upsert_all(
        [each.model_copy(update={"thread_id": moved[each.message_key]}) for each in chunks], session
    )
    await store.upsert_all(
        [each.model_copy(update={"thread_id": moved[each.id]}) for each in messages], session
    )
    await store.delete_all(Chunk, [each.id for each in chunks], old, session)
    left = [key for key, new in moved.items() if Message.partition_of(new) != Message.partition_of(old)]
    await store.delete_all(Message, left, old, session)


def parsed_message(message: Message) -> ParsedMessage:
    """A stored message as parsing gave it, as far as threading goes."""
    return ParsedMessage(
        message_key=message.message_key,
        message_id=message.message_id,
        in_reply_to=[message.in_reply_to] if message.in_reply_to else [],
        references=message.references,
        subject=message.subject,
        sender=ParsedAddress(message.from_.name, message.from_.email),
        to=[ParsedAddress(each.name, each.email) for each in message.to],
        cc=[ParsedAddress(each.name, each.email) for each in message.cc],
        date=message.date,
        body_raw=message.body_raw,
        body_normalized=message.body_normalized,
        body_html=message.body_html,
        segments=[
            Segment(SegmentKind(each["kind"]), each["start"], each["end"]) for each in message.segments
        ],
        headers=message.headers,
        attachments=[
            ParsedAttachment(each.filename or "", each.content_type, each.size_bytes)
            for each in message.attachments
        ],
        draft_mentions=message.draft_mentions,
        warnings=message.warnings,
    )
