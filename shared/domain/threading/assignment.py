"""Threads as a pure function of the set of messages.

A thread is a connected component of messages. Two messages are linked
- by ids: one names the other, or both name the same third, in References or In-Reply-To;
- by subject, only where one of them has no such header at all: see `subject_links`.

Each link depends on its two messages alone, never on what else is known or on what came first. So the
components of a set of messages are the same in any order, any split into archives and with any repetition,
and a state that is kept for each component can be merged by joins (unions, minima, ors), which are
commutative, associative and idempotent. Nothing that was ever linked comes apart again: a later message can
merge threads, never split them.

The root of a thread is the id that no message of it names a parent for (or, in a cycle, any of its ids); of
several, the one that was mentioned earliest, then the smallest. It need not be present: a thread whose
beginning is in no archive is named after the message that the others refer to.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from shared.core.ids import thread_id
from shared.domain.mail.models import ParsedMail
from shared.domain.threading.subject_links import SubjectEntry, entries_of
from shared.domain.threading.subject_links import links as subject_links

_NEVER = "9999"


class Links(NamedTuple):
    """What a message says of where it belongs."""

    node: str
    chain: list[str]
    """The ids in References, the root's first."""
    parents: list[str]
    """What In-Reply-To names besides."""
    date: str
    """ISO 8601, UTC; later than any other where the message has none."""
    entries: list[SubjectEntry]


class Node(NamedTuple):
    """What a thread knows of one message id."""

    present: bool
    has_parent: bool
    earliest: str
    """The earliest date (ISO 8601, UTC) of the messages that have or name this id."""


