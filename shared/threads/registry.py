"""Adds messages to the stored threads of their source. The caller holds the threading lease.

Where messages move from one thread to another, there are five writes, in this order:

1. The index: message ids and subjects name the thread that they will be in. A lookup ignores a thread that is
   not stored yet.
2. The threads, if they are as they were read. First those that get messages of others, which they name in
   `absorbing`, then those that only lose some, with `losing`. A message may be in two threads, never in none.
3. The redirects (`merged_into`) of threads of which nothing is left.
4. The messages get their new label, and are pending: chunks and vectors follow. `losing` is emptied, then
   `absorbing`.
5. The new messages.

After a crash the archive's event is delivered again and threads the same messages: it finds what is done, and
does the rest. Where nothing moves, the threads come first (2), because their ids follow from the messages;
then the index (1) and the messages (5) at the same time.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict
from shared.core.concurrency import gather_limited
from shared.core.errors import TransientError
from shared.core.ids import message_key, thread_id
from shared.documents.containers import read_document
from shared.documents.queries.threads import MEMBER_FACTS, STORED_COPIES, THREADS_BY_ID
from shared.documents.threads import Message, Thread
from shared.domain.threading.assignment import (
    Links,
    ThreadingResult,
    ThreadState,
    Wanted,
    links_of,
    wanted_by,
    wanted_by_known,
)
from shared.domain.threading.limit import assign_within_limit
from shared.domain.threading.prepared_message import PreparedMessage
from shared.pipeline.lifecycle.threads import thread_merged, threads_changed
from shared.threads.index import IndexLookup, ThreadIndex
from shared.threads.message_documents import (
    ArchiveOfSource,
    Arrival,
    MessageWrites,
    Row,
    arrivals_of,
    message_writes,
    parsed_mail,
)
from shared.threads.moving import absorb
from shared.threads.placements import load_placements, placed
from shared.threads.thread_documents import Fact, ThreadChanges, gaining_first, thread_documents

MAX_WRITE_ATTEMPTS = 5  # other stages patch the same threads: a lost ETag race is normal


class ChangedMeanwhileError(TransientError):
    """A thread changed at every attempt to add messages to it."""


@dataclass
class Threaded:
    """Where messages are now, by their keys."""

    threads: dict[str, str]
    """Those that were added."""
    moved: dict[str, str] = field(default_factory=dict)
    """Those that were in another thread before."""
    relabelled: list[Message] = field(default_factory=list)
    """Those that got another label: they have to be announced."""
    touched: dict[str, str] = field(default_factory=dict)
    """A message of each thread whose summary has to be made again although it got no message."""


@dataclass(frozen=True)
class Rethreaded:
    """Where messages would be if they were added now, by node, and what would change by that."""

    arrivals: Sequence[Arrival]
    homes: Mapping[str, str]
    result: ThreadingResult


@dataclass
class _Loaded:
    """The threads that the messages may belong to, and the redirects that led to them."""

    found: list[IndexLookup]
    threads: dict[str, Thread]
    moved: dict[str, str]
    redirects: dict[str, Thread] = field(default_factory=dict)

    def states(self) -> dict[str, ThreadState]:
        return {name: ThreadState.from_document(thread.threading) for name, thread in self.threads.items()}


@dataclass
class _Slice:
    """Messages of one source, and how they change its threads."""

    source: str
    bucket: str
    links: Sequence[Links]
    facts: Mapping[str, Fact]
    """Of those messages."""
    replaced: Sequence[Links] = ()
    """What those said before that have other content now."""
    conflicting: Mapping[str, str] = field(default_factory=dict)
    """Messages of which there is only a conflicting copy here, and their threads."""
    origin: str | None = None
    """The thread, which is no more, whose messages they are."""
    stored: Mapping[str, str | None] = field(default_factory=dict)
    """The thread of each message that was looked up, as far as it is stored."""


@dataclass
class _Plan:
    """What is to be written."""

    slice: _Slice
    loaded: _Loaded
    result: ThreadingResult
    threads: Sequence[Thread]
    """Those that change, as they are to be stored."""
    states: Mapping[str, ThreadState]
    """Those that the messages are in, changed or not."""
    losers: list[Thread] = field(default_factory=list)
    """Those that messages have left, and that still exist: known when these have their labels."""
    relabelled: list[Message] = field(default_factory=list)

    @property
    def is_moving(self) -> bool:
        moves = self.result.moved or self.result.merges or self.slice.origin
        return bool(moves) or any(thread.absorbing for thread in self.threads)


class Registry:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._store = clients.store
        self._index = ThreadIndex(clients.store, clients.runtime.now)

    async def add(
        self, messages: Sequence[PreparedMessage], archive: ArchiveOfSource, session: Session
    ) -> Threaded:
        """Thread and store these messages of an archive."""
        for _ in range(MAX_WRITE_ATTEMPTS):
            arrivals, plan, homes = await self._planned(messages, archive, session)
            writes = message_writes(arrivals, homes, archive.source, self._clients.runtime.now())
            if await self._write(plan, writes, session):
                return _threaded(plan, homes, writes.touched_elsewhere)
        raise ChangedMeanwhileError

    async def rethread(
        self, messages: Sequence[Message], source: str, session: Session, *, origin: str | None
    ) -> Threaded:
        """Thread stored messages again, as they are; `origin` is the dropped thread that they were in."""
        own = [links_of(parsed_mail(message)) for message in messages]
        links = placed(own, await load_placements(self._store, source, session))
        facts = {message.message_id: message.to_cosmos() for message in messages}
        bucket = min((message.archive_id for message in messages), default="-")
        slice_ = _Slice(source, bucket, links, facts, origin=origin)
        for _ in range(MAX_WRITE_ATTEMPTS):
            plan = await self._plan(slice_, session)
            if await self._write(plan, MessageWrites(), session):
                return _threaded(plan, plan.result.assignments, {})
        raise ChangedMeanwhileError

    async def rethreaded(
        self, messages: Sequence[PreparedMessage], archive: ArchiveOfSource, session: Session
    ) -> Rethreaded:
        """What adding these messages would come to. Nothing is written."""
        arrivals, plan, homes = await self._planned(messages, archive, session)
        return Rethreaded(arrivals, homes, plan.result)

    async def _planned(
        self, messages: Sequence[PreparedMessage], archive: ArchiveOfSource, session: Session
    ) -> tuple[list[Arrival], _Plan, dict[str, str]]:
        arrivals = await self._arrivals(messages, archive, session)
        slice_ = await self._slice(arrivals, archive, session)
        plan = await self._plan(slice_, session)
        return arrivals, plan, plan.result.assignments | _homes(slice_.conflicting, plan.result)

    async def _arrivals(
        self, messages: Sequence[PreparedMessage], archive: ArchiveOfSource, session: Session
    ) -> list[Arrival]:
        posts = sorted({message.document["id"] for message in messages})
        own: dict[str, Row] = {}
        elsewhere: dict[str, list[Row]] = {}
        for row in await self._store.query_by_ids(STORED_COPIES, posts, session):
            if row["source"] == archive.source:
                own[row["message_id"]] = row
            else:
                elsewhere.setdefault(row["message_id"], []).append(row)
        return arrivals_of(messages, archive, own, elsewhere)

    async def _slice(self, arrivals: Sequence[Arrival], archive: ArchiveOfSource, session: Session) -> _Slice:
        """A copy that says something else than the first one has no part in threading."""
        taken = [arrival for arrival in arrivals if arrival.says_the_same]
        replaced = [
            arrival.stored["id"] for arrival in taken if arrival.stored is not None and arrival.is_replaced
        ]
        before = await self._store.find_many(Message, replaced, session)
        parents = await load_placements(self._store, archive.source, session)
        return _Slice(
            archive.source,
            archive.id,
            placed([arrival.message.links for arrival in taken], parents),
            {arrival.message.node: _fact(arrival, archive.id) for arrival in taken},
            [links_of(parsed_mail(message)) for message in before.values()],
            {
                arrival.message.node: arrival.stored["thread_id"]
                for arrival in arrivals
                if arrival.stored is not None and not arrival.says_the_same
            },
            stored={
                arrival.message.node: arrival.stored["thread_id"] if arrival.stored else None
                for arrival in arrivals
            },
        )

    async def _plan(self, slice_: _Slice, session: Session) -> _Plan:
        wanted = wanted_by([*slice_.links, *slice_.replaced])
        # The ids that threads of these messages alone can have; references in a circle excepted.
        roots = {links.ancestors[-1] if links.ancestors else links.node for links in slice_.links}
        own = {thread_id(root, slice_.source) for root in roots}
        names = {*own, *slice_.conflicting.values(), *filter(None, slice_.stored.values())}
        loaded = await self._load(wanted, names, slice_, session)
        arrived = {links.node for links in slice_.links}
        await self._load_more(
            loaded, wanted_by_known(arrived, loaded.states().values()), slice_.source, session
        )
        states = loaded.states()
        result = assign_within_limit(slice_.links, states, slice_.source)
        reborn = await self._reborn(result, loaded, names, session)
        gone = {merge.thread_id for merge in result.merges}
        states = {name: state for name, state in states.items() if name not in gone} | result.threads
        added: dict[str, list[Fact]] = {}
        for node, home in result.assignments.items():
            added.setdefault(home, []).append(slice_.facts[node])
        rebuilt = await self._rebuilt(slice_, result, loaded.threads, states, session)
        changes = ThreadChanges(
            slice_.source,
            result,
            loaded.threads,
            added,
            rebuilt,
            slice_.origin,
            dict.fromkeys(_homes(slice_.conflicting, result).values(), slice_.bucket),
            reborn,
        )
        threads = thread_documents(changes, self._clients.runtime.now())
        return _Plan(slice_, loaded, result, threads, states)

    async def _reborn(
        self, result: ThreadingResult, loaded: _Loaded, looked_up: Collection[str], session: Session
    ) -> dict[str, Thread]:
        """The redirects that are threads of their own again."""
        new = result.threads.keys() - loaded.threads.keys()
        more = await self._find(new - loaded.redirects.keys() - set(looked_up), session)
        redirects = (loaded.redirects | more).items()
        reborn = {name: thread for name, thread in redirects if name in new and thread.merged_into}
        loaded.moved = {old: into for old, into in loaded.moved.items() if old not in reborn}
        return reborn

    async def _rebuilt(
        self,
        slice_: _Slice,
        result: ThreadingResult,
        known: Mapping[str, Thread],
        states: Mapping[str, ThreadState],
        session: Session,
    ) -> dict[str, list[Fact]]:
        """All that is known of the members of those threads that do not only grow."""
        changed = {name for pair in result.moved.values() for name in pair}
        changed |= {result.assignments[links.node] for links in slice_.replaced}
        if not changed:
            return {}
        places = {*changed, *(old for name in changed & known.keys() for old in known[name].absorbing)}
        facts: dict[str, Fact] = {}
        absorbed = {old for thread in known.values() for old in thread.absorbing}
        for place in sorted(places & (known.keys() | absorbed)):
            async for row in self._store.query(MEMBER_FACTS, session, thread=place):
                facts[row["message_id"]] = row
        facts |= slice_.facts
        return {
            name: [facts[node] for node in states[name].present if node in facts]
            for name in changed & states.keys()
        }

    async def _write(self, plan: _Plan, writes: MessageWrites, session: Session) -> bool:
        """False where something had changed since it was read: then it is planned again."""
        if plan.is_moving:
            return await self._write_moving(plan, writes, session)
        # Writes 2, then 1 and 5. After a crash the index may not know a thread. The next attempt also looks
        # for the ids that its messages alone would give their threads.
        if await self._store.write_all(plan.threads, session) is Conflict.CONFLICT:
            return False
        done = await gather_limited([self._enter(plan, session), self._store_messages(writes, session)])
        return all(done)

    async def _write_moving(self, plan: _Plan, writes: MessageWrites, session: Session) -> bool:
        """Writes 1 to 5."""
        if not await self._enter(plan, session) or not await self._enter_moved(plan, session):
            return False
        known = plan.loaded.threads
        redirects = [thread_merged(known[merge.thread_id], into=merge.into) for merge in plan.result.merges]
        in_order = gaining_first(plan.threads, plan.result.moved.values())
        for threads in (*in_order, redirects):
            if await self._store.write_all(threads, session) is Conflict.CONFLICT:
                return False
        for thread in plan.threads:
            losers, relabelled = await absorb(self._clients, thread, session)
            plan.losers += losers
            plan.relabelled += relabelled
        return await self._store_messages(writes, session)  # last: some may have moved

    async def _load(
        self, wanted: Wanted, names: Collection[str], slice_: _Slice, session: Session
    ) -> _Loaded:
        """The threads that the messages may belong to, and those with these ids; redirects are followed."""
        found, threads = await asyncio.gather(
            self._index.find(
                wanted.ids, wanted.entries, slice_.source, session, looked_up=slice_.stored.keys()
            ),
            self._find(names, session),
        )
        loaded = _Loaded([found], {}, {})
        await self._follow(loaded, threads, found.threads(), session)
        return loaded

    async def _load_more(self, loaded: _Loaded, wanted: Wanted, source: str, session: Session) -> None:
        if not wanted.ids and not wanted.entries:
            return
        found = await self._index.find(wanted.ids, wanted.entries, source, session)
        loaded.found.append(found)
        await self._follow(loaded, {}, found.threads(), session)

    async def _follow(
        self, loaded: _Loaded, threads: dict[str, Thread], names: set[str], session: Session
    ) -> None:
        wanted = names | _redirect_targets(threads)
        while wanted := wanted - threads.keys() - loaded.threads.keys():
            threads |= await self._find(wanted, session)
            wanted = {name for name in _redirect_targets(threads) if name not in threads}
        moved = {
            name: _follow_redirects(name, threads) for name, thread in threads.items() if thread.merged_into
        }
        loaded.moved |= moved
        loaded.redirects |= {name: threads[name] for name in moved}
        loaded.threads |= {name: threads[name] for name in threads.keys() - moved.keys()}

    async def _find(self, names: Collection[str], session: Session) -> dict[str, Thread]:
        """Those that exist. They are in many partitions: one query over all is cheaper than point reads."""
        found = await self._store.query_by_ids(THREADS_BY_ID, names, session)
        return {row["id"]: read_document(Thread, row) for row in found}

    async def _enter(self, plan: _Plan, session: Session) -> bool:
        touched, loaded = (
            {name: plan.states[name] for name in {*plan.result.assignments.values()}},
            plan.loaded,
        )
        return await self._index.enter(touched, loaded.found[0], loaded.moved, plan.slice.bucket, session)

    async def _enter_moved(self, plan: _Plan, session: Session) -> bool:
        """The entries of a message that moves have to name its new thread."""
        homes = {node: new for node, (_, new) in plan.result.moved.items()}
        states = {name: plan.states[name] for name in set(homes.values())}
        members = [states[new].members[node] for node, new in homes.items()]
        ids = {id_ for member in members for id_ in (member.parent, *member.wants) if id_}
        entries = [entry for state in states.values() for entry in state.subjects if entry.node in homes]
        found = await self._index.find(sorted(ids), entries, plan.slice.source, session)
        return await self._index.enter(states, found, plan.loaded.moved, plan.slice.bucket, session)

    async def _store_messages(self, writes: MessageWrites, session: Session) -> bool:
        """False where one is there that was not: the worker that had the lease before was slow."""
        created = await self._store.create_missing(writes.created, session)
        if len(created) < len(writes.created):
            return False
        await self._store.patch_all(Message, writes.patches, session)
        replaced = {str(document.stored["thread_id"]) for document in writes.replaced}
        await threads_changed(self._store, sorted(replaced | writes.flagged), session)
        await self._store.upsert_all(writes.replaced, session)
        return True


def _fact(arrival: Arrival, archive_id: str) -> Fact:
    known = arrival.stored["archive_ids"] if arrival.stored else ()
    return {**arrival.message.document, "archive_ids": sorted({*known, archive_id})}


def _homes(conflicting: Mapping[str, str], result: ThreadingResult) -> dict[str, str]:
    """The threads of copies that have no part in threading: they stay with the copy that has."""
    return {
        node: result.moved[node][1] if node in result.moved else thread
        for node, thread in conflicting.items()
    }


def _threaded(plan: _Plan, homes: Mapping[str, str], elsewhere: Mapping[str, str]) -> Threaded:
    source, result = plan.slice.source, plan.result
    threads = {message_key(node, source): home for node, home in homes.items()}
    moved = {message_key(node, source): new for node, (_, new) in result.moved.items()}
    touched = {
        message_key(min(ThreadState.from_document(loser.threading).members), source): loser.id
        for loser in plan.losers
    }
    moved |= {message.id: message.thread_id for message in plan.relabelled}
    return Threaded(threads, moved, plan.relabelled, {**touched, **elsewhere})


def _redirect_targets(threads: Mapping[str, Thread]) -> set[str]:
    return {thread.merged_into for thread in threads.values() if thread.merged_into}


def _follow_redirects(name: str, threads: dict[str, Thread]) -> str:
    """The thread at the end of its redirects."""
    while name in threads and (following := threads[name].merged_into):
        name = following
    return name
