"""Threads messages into what is stored, one worker at a time.

The order of writing makes every step repeatable. Where threads become one, first the index knows where to
look, then the thread that takes over says so (`absorbing`) and those that it takes over point to it, then
their documents follow, and last the new messages are stored. Where none does, the threads are written first.
A worker that dies on the way leaves the rest to whoever threads the same messages again.
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

__all__ = ["Registry", "Threaded"]

MAX_WRITE_ATTEMPTS = 5  # other stages write to threads, too, and whoever was faster wins


class ChangedMeanwhileError(TransientError):
    """A thread changed while messages were added to it."""


@dataclass
class Threaded:
    """Where the messages went, and which threads are another one now."""

    assignments: dict[str, str]
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass
class _Loaded:
    """The threads that can matter, and the signposts that were met on the way to them."""

    found: IndexLookup
    threads: dict[str, Thread]
    moved: dict[str, str]


@dataclass
class _Slice:
    """Messages of one archive, and what they make of the threads."""

    messages: Sequence[PreparedMessage]
    archive_id: str
    loaded: _Loaded
    result: ThreadingResult
    threads: Sequence[Thread]
    """Those that change, as they are to be."""
    touched: Mapping[str, ThreadState]
    """Those that the messages are in, changed or not."""


class _Known:
    """What was loaded beforehand, as the threading asks for it."""

    def __init__(self, states: Collection[ThreadState] = ()) -> None:
        self._states = states

    def by_message_ids(self, ids: Sequence[str]) -> Collection[ThreadState]:  # noqa: ARG002 - all of them serve
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
            write = self._write_merging if _is_merging(result, threads) else self._write_plainly
            if await write(_Slice(messages, archive_id, loaded, result, threads, touched), session):
                return Threaded(result.assignments, _renamed(result))
            names = touched
        raise ChangedMeanwhileError

    async def _write_plainly(self, slice_: "_Slice", session: Session) -> bool:
        """Whether the threads were as they were thought to be; if not, nothing else is written.

        A worker that dies between the threads and the index leaves threads that only their names lead to:
        those that the messages have by themselves. Who threads them again finds them by that.
        """
        if await self._store.write_all(slice_.threads, session) is Conflict.CONFLICT:
            return False
        await gather_limited([self._enter(slice_, session), self._store_messages(slice_, session)])
        return True

    async def _write_merging(self, slice_: "_Slice", session: Session) -> bool:
        """The same, where threads become one: what leads to them must stand before they do."""
        await self._enter(slice_, session)
        if await self._store.write_all(slice_.threads, session) is Conflict.CONFLICT:
            return False
        await self._write_redirects(slice_.loaded.threads, _renamed(slice_.result), session)
        for thread in slice_.threads:
            await self._absorb(thread, session)
        await self._store_messages(slice_, session)  # some may have come with what is absorbed
        return True

    async def _load(self, links: Sequence[Links], names: Collection[str], session: Session) -> _Loaded:
        """The threads that can matter, and those of these names. A signpost stands for where it points to."""
        ids = {one for link in links for one in (link.node, *link.chain, *link.parents)}
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
        """Those that are there. They lie on all shelves, so one question to all is less than one to each."""
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
        there = [key for key in documents if key not in created]
        stored = await self._store.query_by_ids(STORED_MESSAGES, there, session)
        here = [row for row in stored if row["shelf"] == documents[row["id"]].stored["shelf"]]
        patches, replaced = merge_into_stored(here, documents, archive_id)
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
    """What threads of these messages alone can be called, but for those that run in circles."""
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
    """Where the signposts lead from here."""
    while name in threads and (following := threads[name].merged_into):
        name = following
    return name
