"""Commit messages to the threads of their source, one transactional batch at a time.

    read the version, then entries, threads and open todos
    plan as many mails as fit one batch
    write the batch, which raises the version (plan again if another worker has raised the version)
    write messages and labels as the entries say, and compare again if the version has changed
    announce the messages, then delete the todos

A batch changes a source from one valid state to another, so workers need no lock: each worker plans on the
commits of the others. A batch that moves stored messages has a todo, which a redelivery or the sweep finishes
after a crash. After several conflicts a worker takes an advisory lock to avoid more wasted work.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from shared.azure.connections import Clients
from shared.azure.cosmos.lease import Lease, LeaseTakenError
from shared.azure.cosmos.session import MAX_OPERATIONS, BatchWrite, Refusal, Session
from shared.core.errors import TransientError
from shared.core.ids import (
    message_entry_id,
    message_key,
    placement_entry_id,
    source_key,
    tombstone_entry_id,
    version_entry_id,
)
from shared.core.times import stored_time
from shared.models.threads import Message, Thread
from shared.pipeline.state.summaries import withdraw_report
from shared.thread_store.entries import Row, awaited, new_entry, subject_spans, times_of
from shared.thread_store.message_documents import (
    ArchiveOfSource,
    IncomingMessage,
    incoming_messages,
    parsed_mail,
)
from shared.thread_store.message_writer import MessageWriter, link_cross_posts
from shared.thread_store.plan import CommitPlan, Planner, fits, part_of
from shared.thread_store.source_state import SourceState
from shared.thread_store.thread_documents import MessageFacts
from shared.threading.assignment import BY_SUBJECT, ReplyLinks, ThreadState, links_of
from shared.threading.limit import assign_within_limit
from shared.threading.prepared_message import PreparedMessage

log = logging.getLogger(__name__)
MAX_CONFLICTS = 100
CONFLICTS_UNTIL_LOCK = 3
LOCK_PATIENCE = 20.0  # seconds, after which the worker continues without the lock
PLANNED_OPERATIONS = 90  # of a batch, as estimated before it is planned


class SourceBusyError(TransientError):
    """Other workers changed the threads of the source at every attempt to commit to them."""


class ArchiveGoneError(Exception):
    """The archive was deleted, so nothing of it is committed any more."""


@dataclass
class CommitResult:
    """The threads of messages, by message key."""

    threads: dict[str, str] = field(default_factory=dict)
    """The threads of the added messages."""
    moved: dict[str, str] = field(default_factory=dict)
    """The threads of messages that were in another thread before. These messages have to be announced."""
    touched: dict[str, str] = field(default_factory=dict)
    """A message of each thread that got no message but needs a new summary."""
    todos: list[str] = field(default_factory=list)
    """The todos to delete after the announcement."""


class ThreadCommit:
    def __init__(
        self, clients: Clients, source: str, session: Session, archive: ArchiveOfSource | None = None
    ) -> None:
        self._clients, self._store = clients, clients.store
        self._source, self._session, self._archive = source, session, archive
        self.state = SourceState(clients.store, source, session, archive.id if archive else None)
        self._conflicts = 0
        self._finished: set[str] = set()

    # adding messages

    async def add(self, messages: Sequence[PreparedMessage], archive: ArchiveOfSource) -> CommitResult:
        """Thread and store these messages of an archive. Raise ArchiveGoneError if it was deleted."""
        incoming = incoming_messages(messages, archive)
        own: list[Row] = []
        await self.state.read()
        async with AsyncExitStack() as stack:
            left = await self._in_order([*incoming.values()])
            while left:
                self._ensure_archive(archive)
                plan, count = await self._fitting(left)
                if plan.is_empty or await self._execute(plan, stack):
                    own += [plan.todo] if plan.todo is not None else []
                    left = left[count:]
                else:
                    left = await self._in_order(left)
        return await self._written(incoming, own)

    async def _written(self, incoming: Mapping[str, IncomingMessage], own: Sequence[Row]) -> CommitResult:
        by_key = {mail.key: mail for mail in incoming.values()}
        writer = MessageWriter(self._clients, self.state, self._session)
        await writer.write(by_key.keys(), by_key)
        posts = {mail.message.document["id"]: key for key, mail in by_key.items()}
        touched = await link_cross_posts(
            self._clients, self._source, posts, writer.cross_posted, self._session
        )
        result = CommitResult(dict(writer.homes), touched=touched)
        # Todos of an interrupted run of this archive are finished here, others by their workers or the sweep.
        mine = {todo["id"]: todo for todo in own}
        mine |= {todo["id"]: todo for todo in self.state.todos if self._is_of_archive(todo)}
        await self.finish([todo for id_, todo in mine.items() if id_ not in self._finished], result)
        return result

    def _is_of_archive(self, todo: Row) -> bool:
        return self._archive is not None and todo.get("archive") == self._archive.id

    def _ensure_archive(self, archive: ArchiveOfSource) -> None:
        tombstone = self.state.tombstone
        if tombstone is not None and tombstone["arrived"] == archive.arrived:
            raise ArchiveGoneError

    async def preview(
        self, messages: Sequence[PreparedMessage], archive: ArchiveOfSource
    ) -> tuple[dict[str, IncomingMessage], CommitPlan]:
        """Return the plan for these messages. Nothing is written."""
        incoming = incoming_messages(messages, archive)
        await self.state.read()
        return incoming, await self._planner().add([*incoming.values()])

    async def _in_order(self, mails: Sequence[IncomingMessage]) -> list[IncomingMessage]:
        """Group the mails by thread, so that a thread document is written once. Read what they need."""
        planner = self._planner()
        links = [mail.message.links for mail in mails]
        known = await planner.known(links)
        states = {name: self.state.state_of(name) for name in known}
        homes = assign_within_limit(links, states, self._source).assignments
        first: dict[str, int] = {}
        for number, mail in enumerate(mails):
            first.setdefault(homes[mail.message.node], number)
        return sorted(mails, key=lambda mail: first[homes[mail.message.node]])

    async def _fitting(self, mails: Sequence[IncomingMessage]) -> tuple[CommitPlan, int]:
        """Return the plan for as many of the first mails as fit one batch, and their number."""
        count = self._planned_count(mails)
        while True:
            plan = await self._planner().add(mails[:count])
            if fits(self._operations(plan)):
                return plan, count
            if count == 1:
                return await self._planner().add(mails[:1], alone=True), 1
            count = max(1, count // 2)

    def _planned_count(self, mails: Sequence[IncomingMessage]) -> int:
        ids: set[str] = set()
        for number, mail in enumerate(mails):
            links = mail.message.links
            ids.add(links.node)
            ids.update(links.ancestors)
            ids.update(times_of(links.entries, self._source))
            if links.ancestors:
                ids.add(f"thread {links.ancestors[-1]}")
            if len(ids) > PLANNED_OPERATIONS and number:
                return number
        return len(mails)

    # corrections and deletions

    async def place(self, message_id: str, message: Message | None, parent: str | None) -> CommitResult:
        """Store an operator's parent of a message and move the message. None restores its own headers."""
        key = message_key(message_id, self._source)
        id_, entry = placement_entry_id(key), None
        if parent is not None:
            fields = {"source": self._source, "message_id": message_id, "parent": parent}
            entry = new_entry(id_, "placement", self._now(), **fields)

        async def plan() -> CommitPlan:
            self.state.placements.pop(message_id, None)
            if parent is not None:
                self.state.placements[message_id] = parent
            made = CommitPlan(self.state.version)
            if message is not None and await self.state.homes([message_id]):
                links = links_of(parsed_mail(message))
                made = await self._planner().rethread(links, message.to_cosmos())
            await self.state.need([id_])
            if self.state.entries[id_] is not None or entry is not None:
                made.entries[id_] = entry
            return made

        await self.state.read()
        done = await self._committed(plan)
        writer = MessageWriter(self._clients, self.state, self._session)
        await writer.write([key], {})
        result = CommitResult(dict(writer.homes))
        await self.finish([done.todo] if done.todo is not None else [], result)
        return result

    async def remove(
        self,
        name: str,
        gone: Collection[str],
        load: Callable[[Sequence[str]], Awaitable[Sequence[Message]]],
        *,
        archive_id: str,
        redirects: Sequence[str] = (),
        check: Callable[[], Awaitable[None]] | None = None,
    ) -> CommitPlan:
        """Remove these messages (by node) and the archive from a thread or a redirect.

        `load` loads messages by key, and `check` runs before each plan. Answers to removed messages are
        linked again. A thread that loses messages gets a new document, because its summary may quote them.
        """

        async def plan() -> CommitPlan:
            if check is not None:
                await check()
            await self.state.need([], [name])
            thread = self.state.threads[name]
            if thread is None:
                return CommitPlan(self.state.version)
            if thread.merged_into:
                return self._planner().redirect_without(thread, archive_id)
            members = self.state.state_of(name).members
            staying = [node for node in members if node not in gone]
            archives = await self._archives_of(staying, archive_id)
            if len(staying) == len(members):
                return self._planner().without_archive(thread, set().union(*archives.values()))
            stored = {message.message_id: message for message in await load(self._keys(staying))}
            links = [
                links_of(parsed_mail(stored[node]))
                if node in stored
                else _links_of_member(node, self.state.state_of(name))
                for node in staying
            ]
            facts = {node: _facts(stored.get(node), archives[node]) for node in staying}
            return await self._planner().remove(name, gone, links, facts, redirects)

        await self.state.read()
        return await self._committed(plan)

    async def entries_of_these_alone(self, name: str, gone: Collection[str]) -> list[str]:
        """Return the entries that name the thread because of these messages alone."""
        await self.state.need([], [name])
        if (thread := self.state.threads[name]) is None or thread.merged_into:
            return []
        state = self.state.state_of(name)
        needed, unneeded = set[str](), set[str]()
        for node in state.members:
            (unneeded if node in gone else needed).update(awaited(node, state))
        own = state.members.keys() & gone  # their entries may name the thread from before they arrived
        ids = {message_entry_id(key) for key in self._keys((unneeded - needed) | own)}
        going = subject_spans((entry for entry in state.subjects if entry.node in gone), self._source)
        staying = subject_spans((entry for entry in state.subjects if entry.node not in gone), self._source)
        return sorted(ids | (going.keys() - staying.keys()))

    def _keys(self, nodes: Iterable[str]) -> list[str]:
        return [message_key(node, self._source) for node in nodes]

    async def _archives_of(self, nodes: Sequence[str], archive_id: str) -> dict[str, set[str]]:
        """Return the other archives that have each of these messages."""
        ids = {node: message_entry_id(message_key(node, self._source)) for node in nodes}
        await self.state.need(ids.values())
        return {
            node: set(entry["archives"] if (entry := self.state.entries[id_]) else ()) - {archive_id}
            for node, id_ in ids.items()
        }

    async def forget(self, ids: Sequence[str], names: Collection[str]) -> None:
        """Remove these threads from these entries."""
        await self._commit_all(lambda: self._planner().forget(ids, names))

    async def take_out(self, ids: Sequence[str], archive_id: str) -> None:
        """Remove this archive from these entries of messages."""
        await self._commit_all(lambda: self._planner().take_out(ids, archive_id))

    async def bury(self, archive_id: str, arrived: str) -> None:
        """Stop commits of this archive. A later archive with this id has another time of arrival."""
        id_ = tombstone_entry_id(self._source, archive_id)

        async def plan() -> CommitPlan:
            await self.state.need([id_])
            known, made = self.state.entries[id_], CommitPlan(self.state.version)
            if known is None or known["arrived"] != arrived:
                fields = {"source": self._source, "of": archive_id, "arrived": arrived}
                made.entries[id_] = new_entry(id_, "gone", self._now(), **fields)
            return made

        await self.state.read()
        await self._committed(plan)

    # todos

    async def finish(self, todos: Sequence[Row], result: CommitResult) -> None:
        """Update the entries and labels of moved messages, and withdraw the reports of merged threads."""
        if not todos:
            return
        keys = sorted({key for todo in todos for key in todo["keys"]})
        dropped = {name for todo in todos for name in todo["dropped"]}
        await self._commit_all(lambda: self._planner().rehome(keys, dropped))
        writer = MessageWriter(self._clients, self.state, self._session)
        await writer.write(keys, {})
        for name in sorted({name for todo in todos for name in todo["merged"]}):
            await withdraw_report(self._store, name, name, self._session)
        result.moved |= writer.homes
        for todo in todos:
            result.touched |= todo["touched"]
        result.todos += [todo["id"] for todo in todos]
        self._finished |= {*result.todos}

    async def finish_open(self) -> CommitResult:
        """Finish all open todos. If another worker finishes them too, nothing changes."""
        await self.state.read()
        result = CommitResult()
        await self.finish(self.state.todos, result)
        return result

    async def forget_todos(self, result: CommitResult) -> None:
        """Delete the todos. Precondition: the messages that they moved are announced."""
        for id_ in result.todos:
            await self._store.transact(
                Thread.container, self.state.partition, [BatchWrite("delete", id_)], self._session
            )

    # committing

    async def _commit_all(self, plan: Callable[[], Awaitable[CommitPlan]]) -> None:
        """Commit a plan that has entries alone, in as many batches as needed."""

        async def part() -> CommitPlan:
            return part_of(await plan(), MAX_OPERATIONS)

        if not self.state.version:
            await self.state.read()
        while not (await self._committed(part)).is_empty:
            pass

    async def _committed(self, plan: Callable[[], Awaitable[CommitPlan]]) -> CommitPlan:
        """Plan until a commit succeeds, and return the committed plan, which may be empty."""
        async with AsyncExitStack() as stack:
            while True:
                made = await plan()
                if made.is_empty or await self._execute(made, stack):
                    return made

    async def _execute(self, plan: CommitPlan, stack: AsyncExitStack) -> bool:
        """Commit the plan and return whether that succeeded. If not, discard the outdated state."""
        if plan.todo is not None and self._archive is not None:
            plan.todo["archive"] = self._archive.id
        operations = self._operations(plan)
        done = await self._store.transact(Thread.container, self.state.partition, operations, self._session)
        if not isinstance(done, Refusal):
            threads = {
                name: thread and thread.model_copy(update={"etag": done.get(name)})
                for name, thread in plan.threads.items()
            }
            version = plan.next_version(self._clients.runtime.now()) if plan.version else 0
            self.state.apply(version, plan.entries, threads, plan.states, plan.todo)
            for name, thread in threads.items():
                if thread is not None and thread.etag is None:
                    self.state.forget_thread(name)
            if not plan.version:
                await self.state.read()  # the first version of a source comes from the clock
            return True
        self._conflicts += 1
        if self._conflicts > MAX_CONFLICTS:
            raise SourceBusyError
        if done.id == version_entry_id(self._source):
            if self._conflicts == CONFLICTS_UNTIL_LOCK:
                await self._lock(stack)
            await self.state.read()
        else:
            self.state.forget_thread(done.id)
        return False

    async def _lock(self, stack: AsyncExitStack) -> None:
        """Take the advisory lock, or wait for it. No write depends on the lock."""
        name = f"threads-{source_key(self._source)}"
        lease = Lease(self._store, name, self._clients.runtime, patience=LOCK_PATIENCE)
        try:
            await stack.enter_async_context(lease.hold(self._session))
        except LeaseTakenError:
            log.info("the lock %s was not free within %.0f s: going on without it", name, LOCK_PATIENCE)

    def _operations(self, plan: CommitPlan) -> list[BatchWrite]:
        return plan.operations(self._source, self._clients.runtime.now())

    def _planner(self) -> Planner:
        return Planner(self.state, self._clients.runtime.now())

    def _now(self) -> str:
        return stored_time(self._clients.runtime.now())


def _links_of_member(node: str, state: ThreadState) -> ReplyLinks:
    """Return the links of a member whose message is not stored yet, from the thread's state."""
    member = state.members[node]
    named = list(member.wants) if member.via == BY_SUBJECT else member.named
    entries = sorted(entry for entry in state.subjects if entry.node == node)
    return ReplyLinks(node, named, entries)


def _facts(message: Message | None, archives: Collection[str]) -> MessageFacts:
    unknown: MessageFacts = {
        "subject": "",
        "from": {"name": "", "email": ""},
        "date": None,
        "draft_mentions": [],
    }
    return {**(message.to_cosmos() if message is not None else unknown), "archive_ids": sorted(archives)}
