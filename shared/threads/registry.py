"""Adds messages to the stored threads. One worker at a time: the caller holds the threading lease.

Where the messages join threads into one, there are five writes, in this order:

1. The index: message ids and subjects lead to the thread that they will be in. If we crash after this step:
   a lookup finds an id of no stored thread, which it ignores.
2. The threads, each on the condition that it is as it was read. The thread that takes others over names them
   in `absorbing`. If we crash after this step: the others still stand for themselves, and both ways of
   finding a message lead to a thread that is there.
3. The redirects: each thread that was taken over says where it went (`merged_into`). If we crash after this
   step: its documents are still in the old partition; `absorbing` says that they have to move.
4. The documents of those threads move to the new one, and `absorbing` is emptied. If we crash after this
   step: only the new messages are missing.
5. The new messages. If we crash after this step: nothing is missing but the event that announces them.

After any crash the archive's event is delivered again and threads the same messages: it finds what is done,
and does the rest. Where no thread is merged, the threads come first (2), because their ids follow from the
messages themselves; then the index (1) and the messages (5) at the same time.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict
from shared.core.concurrency import gather_limited
from shared.core.errors import TransientError
from shared.core.ids import thread_id
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.prepared_message import PreparedMessage
from shared.documents.queries.messages import STORED_MESSAGES
from shared.documents.queries.threads import THREADS_BY_ID
from shared.documents.threads import Thread
from shared.domain.threading.assignment import Links, ThreadingResult, ThreadState, assign_links
from shared.pipeline.lifecycle.threads import merge_finished, thread_merged, threads_changed
from shared.threads.index import IndexLookup, ThreadIndex
from shared.threads.merging import follow_merge
from shared.threads.message_documents import merge_into_stored, message_documents
from shared.threads.thread_documents import thread_documents

# Optimistic concurrency: other stages patch the same threads, so losing an ETag race is normal.
MAX_WRITE_ATTEMPTS = 5


class ChangedMeanwhileError(TransientError):
    """A thread changed at every attempt to add messages to it."""


@dataclass
class Threaded:
    """Each message's thread, and the threads that were merged into another."""

    assignments: dict[str, str]
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass
class _Loaded:
    """The threads that the messages may belong to, and the redirects that led to them."""

    found: IndexLookup
    threads: dict[str, Thread]
    moved: dict[str, str]


@dataclass
class _Slice:
    """Messages of one archive, and how they change the threads."""

    messages: Sequence[PreparedMessage]
    archive_id: str
    loaded: _Loaded
    result: ThreadingResult
    threads: Sequence[Thread]
    """Those that change, as they are to be stored."""
    touched: Mapping[str, ThreadState]
    """Those that the messages are in, changed or not."""


class _Known:
    """The loaded threads, behind the port that the threading algorithm reads from."""

    def __init__(self, states: Collection[ThreadState] = ()) -> None:
        self._states = states

    def by_message_ids(self, ids: Sequence[str]) -> Collection[ThreadState]:  # noqa: ARG002 - all loaded threads are candidates
        return self._states

    def by_subject_keys(self, keys: Sequence[str]) -> Sequence[ThreadState]:  # noqa: ARG002
        return ()


