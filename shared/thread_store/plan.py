"""Plan one commit: the changes that mails or a deletion make to the threads and entries of their source.

A plan is one transactional batch on the condition that the source has the version that was read. Planning
reads the state of the source and writes nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.azure.cosmos.session import MAX_OPERATIONS, BatchWrite
from shared.core.ids import (
    message_entry_id,
    message_key,
    thread_id,
    todo_entry_id,
    version_entry_id,
)
from shared.core.json_size import json_bytes_at_most
from shared.core.times import stored_time
from shared.models.threads import SourceVersion, Thread
from shared.pipeline.state.threads import redirect_thread
from shared.thread_store.entries import (
    Row,
    awaited,
    entry_ids,
    id_entry,
    is_empty,
    new_entry,
    subject_spans,
    threads_named,
    with_span,
    with_thread,
)
from shared.thread_store.message_documents import IncomingMessage
from shared.thread_store.placements import placed
from shared.thread_store.source_state import SourceState
from shared.thread_store.thread_documents import (
    MessageFacts,
    ThreadChanges,
    archive_fields,
    thread_documents,
)
from shared.threading.assignment import (
    BY_LIMIT,
    ReplyLinks,
    ThreadingResult,
    ThreadState,
    wanted_by,
    wanted_by_known,
)
from shared.threading.limit import assign_within_limit
from shared.threading.subject_links import SubjectEntry

MAX_BATCH_BYTES = 1_900_000  # of the two million that a batch may have


@dataclass
class CommitPlan:
    """The writes of a commit, and the state after it."""

    version: int
    """The version that was read, or 0. The commit raises it."""
    homes: dict[str, str] = field(default_factory=dict)
    """The thread of each planned message, by node."""
    entries: dict[str, Row | None] = field(default_factory=dict)
    """None deletes the entry."""
    threads: dict[str, Thread | None] = field(default_factory=dict)
    states: dict[str, ThreadState] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    """The ETags of the threads that are replaced or deleted."""
    todo: Row | None = None
    result: ThreadingResult | None = None
    takes_out: bool = False
    """Whether the plan removes messages from a thread for good."""

    @property
    def is_empty(self) -> bool:
        return not (self.entries or self.threads or self.todo)

    def operations(self, source: str, now: datetime) -> list[BatchWrite]:
        """Return the writes, the version first. If the version is refused, all that was read is outdated."""
        writes = [self._raising(source, now)]
        for name, thread in sorted(self.threads.items()):
            etag = self.etags.get(name)
            if thread is None:
                writes.append(BatchWrite("delete", name, etag=etag))
            elif etag is None:
                writes.append(BatchWrite("create", name, thread.to_cosmos()))
            else:
                writes.append(BatchWrite("replace", name, thread.to_cosmos(), etag=etag))
        for id_, entry in sorted(self.entries.items()):
            writes.append(BatchWrite("delete", id_) if entry is None else BatchWrite("upsert", id_, entry))
        if self.todo is not None:
            writes.append(BatchWrite("upsert", self.todo["id"], self.todo))
        return writes

    def next_version(self, now: datetime) -> int:
        """Return the next version. The clock gives the first version, so that no version is used twice."""
        return self.version + 1 if self.version else int(now.timestamp() * 1000)

    def _raising(self, source: str, now: datetime) -> BatchWrite:
        id_, number = version_entry_id(source), self.next_version(now)
        if not self.version:
            new = SourceVersion(id=id_, created_at=now, source=source, version=number)
            return BatchWrite("create", id_, new.to_cosmos())
        changes = [{"op": "set", "path": "/version", "value": number}]
        return BatchWrite("patch", id_, changes=changes, condition=f"c.version = {self.version:d}")


def fits(operations: Sequence[BatchWrite]) -> bool:
    """Return whether the operations fit one batch."""
    size = sum(json_bytes_at_most(dict(write.document)) for write in operations if write.document is not None)
    return len(operations) <= MAX_OPERATIONS and size <= MAX_BATCH_BYTES


class Planner:
    def __init__(self, state: SourceState, now: datetime) -> None:
        self._state = state
        self._now = now
        self._source = state.source

    async def add(self, incoming: Sequence[IncomingMessage], *, alone: bool = False) -> CommitPlan:
        """Return the plan for these mails. `alone`: a mail whose plan fits no batch joins no thread."""
        state, by_node = self._state, {mail.message.node: mail for mail in incoming}
        before = await state.homes(by_node)
        entries = {node: self._with_copies(mail) for node, mail in by_node.items()}
        # A copy with other content than the first copy is threaded only if no copy is in a thread yet.
        threaded = [
            mail
            for node, mail in by_node.items()
            if mail.says_the_same(entries[node]["copies"]) or node not in before
        ]
        if alone:
            threaded = [mail for mail in threaded if mail.message.node not in before]
        links = [mail.message.links for mail in threaded]
        links = (
            [ReplyLinks(own.node, [], [], BY_LIMIT) for own in links]
            if alone
            else placed(links, state.placements)
        )
        known = await self.known(links, before.values(), alone=alone)
        result, known = await self._assigned(links, known)
        moved = {node: new for node, (_, new) in result.moved.items() if node in before}
        homes = before | moved | result.assignments
        facts: dict[str, list[MessageFacts]] = {}
        for mail in threaded:
            node = mail.message.node
            fact = {**mail.message.document, "archive_ids": entries[node]["archives"]}
            facts.setdefault(homes[node], []).append(fact)
        also = {homes[node]: by_node[node].archive.id for node in before if node not in result.assignments}
        replaced = {
            homes[node]
            for node, mail in by_node.items()
            if (old := self._copies(node)) and mail.is_first(copies := entries[node]["copies"])
            and old[0]["variant"] != copies[0]["variant"]
        }  # fmt: skip
        plan = await self._with_threads(result, known, facts, also, frozenset(replaced))
        plan.homes = {node: homes[node] for node in by_node}
        for mail in incoming:
            node = mail.message.node
            self._put(plan, {**entries[node], "home": homes[node]})
        links_of = {own.node: own for own in links}
        for node in result.assignments:
            self._enter(plan, node, homes[node], self._state_in(plan, homes[node]), links_of[node].entries)
        return plan

    async def rethread(self, links: ReplyLinks, facts: MessageFacts) -> CommitPlan:
        """Return the plan for a stored message whose placement has changed."""
        before = await self._state.homes([links.node])
        placed_links = placed([links], self._state.placements)
        known = await self.known(placed_links, before.values())
        result, known = await self._assigned(placed_links, known)
        home = result.assignments[links.node]
        entry = self._state.entries.get(message_entry_id(message_key(links.node, self._source)))
        if entry is not None:
            facts = {**facts, "archive_ids": entry["archives"]}
        plan = await self._with_threads(result, known, {home: [facts]}, {}, frozenset())
        plan.homes = {links.node: home}
        if entry is not None:
            self._put(plan, {**entry, "home": home})
        self._enter(plan, links.node, home, self._state_in(plan, home), placed_links[0].entries)
        return plan

    async def remove(
        self,
        name: str,
        gone: Collection[str],
        links: Sequence[ReplyLinks],
        facts: Mapping[str, MessageFacts],
        redirects: Sequence[str],
    ) -> CommitPlan:
        """Return the plan for a thread without these mails. `links` has the links of all the others."""
        state = self._state
        base = state.living([name])[name]
        others = placed(links, state.placements)
        known = await self.known(others, [])
        known.pop(name, None)
        result = assign_within_limit(others, {other: state.state_of(other) for other in known}, self._source)
        plan = await self._removed(name, base, result, known, facts, redirects)
        if not fits(plan.operations(self._source, self._now)):
            left = ThreadState(
                {node: member for node, member in state.state_of(name).members.items() if node not in gone},
                {entry for entry in state.state_of(name).subjects if entry.node not in gone},
            )
            result = ThreadingResult(
                dict.fromkeys(left.members, name), [], {name: left} if left.members else {}
            )
            plan = await self._removed(name, base, result, {}, facts, redirects)
        return plan

    def redirect_without(self, redirect: Thread, archive_id: str) -> CommitPlan:
        """Return the plan for a redirect without this archive. A redirect without a target is deleted."""
        plan, name = CommitPlan(self._state.version), redirect.id
        archives = [other for other in redirect.archive_ids if other != archive_id]
        if not self._state.living([name]):
            plan.threads[name] = None
        elif archives != redirect.archive_ids:
            plan.threads[name] = redirect.model_copy(update=archive_fields(archives))
        plan.etags[name] = redirect.etag or ""
        return plan

    def without_archive(self, thread: Thread, archives: Collection[str]) -> CommitPlan:
        """Return the plan for a thread whose messages are all in other archives as well."""
        plan = CommitPlan(self._state.version)
        if set(thread.archive_ids) != set(archives):
            plan.threads[thread.id] = thread.model_copy(update=archive_fields(archives))
            plan.etags[thread.id] = thread.etag or ""
        return plan

    async def _removed(
        self,
        name: str,
        base: Thread,
        result: ThreadingResult,
        known: Mapping[str, Thread],
        facts: Mapping[str, MessageFacts],
        redirects: Sequence[str],
    ) -> CommitPlan:
        added: dict[str, list[MessageFacts]] = {}
        for node, home in result.assignments.items():
            added.setdefault(home, []).append(facts[node])
        plan = await self._with_threads(result, known, added, {}, frozenset(), {name: base})
        if name not in plan.threads:
            plan.threads[name] = None
        plan.etags[name] = base.etag or ""
        plan.takes_out = True
        plan.homes = dict(result.assignments)
        if result.assignments:
            keys = [message_key(node, self._source) for node in result.assignments]
            dropped = [name, *redirects] if plan.threads[name] is None else []
            self._add_todo(plan, keys, set(result.assignments.values()), [], {}, dropped)
        return plan

    # threads

    async def known(
        self, links: Sequence[ReplyLinks], names: Iterable[str] = (), *, alone: bool = False
    ) -> dict[str, Thread]:
        """Return the threads that the mails may join, or that may join the mails."""
        state, source = self._state, self._source
        if alone:
            own = {thread_id(mail.node, source) for mail in links}
            await state.need([], own)
            return state.living(own)
        wanted = wanted_by(links)
        await state.need(entry_ids(wanted, source))
        # The ids that threads of these mails alone can have, except for references in a circle.
        own = {thread_id(mail.ancestors[-1] if mail.ancestors else mail.node, source) for mail in links}
        found = {*own, *names, *state.todo_threads(), *threads_named(wanted, source, state.entries)}
        await state.need([], found)
        known = state.living(found)
        arrived = {mail.node for mail in links}
        more = wanted_by_known(arrived, [state.state_of(name) for name in known])
        if more.ids or more.entries:
            await state.need(entry_ids(more, source))
            found = threads_named(more, source, state.entries)
            await state.need([], found)
            known |= state.living(found)
        return known

    async def _assigned(
        self, links: Sequence[ReplyLinks], known: dict[str, Thread]
    ) -> tuple[ThreadingResult, dict[str, Thread]]:
        """Assign the mails to threads, again with each stored thread that has the id of a new thread."""
        state = self._state
        while True:
            states = {name: state.state_of(name) for name in known}
            result = assign_within_limit(links, states, self._source)
            new = result.threads.keys() - known.keys()
            await state.need([], new)
            living = {name: thread for name in new if (thread := state.living([name]).get(name)) is not None}
            if not living:
                return result, known
            known = known | living

    async def _with_threads(
        self,
        result: ThreadingResult,
        known: Mapping[str, Thread],
        facts: Mapping[str, Sequence[MessageFacts]],
        also_in: Mapping[str, str],
        replaced: frozenset[str],
        made_again: Mapping[str, Thread] | None = None,
    ) -> CommitPlan:
        state = self._state
        reborn = {
            name: thread
            for name in result.threads
            if name not in known and (thread := state.threads.get(name)) is not None
        }
        reborn |= {name: thread for name, thread in (made_again or {}).items() if name in result.threads}
        moved = {name for pair in result.moved.values() for name in pair}
        archives = {
            name: await self._archives_of(thread.members.keys() - result.assignments.keys())
            for name, thread in result.threads.items()
            if name in moved
        }
        changes = ThreadChanges(self._source, result, known, facts, also_in, reborn, replaced, archives)
        plan = CommitPlan(state.version, result=result)
        for thread in thread_documents(changes, self._now):
            if thread != known.get(thread.id):
                plan.threads[thread.id] = thread
        for merge in result.merges:
            plan.threads[merge.thread_id] = redirect_thread(known[merge.thread_id], into=merge.into)
        plan.states = dict(result.threads)
        plan.etags = {name: thread.etag for name, thread in plan.threads.items() if thread and thread.etag}
        if result.moved or result.merges:
            self._add_moves(plan, result, known)
        return plan

    async def _archives_of(self, nodes: Iterable[str]) -> set[str]:
        ids = [message_entry_id(message_key(node, self._source)) for node in nodes]
        await self._state.need(ids)
        return {
            archive for id_ in ids if (entry := self._state.entries[id_]) for archive in entry["archives"]
        }

    def _add_moves(self, plan: CommitPlan, result: ThreadingResult, known: Mapping[str, Thread]) -> None:
        gone = {merge.thread_id for merge in result.merges}
        losers = {old for old, _ in result.moved.values()} - gone
        touched = {
            message_key(min(result.threads[name].members), self._source): name
            for name in sorted(losers & known.keys())
        }
        keys = sorted(message_key(node, self._source) for node in result.moved)
        gainers = {new for _, new in result.moved.values()}
        self._add_todo(plan, keys, gainers, sorted(gone), touched)

    def _add_todo(
        self,
        plan: CommitPlan,
        keys: Sequence[str],
        threads: Collection[str],
        merged: Sequence[str],
        touched: Mapping[str, str],
        dropped: Sequence[str] = (),
    ) -> None:
        version = plan.next_version(self._now)
        before = plan.todo or {"keys": [], "threads": [], "merged": [], "touched": {}}
        plan.todo = new_entry(
            todo_entry_id(self._source, version),
            "todo",
            stored_time(self._now),
            source=self._source,
            keys=sorted({*before["keys"], *keys}),
            threads=sorted({*before["threads"], *threads}),
            merged=sorted({*before["merged"], *merged}),
            touched={**before["touched"], **touched},
            dropped=list(dropped),
        )

    def _state_in(self, plan: CommitPlan, name: str) -> ThreadState:
        return plan.states[name] if name in plan.states else self._state.state_of(name)

    # entries

    def _copies(self, node: str) -> list[dict[str, object]]:
        entry = self._state.entries[message_entry_id(message_key(node, self._source))]
        return entry["copies"] if entry is not None else []

    def _with_copies(self, mail: IncomingMessage) -> Row:
        stored = self._state.entries[message_entry_id(mail.key)]
        entry = stored or id_entry(mail.message.node, self._source, stored_time(self._now))
        copies = mail.copies_with(entry["copies"])
        return {**entry, "copies": copies, "archives": sorted({*entry["archives"], mail.archive.id})}

    def _enter(
        self, plan: CommitPlan, node: str, home: str, state: ThreadState, subjects: Iterable[SubjectEntry]
    ) -> None:
        """Add the thread to the entries of the ids that the mail waits for, and of its subjects."""
        now = stored_time(self._now)
        for wanted in awaited(node, state):
            id_ = message_entry_id(message_key(wanted, self._source))
            entry = self._entry(plan, id_) or id_entry(wanted, self._source, now)
            self._put(plan, with_thread(entry, home))
        for id_, span in subject_spans(subjects, self._source).items():
            entry = self._entry(plan, id_) or new_entry(id_, "subject", now, threads={})
            self._put(plan, with_span(entry, home, span))

    def _entry(self, plan: CommitPlan, id_: str) -> Row | None:
        return plan.entries[id_] if id_ in plan.entries else self._state.entries.get(id_)

    def _put(self, plan: CommitPlan, entry: Row) -> None:
        if self._state.entries.get(entry["id"]) != entry:
            plan.entries[entry["id"]] = entry
        else:
            plan.entries.pop(entry["id"], None)

    async def rehome(self, keys: Sequence[str], dropped: Collection[str] = ()) -> CommitPlan:
        """Return the plan that updates the entries of moved messages and removes dropped threads."""
        state = self._state
        ids = [message_entry_id(key) for key in keys]
        await state.need(ids)
        nodes = {entry["message_id"] for id_ in ids if (entry := state.entries[id_]) is not None}
        homes = await state.homes(nodes)
        await state.need(
            {
                message_entry_id(message_key(wanted, self._source))
                for node, home in homes.items()
                for wanted in awaited(node, state.state_of(home))
            }
        )
        subjects: dict[str, list[SubjectEntry]] = {}
        for home in sorted(set(homes.values())):
            for subject in sorted(state.state_of(home).subjects):
                if homes.get(subject.node) == home:
                    subjects.setdefault(subject.node, []).append(subject)
        await state.need({id_ for own in subjects.values() for id_ in subject_spans(own, self._source)})
        plan = CommitPlan(state.version)
        for node, home in sorted(homes.items()):
            own = self._entry(plan, message_entry_id(message_key(node, self._source)))
            if own is not None:
                self._put(plan, {**own, "home": home})
            self._enter(plan, node, home, state.state_of(home), subjects.get(node, ()))
        if dropped:
            for id_ in [*state.entries]:
                named = self._entry(plan, id_)
                if named is not None and (left := without_threads(named, dropped)) != named:
                    self._put_or_delete(plan, left, id_)
        return plan

    def _put_or_delete(self, plan: CommitPlan, entry: Row, id_: str) -> None:
        if is_empty(entry) or entry.get("threads") == {}:
            if self._state.entries.get(id_) is not None:
                plan.entries[id_] = None
            else:
                plan.entries.pop(id_, None)
        else:
            self._put(plan, entry)

    async def forget(self, ids: Sequence[str], names: Collection[str]) -> CommitPlan:
        """Return the plan that removes these threads from these entries."""
        await self._state.need(ids)
        plan = CommitPlan(self._state.version)
        for id_ in ids:
            entry = self._state.entries[id_]
            if entry is not None and (left := without_threads(entry, names)) != entry:
                self._put_or_delete(plan, left, id_)
        return plan

    async def take_out(self, ids: Sequence[str], archive_id: str) -> CommitPlan:
        """Return the plan that removes this archive from these entries of messages."""
        await self._state.need(ids)
        plan = CommitPlan(self._state.version)
        for id_ in ids:
            entry = self._state.entries[id_]
            if entry is None or archive_id not in entry["archives"]:
                continue
            archives = [other for other in entry["archives"] if other != archive_id]
            copies = [copy for copy in entry["copies"] if copy["archive_id"] != archive_id]
            home = entry["home"] if archives else None
            self._put_or_delete(plan, {**entry, "archives": archives, "copies": copies, "home": home}, id_)
        return plan


def without_threads(entry: Row, names: Collection[str]) -> Row:
    if entry["kind"] == "id":
        return {**entry, "waits": [name for name in entry["waits"] if name not in names]}
    return {**entry, "threads": {name: span for name, span in entry["threads"].items() if name not in names}}


def part_of(plan: CommitPlan, operations: int) -> CommitPlan:
    """Return as much of a plan of entries alone as fits one batch. A later plan has the rest."""
    some = dict(sorted(plan.entries.items())[: operations - 1])
    return replace(plan, entries=some)