@dataclass(slots=True)
class ThreadState:
    """Everything that is kept of a thread to thread further messages. All of it grows by joins only."""

    nodes: dict[str, Node] = field(default_factory=dict)
    subjects: set[SubjectEntry] = field(default_factory=set)

    @property
    def root(self) -> str:
        roots = [one for one, node in self.nodes.items() if not node.has_parent] or list(self.nodes)
        return min(roots, key=lambda one: (self.nodes[one].earliest, one))

    @property
    def thread_id(self) -> str:
        return thread_id(self.root)

    @property
    def present(self) -> list[str]:
        """The ids of the messages that are here, sorted."""
        return sorted(one for one, node in self.nodes.items() if node.present)

    def to_document(self) -> dict[str, Any]:
        """As JSON. Ids and keys are values in arrays, so that an index can find them."""
        times: dict[str, list[list[int]]] = {}
        for key, at, seeks in sorted(self.subjects):
            times.setdefault(key, []).append([at, int(seeks)])
        return {
            "nodes": [
                {"id": one, "present": node.present, "has_parent": node.has_parent, "earliest": node.earliest}
                for one, node in sorted(self.nodes.items())
            ],
            "subjects": [{"key": key, "times": pairs} for key, pairs in times.items()],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "ThreadState":
        return cls(
            {
                one["id"]: Node(one["present"], one["has_parent"], one["earliest"])
                for one in document["nodes"]
            },
            {
                SubjectEntry(subject["key"], at, bool(seeks))
                for subject in document["subjects"]
                for at, seeks in subject["times"]
            },
        )


class KnownThreads(Protocol):
    """What is known from before. Both lookups may return more threads than asked for, never fewer."""

    def by_message_ids(self, ids: Sequence[str]) -> Iterable[ThreadState]:
        """The threads that know any of these ids, be the message present or only named."""

    def by_subject_keys(self, keys: Sequence[str]) -> Iterable[ThreadState]:
        """The threads that have a subject entry with any of these keys."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A thread that is now another one: what belongs to it has to follow."""

    thread_id: str
    into: str


@dataclass(slots=True)
class ThreadingResult:
    assignments: dict[str, str]
    """Each message's node id (see `Message.node`) to its thread's id."""
    merges: list[Merge]
    """Known threads that got another id, because they were merged or because an earlier root became known."""
    threads: dict[str, ThreadState]
    """The threads that are new or changed, by their id."""


def links_of(message: ParsedMail) -> Links:
    node = message.node
    chain = [one for one in message.references if one != node]
    parents = [one for one in message.in_reply_to if one != node and one not in chain]
    date = message.date.isoformat() if message.date else _NEVER
    return Links(node, chain, parents, date, entries_of(message))


def assign(messages: Iterable[ParsedMail], known: KnownThreads) -> ThreadingResult:
    """Thread messages into what is known. Doing it again, or in another order, changes nothing."""
    return assign_links(map(links_of, messages), known)


def assign_links(messages: Iterable[Links], known: KnownThreads) -> ThreadingResult:
    forest = _Forest()
    own: dict[str, None] = {}
    for links in messages:
        forest.add_message(links)
        own[links.node] = None
    before = {state.thread_id: state for state in _lookup(forest, known)}
    for state in before.values():
        forest.add_thread(state)
    for one, other in subject_links(forest.entries):
        forest.link(one, other)
    after = forest.threads()
    return _result(own, before, after)


def _lookup(forest: "_Forest", known: KnownThreads) -> Iterator[ThreadState]:
    yield from known.by_message_ids(list(forest.nodes))
    yield from known.by_subject_keys(list({entry.key: None for entry, _ in forest.entries}))


def _result(own: Iterable[str], before: dict[str, ThreadState], after: list[ThreadState]) -> ThreadingResult:
    named = {state.thread_id: state for state in after}
    home = {one: name for name, state in named.items() for one in state.nodes}
    merges = [
        Merge(old, new)
        for old, state in sorted(before.items())
        if (new := home[next(iter(state.nodes))]) != old
    ]
    changed = {name: state for name, state in sorted(named.items()) if before.get(name) != state}
    return ThreadingResult({one: home[one] for one in own}, merges, changed)


class _Forest:
    """Ids and the links between them, as a union-find."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.entries: list[tuple[SubjectEntry, str]] = []
        self._parents: dict[str, str] = {}

    def add_message(self, links: Links) -> None:
        node, chain, parents, date, entries = links
        self._join(node, present=True, has_parent=bool(chain or parents), earliest=date)
        has_parent = False
        for one in chain:
            self._join(one, present=False, has_parent=has_parent, earliest=date)
            self.link(node, one)
            has_parent = True
        for one in parents:
            self._join(one, present=False, has_parent=False, earliest=date)
            self.link(node, one)
        self.entries += [(entry, node) for entry in entries]

    def add_thread(self, state: ThreadState) -> None:
        first = next(iter(state.nodes))
        for one, (present, has_parent, earliest) in state.nodes.items():
            self._join(one, present=present, has_parent=has_parent, earliest=earliest)
            self.link(first, one)
        self.entries += [(entry, first) for entry in state.subjects]

    def _join(self, one: str, *, present: bool, has_parent: bool, earliest: str) -> None:
        mine = self.nodes.get(one)
        if mine is not None:
            present, has_parent = present or mine[0], has_parent or mine[1]
            earliest = min(earliest, mine[2])
            if mine == (present, has_parent, earliest):
                return
        self.nodes[one] = Node(present, has_parent, earliest)

    def link(self, one: str, other: str) -> None:
        if self._parents.get(other) == one:
            return
        first, second = self._find(one), self._find(other)
        if first != second:
            self._parents[second] = first

    def _find(self, one: str) -> str:
        parents = self._parents
        parent = parents.setdefault(one, one)
        while parent != one:
            parents[one] = grandparent = parents[parent]
            one, parent = grandparent, parents[grandparent]
        return one

    def threads(self) -> list[ThreadState]:
        groups: dict[str, ThreadState] = {}
        for one, node in self.nodes.items():
            groups.setdefault(self._find(one), ThreadState()).nodes[one] = node
        for entry, owner in self.entries:
            groups[self._find(owner)].subjects.add(entry)
        return list(groups.values())


class InMemoryThreads:
    """The threads of a store that is a dictionary: for tests, benchmarks, and archives threaded in one go."""

    def __init__(self) -> None:
        self.threads: dict[str, ThreadState] = {}
        self._by_id: dict[str, str] = {}
        self._by_key: dict[str, set[str]] = {}

    def by_message_ids(self, ids: Sequence[str]) -> list[ThreadState]:
        names = {self._by_id[one] for one in ids if one in self._by_id}
        return [self.threads[name] for name in sorted(names)]

    def by_subject_keys(self, keys: Sequence[str]) -> list[ThreadState]:
        names = {name for key in keys for name in self._by_key.get(key, ())}
        return [self.threads[name] for name in sorted(names)]

    def apply(self, result: ThreadingResult) -> None:
        """Store what `assign` found out."""
        for merge in result.merges:
            for entry in self.threads.pop(merge.thread_id).subjects:
                self._by_key[entry.key].discard(merge.thread_id)
        for name, state in result.threads.items():
            self.threads[name] = state
            self._by_id.update(dict.fromkeys(state.nodes, name))
            for entry in state.subjects:
                self._by_key.setdefault(entry.key, set()).add(name)