class Registry:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._store = clients.store
        self._index = ThreadIndex(clients.store, clients.runtime.now)

    async def add(
        self, messages: Sequence[PreparedMessage], archive_id: str, source: str, session: Session
    ) -> Threaded:
        """Thread and store these messages. The caller holds the lease."""
        links = [message.links for message in messages]
        names: Collection[str] = _own_names(links)
        for _ in range(MAX_WRITE_ATTEMPTS):
            loaded = await self._load(links, names, session)
            known = loaded.threads
            states = {name: ThreadState.from_document(known[name].threading) for name in known}
            result = assign_links(links, _Known(states.values()))
            threads = thread_documents(
                result, known, messages, archive_id, source, self._clients.runtime.now()
            )
            touched = {name: result.threads.get(name) or states[name] for name in result.assignments.values()}
            write = self._write_merging if _is_merging(result, threads) else self._write_unmerged
            if await write(_Slice(messages, archive_id, loaded, result, threads, touched), session):
                return Threaded(result.assignments, _renamed(result))
            names = touched
        raise ChangedMeanwhileError

    async def _write_unmerged(self, slice_: "_Slice", session: Session) -> bool:
        """Writes 2, then 1 and 5. False where a thread had changed: then nothing else is written.

        A crash after the threads leaves some that the index does not know. The next attempt finds them all
        the same, because it also looks for the ids that its messages alone would give their threads.
        """
        if await self._store.write_all(slice_.threads, session) is Conflict.CONFLICT:
            return False
        await gather_limited([self._enter(slice_, session), self._store_messages(slice_, session)])
        return True

    async def _write_merging(self, slice_: "_Slice", session: Session) -> bool:
        """Writes 1 to 5. False where a thread had changed: then nothing after the index is written."""
        await self._enter(slice_, session)
        if await self._store.write_all(slice_.threads, session) is Conflict.CONFLICT:
            return False
        await self._write_redirects(slice_.loaded.threads, _renamed(slice_.result), session)
        for thread in slice_.threads:
            await self._absorb(thread, session)
        await self._store_messages(slice_, session)  # last: some may have moved in with an absorbed thread
        return True

    async def _load(self, links: Sequence[Links], names: Collection[str], session: Session) -> _Loaded:
        """The threads that the messages may belong to, and those with these ids; redirects are followed."""
        ids = {id_ for link in links for id_ in (link.node, *link.chain, *link.parents)}
        subjects = [entry for link in links for entry in link.entries]
        found, threads = await asyncio.gather(
            self._index.find(ids, subjects, session), self._find(names, session)
        )
        wanted = found.threads() | _redirect_targets(threads)
        while wanted := wanted - threads.keys():
            threads |= await self._find(wanted, session)
            wanted = _redirect_targets(threads)
        moved = {
            name: _follow_redirects(name, threads) for name, thread in threads.items() if thread.merged_into
        }
        return _Loaded(found, {name: threads[name] for name in threads.keys() - moved.keys()}, moved)

    async def _find(self, names: Collection[str], session: Session) -> dict[str, Thread]:
        """Those that exist. They are in all partitions, so one query over all is cheaper than point reads."""
        found = await self._store.query_by_ids(THREADS_BY_ID, names, session)
        return {row["id"]: read_document(Thread, row) for row in found}

    async def _enter(self, slice_: "_Slice", session: Session) -> None:
        loaded, renamed = slice_.loaded, _renamed(slice_.result)
        await self._index.enter(
            slice_.touched, loaded.found, loaded.moved, renamed, slice_.archive_id, session
        )

    async def _write_redirects(
        self, known: dict[str, Thread], renamed: dict[str, str], session: Session
    ) -> None:
        redirects = [thread_merged(known[old], into=new) for old, new in renamed.items()]
        await self._store.upsert_all(redirects, session)

    async def _store_messages(self, slice_: "_Slice", session: Session) -> None:
        archive_id = slice_.archive_id
        documents = message_documents(
            slice_.messages, slice_.result.assignments, archive_id, self._clients.runtime.now()
        )
        created = await self._store.create_missing(list(documents.values()), session)
        existing = [key for key in documents if key not in created]
        stored = await self._store.query_by_ids(STORED_MESSAGES, existing, session)
        # The same key may be stored in a partition that a merge has not emptied yet: that copy is not ours.
        same = [row for row in stored if row["shelf"] == documents[row["id"]].stored["shelf"]]
        patches, replaced = merge_into_stored(same, documents, archive_id)
        await self._store.patch_all(Message, patches, session)
        await threads_changed(
            self._store, sorted({document.partition_value for document in replaced}), session
        )
        await self._store.upsert_all(replaced, session)

    async def _absorb(self, thread: Thread, session: Session) -> None:
        if thread.absorbing:
            for old in thread.absorbing:
                await follow_merge(self._clients, old, thread.id, session)
            await merge_finished(self._store, thread.id, session)


def _own_names(links: Sequence[Links]) -> set[str]:
    """The ids that threads of these messages alone can have; references in a circle excepted."""
    roots: set[str] = set()
    for link in links:
        roots.update([*link.chain[:1], *link.parents] or [link.node])
    return set(map(thread_id, roots))


def _is_merging(result: ThreadingResult, threads: Sequence[Thread]) -> bool:
    return bool(result.merges) or any(thread.absorbing for thread in threads)


def _renamed(result: ThreadingResult) -> dict[str, str]:
    return {merge.thread_id: merge.into for merge in result.merges}


def _redirect_targets(threads: Mapping[str, Thread]) -> set[str]:
    return {thread.merged_into for thread in threads.values() if thread.merged_into}


def _follow_redirects(name: str, threads: dict[str, Thread]) -> str:
    """The thread at the end of its redirects."""
    while name in threads and (following := threads[name].merged_into):
        name = following
    return name
