"""Find the documents of threads and events, and announce messages whose labels have changed.

A document never moves, because its partition follows from its id. The label of a message is written after a
commit (`message_writer.py`). A message with a new label is pending. Chunking passes the label on to its
chunks, and embedding to their vectors. A thread that was merged stays as a redirect (`merged_into`).
"""

from collections.abc import Collection, Iterable, Sequence

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import ConflictError, DocumentNotFoundError
from shared.core.ids import message_of_chunk
from shared.models.containers import read_document
from shared.models.queries.threads import MESSAGES_BY_KEY, THREADS_OF_MESSAGES
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline.event_builders import json_parsed
from shared.pipeline.event_types import ChunksPrepared
from shared.pipeline.events import Event, split_to_fit
from shared.pipeline.state.archives import was_removed
from shared.thread_store.chunk_sets import delete_lost_vectors, is_stale, message_states

MAX_REDIRECTS = 50  # damaged documents may point to each other


class ThreadMovedError(ConflictError):
    """A message or thread became part of another thread while it was worked on: the stage repeats."""


async def find_resolved(clients: Clients, thread_id: str, session: Session) -> Thread | None:
    """Return the thread, or the thread that it was merged into."""
    thread = None
    for _ in range(MAX_REDIRECTS):
        thread = await clients.store.find(Thread, thread_id, session)
        if thread is None or thread.merged_into is None:
            return thread
        thread_id = thread.merged_into
    return thread


async def resolve_thread(clients: Clients, thread_id: str, session: Session) -> str:
    """Return the id of the thread after redirects. The id of a missing thread does not change."""
    thread = await find_resolved(clients, thread_id, session)
    return thread_id if thread is None else thread.id


async def announce_keys(clients: Clients, keys: Collection[str], session: Session) -> None:
    """Announce the stored messages with these keys."""
    found = await clients.store.query_by_ids(MESSAGES_BY_KEY, sorted(keys), session)
    await announce_messages(clients, [read_document(Message, row) for row in found], session)


async def announce_messages(clients: Clients, messages: Sequence[Message], session: Session) -> None:
    """Publish events, so that stages pass labels on. If an event is lost, the sweep publishes it again."""
    now, by_archive = clients.runtime.now(), dict[str, list[tuple[str, str]]]()
    for message in messages:
        by_archive.setdefault(message.archive_id, []).append((message.id, message.thread_id))
    version = max((message.label_version for message in messages), default=0)
    events = [
        Event.of(part, session=session.tokens(), now=now)
        for archive_id, places in sorted(by_archive.items())
        for part in split_to_fit(json_parsed(archive_id, places, source_version=version))
    ]
    await clients.bus.publish(events)


async def threads_of_messages(clients: Clients, keys: Collection[str], session: Session) -> dict[str, str]:
    """Return the current thread of each of these messages."""
    rows = await clients.store.query_by_ids(THREADS_OF_MESSAGES, sorted(keys), session)
    return {row["id"]: row["thread_id"] for row in rows}


async def load_announced_messages(
    clients: Clients, keys: Sequence[str], archive_id: str, session: Session
) -> list[Message]:
    """Load messages in order, without messages that were deleted with this archive."""
    found = await clients.store.find_many(Message, keys, session)
    if len(found) < len(set(keys)) and not await was_removed(clients.store, archive_id, session):
        raise _missing(Message.container, keys, found)
    return [found[key] for key in keys if key in found]


async def load_announced_chunks(clients: Clients, data: ChunksPrepared, session: Session) -> list[Chunk]:
    """Load chunks in order, without deleted chunks. Delete vectors that an earlier delivery left of these."""
    found = await clients.store.find_many(Chunk, data.chunk_ids, session)
    absent = [id_ for id_ in data.chunk_ids if id_ not in found]
    lost = await delete_lost_vectors(clients, absent, session)
    if lost:
        messages = await message_states(clients, {message_of_chunk(id_) for id_ in lost}, session)
        unexplained = [id_ for id_ in lost if not is_stale(id_, messages.get(message_of_chunk(id_)))]
        if not messages and not await _is_removed(clients, data.archive_id, session):
            unexplained = absent
        if unexplained:
            raise _missing(Chunk.container, data.chunk_ids, set(data.chunk_ids) - {*unexplained})
    if lost != set(absent):
        found |= await clients.store.find_many(Chunk, absent, session)
    # A chunk that another archive also has is embedded in any case.
    own = [id_ for id_, chunk in found.items() if set(chunk.archive_ids) <= {data.archive_id}]
    if own and await _is_removed(clients, data.archive_id, session):
        found = {id_: chunk for id_, chunk in found.items() if id_ not in own}
    return [found[id_] for id_ in data.chunk_ids if id_ in found]


async def _is_removed(clients: Clients, archive_id: str | None, session: Session) -> bool:
    return archive_id is not None and await was_removed(clients.store, archive_id, session)


def _missing(container: str, ids: Sequence[str], found: Iterable[str]) -> DocumentNotFoundError:
    absent = [id_ for id_ in ids if id_ not in set(found)]
    some = f"{len(absent)} of {len(ids)} documents in {container}"
    return DocumentNotFoundError(f"{some} are not there, among them {absent[0]}")
