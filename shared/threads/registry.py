"""Threads messages into what is stored, one worker at a time.

The order of writing makes every step repeatable: first the index knows where to look, then the thread that
takes over says so (`absorbing`) and those that it takes over point to it, then the messages are stored, and
last the absorbed threads' documents follow. A worker that dies on the way leaves the rest to whoever threads
the same messages again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.clients import Clients
from shared.documents import Message, Status, Thread
from shared.errors import TransientError
from shared.mail.threading import ThreadingResult, ThreadState, assign_links
from shared.reading.arrivals import Arrival
from shared.session import Session
from shared.store import Conflict, Patch
from shared.store.queries import STORED_MESSAGES
from shared.store.store import bounded
from shared.threads.aggregate import UNTRIED, thread_documents
from shared.threads.entries import Found, ThreadIndex
from shared.threads.messages import message_documents, seen_again
from shared.threads.moving import follow_merge

__all__ = ["Registry", "Threaded"]


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

    found: Found
    threads: dict[str, Thread]
    moved: dict[str, str]


class _Known:
    """What was loaded beforehand, as the threading asks for it."""

    def __init__(self, states: Sequence[ThreadState]) -> None:
        self._states = states

    def by_message_ids(self, ids: Sequence[str]) -> Sequence[ThreadState]:  # noqa: ARG002 - all of them serve
        return self._states

    def by_subject_keys(self, keys: Sequence[str]) -> Sequence[ThreadState]:  # noqa: ARG002
        return ()


class Registry:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._store = clients.store
        self._index = ThreadIndex(clients.store)

    async def add(
        self, messages: Sequence[Arrival], archive_id: str, source: str, session: Session
    ) -> Threaded:
        """Thread and store these messages. The caller holds the lease."""
        loaded = await self._load(messages, session)
        known = loaded.threads
        states = [ThreadState.from_document(thread.threading) for thread in known.values()]
        result = assign_links([each.links for each in messages], _Known(states))
        renamed = {merge.thread_id: merge.into for merge in result.merges}
        threads = thread_documents(result, known, messages, archive_id, source)
        await self._index.enter(result.threads, loaded.found, loaded.moved, renamed, archive_id, session)
        await self._store_threads(threads, session)
        await self._leave_signposts(known, renamed, session)
        await self._store_messages(messages, result, archive_id, session)
        for thread in threads:
            await self._absorb(thread, session)
        return Threaded(result.assignments, renamed)

    async def _load(self, messages: Sequence[Arrival], session: Session) -> _Loaded:
        """The threads that can matter. A signpost stands for the thread that it points to."""
        links = [each.links for each in messages]
        ids = {one for each in links for one in (each.node, *each.chain, *each.parents)}
        subjects = [entry for each in links for entry in each.entries]
        found = await self._index.find(ids, subjects, session)
        threads: dict[str, Thread] = {}
        wanted = found.threads()
        while wanted:
            answer = await self._store.find_many(Thread, [(name, name) for name in wanted], session)
            threads |= answer
            wanted = {each.merged_into for each in answer.values() if each.merged_into} - set(threads)
        moved = {name: _end_of(name, threads) for name, thread in threads.items() if thread.merged_into}
        return _Loaded(found, {name: threads[name] for name in threads.keys() - moved.keys()}, moved)

    async def _store_threads(self, threads: Sequence[Thread], session: Session) -> None:
        """Other stages write to threads, too: whoever was faster wins, and this is done again."""
        if not all(await bounded([self._store_thread(thread, session) for thread in threads])):
            raise ChangedMeanwhileError

    async def _store_thread(self, thread: Thread, session: Session) -> bool:
        if thread.etag is None:
            return await self._store.create(thread, session)
        return await self._store.replace(thread, session) is not Conflict.CONFLICT

    async def _leave_signposts(
        self, known: dict[str, Thread], renamed: dict[str, str], session: Session
    ) -> None:
        await self._store.upsert_all(
            [
                known[old].model_copy(
                    update={
                        "merged_into": new,
                        "threading": {},
                        "absorbing": [],
                        "status": Status.PROCESSED,  # there is nothing to be done with a signpost
                    }
                )
                for old, new in renamed.items()
            ],
            session,
        )

    async def _store_messages(
        self, messages: Sequence[Arrival], result: ThreadingResult, archive_id: str, session: Session
    ) -> None:
        documents = message_documents(messages, result.assignments, archive_id)
        created = await self._store.create_missing(list(documents.values()), session)
        there = [key for key in documents if key not in created]
        stored = await self._store.look_up(STORED_MESSAGES, there, session)
        here = [each for each in stored if each["thread_id"] == documents[each["id"]].partition_key]
        patches, replaced = seen_again(here, documents, archive_id)
        await self._store.patch_all(Message, patches, session)
        # With other content, too, what was made of the thread is out of date.
        outdated = sorted({each.partition_key for each in replaced})
        await self._store.patch_all(Thread, [Patch(name, name, set=UNTRIED) for name in outdated], session)
        await self._store.upsert_all(replaced, session)

    async def _absorb(self, thread: Thread, session: Session) -> None:
        if thread.absorbing:
            for old in thread.absorbing:
                await follow_merge(self._clients, old, thread.id, session)
            patch = Patch(thread.id, thread.id, set={"absorbing": []})
            await self._store.patch(Thread, patch, session)


def _end_of(name: str, threads: dict[str, Thread]) -> str:
    """Where the signposts lead from here."""
    while name in threads and (following := threads[name].merged_into):
        name = following
    return name
