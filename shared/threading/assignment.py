"""Assign the mails of one source to threads, as a pure function of the set of mails (`assign_links`).

A mail has one edge: to its direct parent if the source has the parent, else to the nearest ancestor in
References that the source has, else to the root that the mail claims. An ancestor that claims another root
and has another subject than the mail counts as absent. A mail without such a parent gets an edge by its
subject (`subject_links`). A thread is a connected component of these edges. The thread is named after its
root, which is the only id without an edge and may be absent.

Each edge is a function of the set of mails, so any order, any split into archives and any repetition gives
the same threads. A forged mail moves only itself and the mails that name it as an ancestor.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from shared.core.ids import thread_id
from shared.mail.models import ParsedMail
from shared.threading.subject_links import (
    ALWAYS,
    NEVER,
    ORPHANED,
    RETITLED,
    TITLE_AFTER,
    SubjectEntry,
    entries_of,
    is_rule_of_patches,
    nearest_by_subject,
    title_of,
)

MAX_ANCESTORS = 32
"""The most ancestors that are kept, apart from the root, because a hostile mail can name any number."""
_MOST_ROUNDS = 8
"""A chain of contradicting mails that needs more rounds is hostile."""
_NO_ENTRY = SubjectEntry("", 0, NEVER, "")
BY_SUBJECT = "subject"
BY_OPERATOR = "operator"
BY_LIMIT = "limit"
"""The mail is in a thread of its own, because the thread that it names is full."""
APART = "apart"
"""The root that the mail names is in another thread and contradicts it, so the root counts as absent."""
DECIDED = frozenset({BY_OPERATOR, BY_LIMIT})
_KEPT = DECIDED | {APART}


class ReplyLinks(NamedTuple):
    node: str
    ancestors: list[str]
    """The ids that the mail names, the direct parent first, the claimed root last."""
    entries: list[SubjectEntry]
    decided: str = ""
    """`BY_OPERATOR` or `BY_LIMIT`: the mail belongs under its only ancestor, or is a root if it has none."""


class ThreadMember(NamedTuple):
    parent: str
    """The target of its edge: a present mail, or a claimed root that is absent. Empty for a root."""
    wants: tuple[str, ...] = ()
    """Absent ids that would be nearer, the nearest first. For an edge by subject, all named ids."""
    via: str = ""
    """The origin of its edge: empty for headers, else `BY_SUBJECT`, `BY_OPERATOR`, `BY_LIMIT` or `APART`."""
    root: str = ""
    """The claimed root, if it is not the parent. The mail then claims that its parent is an answer."""

    @property
    def named(self) -> list[str]:
        """The named mails that are kept, the nearest first, the claimed root last."""
        return [node for node in dict.fromkeys((*self.wants, self.parent, self.root)) if node]


@dataclass(slots=True)
class ThreadState:
    """The data of a thread that is needed to thread further messages."""

    members: dict[str, ThreadMember] = field(default_factory=dict)
    subjects: set[SubjectEntry] = field(default_factory=set)

    @property
    def root(self) -> str:
        """The id that the edges lead to. In a circle, the smallest id of the circle."""
        return _root_of(min(self.members), self.members, {})

    @property
    def present(self) -> list[str]:
        return sorted(self.members)

    def absent(self) -> set[str]:
        """Return the absent ids that members name and whose mails would change edges."""
        wanted = {node for member in self.members.values() for node in (member.parent, *member.wants) if node}
        return wanted - self.members.keys()

    def to_document(self) -> dict[str, Any]:
        """Return JSON without empty fields and with each subject once, because threads grow large."""
        keys = sorted({entry.key for entry in self.subjects})
        numbers = {key: number for number, key in enumerate(keys)}
        by_node: dict[str, list[SubjectEntry]] = {}
        for entry in sorted(self.subjects):
            by_node.setdefault(entry.node, []).append(entry)
        members = [
            _member_to_json(node, member, by_node.get(node, ()), numbers)
            for node, member in sorted(self.members.items())
        ]
        return {"members": members, "subjects": keys}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "ThreadState":
        members, keys = document["members"], document["subjects"]
        return cls(
            {
                stored["id"]: ThreadMember(
                    stored.get("parent", ""),
                    tuple(stored.get("wants", ())),
                    stored.get("via", ""),
                    stored.get("root", ""),
                )
                for stored in members
            },
            {
                SubjectEntry(keys[number], stored["at"], seeks, stored["id"])
                for stored in members
                for number, seeks in stored.get("by", ())
            },
        )


def _member_to_json(
    node: str, member: ThreadMember, entries: Sequence[SubjectEntry], numbers: Mapping[str, int]
) -> dict[str, Any]:
    stored: dict[str, Any] = {"id": node}
    stored |= {name: value for name, value in member._asdict().items() if value}
    if member.wants:
        stored["wants"] = list(member.wants)
    if entries:
        stored["at"] = entries[0].at  # all entries of a mail have its date
        stored["by"] = [[numbers[entry.key], entry.seeks] for entry in entries]
    return stored


class KnownThreads(Protocol):
    """The stored threads of the source. Lookups may return more threads than asked for, not fewer."""

    def by_message_ids(self, ids: Sequence[str]) -> Iterable[ThreadState]:
        """Return the threads that have or name any of these ids."""

    def by_subject_keys(self, keys: Sequence[str]) -> Iterable[ThreadState]:
        """Return the threads that have a subject entry with any of these keys."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A thread that lost all its messages. The message with the smallest id is in `into`."""

    thread_id: str
    into: str


@dataclass(slots=True)
class ThreadingResult:
    assignments: dict[str, str]
    """The thread id of each message, by node id (see `ParsedMail.node`)."""
    merges: list[Merge]
    """Known threads that no longer exist: merged, or under another root now."""
    threads: dict[str, ThreadState]
    """The new and changed threads, by id."""
    moved: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The old and the new thread of each known message that moved."""


def links_of(message: ParsedMail) -> ReplyLinks:
    node = message.node
    ancestors = list(dict.fromkeys([*message.in_reply_to[:1], *reversed(message.references)]))
    if node in ancestors:
        ancestors.remove(node)
    if len(ancestors) > MAX_ANCESTORS + 1:
        ancestors = [*ancestors[:MAX_ANCESTORS], ancestors[-1]]
    return ReplyLinks(node, ancestors, entries_of(message))


def assign_links(messages: Iterable[ReplyLinks], known: KnownThreads, source: str = "") -> ThreadingResult:
    arrived = {links.node: links for links in messages}
    wanted = wanted_by(arrived.values())
    states = list(_lookup(known, wanted))
    states += _lookup(known, wanted_by_known(arrived, states))
    before = {thread_id(state.root, source): state for state in states if state.members}
    mails = _MailSet()
    for state in before.values():
        mails.add_thread(state)
    for links in arrived.values():
        mails.add_mail(links)
    mails.find_edges(arrived)
    return _result(arrived, before, mails.threads(source))


class Wanted(NamedTuple):
    ids: list[str]
    entries: list[SubjectEntry]


def wanted_by(messages: Iterable[ReplyLinks]) -> Wanted:
    mails = list(messages)
    ids = dict.fromkeys(node for links in mails for node in (links.node, *links.ancestors))
    return Wanted(list(ids), [entry for links in mails for entry in links.entries])


def wanted_by_known(arrived: Collection[str], states: Iterable[ThreadState]) -> Wanted:
    """Return what the known mails need in turn, because the arrivals may move them."""
    ids, entries = set[str](), []
    for state in states:
        seeking = {entry.node for entry in state.subjects if entry.seeks == ALWAYS}
        by_headers = {node: _by_headers(member) for node, member in state.members.items()}
        orphans = _orphans(by_headers)
        entries += [
            entry
            for entry in state.subjects
            if entry.seeks == ALWAYS or (entry.seeks >= ORPHANED and entry.node in orphans)
        ]
        affected = _affected(by_headers, arrived)
        ids |= {
            named
            for node, member in by_headers.items()
            if node in affected or state.members[node].via == BY_SUBJECT or member.parent in seeking
            for named in (*member.named, node)
        }
    return Wanted(sorted(ids - {""}), entries)


def _lookup(known: KnownThreads, wanted: Wanted) -> Iterator[ThreadState]:
    yield from known.by_message_ids(wanted.ids)
    yield from known.by_subject_keys(list(dict.fromkeys(entry.key for entry in wanted.entries)))


def _result(
    arrived: Mapping[str, ReplyLinks], before: Mapping[str, ThreadState], after: Mapping[str, ThreadState]
) -> ThreadingResult:
    home = {node: name for name, state in after.items() for node in state.members}
    moved = {
        node: (name, home[node])
        for name, state in sorted(before.items())
        for node in state.members
        if home[node] != name
    }
    merges = [
        Merge(name, home[min(state.members)]) for name, state in sorted(before.items()) if name not in after
    ]
    changed = {name: state for name, state in sorted(after.items()) if before.get(name) != state}
    return ThreadingResult({node: home[node] for node in arrived}, merges, changed, moved)


class _MailSet:
    def __init__(self) -> None:
        self.members: dict[str, ThreadMember] = {}
        self.entries: dict[str, set[SubjectEntry]] = {}

    def add_thread(self, state: ThreadState) -> None:
        for node, member in state.members.items():
            # After a crash between two writes a mail is in two threads. The nearer parent was found later.
            mine, stored = self.members.get(node), _by_headers(member)
            if mine is None or len(stored.wants) < len(mine.wants):
                self.members[node] = stored
        for entry in state.subjects:
            self.entries.setdefault(entry.node, set()).add(entry)

    def add_mail(self, links: ReplyLinks) -> None:
        """Add a mail and replace what was known of it, because its content may be new."""
        claimed, via = links.ancestors[-1] if links.ancestors else "", links.decided
        self.members[links.node] = ThreadMember(claimed, tuple(links.ancestors), via)
        self.entries[links.node] = set(links.entries)

    def find_edges(self, arrived: Mapping[str, ReplyLinks]) -> None:
        members = self.members
        affected = _affected(members, arrived)
        before = {node: members[node] for node in affected}
        for node, member in before.items():
            members[node] = _nearest(member, [ancestor for ancestor in member.named if ancestor in members])
        named = {node: member for node, member in before.items() if member.via not in DECIDED}
        # Whether an ancestor counts depends on its own edge.
        for _ in range(_MOST_ROUNDS):
            found = {node: self._nearest_accepted(node, member) for node, member in named.items()}
            if all(members[node] == member for node, member in found.items()):
                break
            members.update(found)
        self._find_edges_by_subject()

    def _nearest_accepted(self, node: str, member: ThreadMember) -> ThreadMember:
        present = [ancestor for ancestor in member.named if ancestor in self.members]
        accepted = [ancestor for ancestor in present if not self._contradicts(node, member, ancestor)]
        if present and not accepted and present[-1] == member.named[-1]:
            titles = {title_of(self._subject(ancestor).key) for ancestor in present[:-1]}
            is_apart = title_of(self._subject(node).key) not in titles
            return ThreadMember(present[-1], tuple(member.named[:-1]), APART if is_apart else "")
        return _nearest(member, accepted)

    def _contradicts(self, node: str, member: ThreadMember, ancestor: str) -> bool:
        """Return whether an ancestor claims another thread than the mail claims.

        Anybody can send a mail under an id that others name. Some honest mailers name only the parent.
        """
        above, root = self.members[ancestor], member.named[-1]
        claimed = above.root or above.parent
        own, other = self._subject(node), self._subject(ancestor)
        # A mail without a mark of a reply begins a subject, or is a patch, which may name any mail.
        if above.via in DECIDED or own.seeks in {RETITLED, NEVER}:
            return False
        if ancestor != root:
            if claimed or other.seeks != NEVER:
                return claimed != root if claimed else title_of(other.key) != title_of(own.key)
            return other.key != own.key or TITLE_AFTER not in own.key  # else it is a patch without headers
        if not claimed or node in above.named:
            return False
        if above.via == APART:
            return True
        titles = [title_of(entry.key) for entry in (other, self._subject(above.parent, own))]
        return any(title != title_of(own.key) for title in titles)

    def _subject(self, node: str, absent: SubjectEntry = _NO_ENTRY) -> SubjectEntry:
        """Return the entry of the mail's subject, not the entries for the rules of patches."""
        found = (entry for entry in self.entries.get(node, ()) if not is_rule_of_patches(entry.key))
        return next(found, _NO_ENTRY if node in self.members else absent)

    def _find_edges_by_subject(self) -> None:
        members, roots = self.members, dict[str, str]()
        seeking = [
            entry
            for node, entries in self.entries.items()
            if node in members  # a damaged state may lack it, which a check reports
            if not members[node].parent or not any(entry.seeks == ALWAYS for entry in entries)
            for entry in entries
        ]
        orphans = _orphans(members)
        found = nearest_by_subject(
            seeking,
            {node: _root_of(node, members, roots) for node in members},
            _claims(members.values()),
            orphans,
            {
                node: member.parent
                for node, member in members.items()
                if member.parent in members and member.via != APART
            },
        )
        for node, parent in found.items():
            member = members[node]
            if parent and member.via not in _KEPT and (node in orphans or not member.parent):
                named = (*member.wants, member.parent) if member.parent else ()
                members[node] = ThreadMember(parent, named, BY_SUBJECT)

    def threads(self, source: str) -> dict[str, ThreadState]:
        found: dict[str, ThreadState] = {}
        roots: dict[str, str] = {}
        for node, member in self.members.items():
            state = found.setdefault(_root_of(node, self.members, roots), ThreadState())
            state.members[node] = member
            state.subjects |= self.entries.get(node, set())
        return {thread_id(root, source): state for root, state in found.items()}


def _affected(members: Mapping[str, ThreadMember], arrived: Collection[str]) -> set[str]:
    """Return the arrivals, the mails that name them, and the mails whose claimed root is such a mail."""
    here = frozenset(arrived)
    affected = {
        node
        for node, member in members.items()
        if node in here or member.parent in here or not here.isdisjoint(member.wants)
    }
    answers: dict[str, list[str]] = {}
    for node, member in members.items() if affected else ():
        if member.parent and not member.root:
            answers.setdefault(member.parent, []).append(node)
    left = list(affected)
    while left:
        found = set(answers.get(left.pop(), ())) - affected
        affected |= found
        left += found
    return affected


def _by_headers(member: ThreadMember) -> ThreadMember:
    """Return the member without its edge by subject. The last id that it names is the claimed root."""
    if member.via != BY_SUBJECT:
        return member
    return ThreadMember(member.wants[-1], member.wants[:-1]) if member.wants else ThreadMember("")


def _orphans(by_headers: Mapping[str, ThreadMember]) -> set[str]:
    """Return the mails that name others, if all of these are absent."""
    return {
        node
        for node, member in by_headers.items()
        if member.parent and member.parent not in by_headers and member.via not in _KEPT
    }


def _claims(members: Iterable[ThreadMember]) -> dict[str, list[str]]:
    """Return the roots beyond each mail that the answers to the mail claim."""
    claims: dict[str, list[str]] = {}
    for member in members:
        if member.root:
            claims.setdefault(member.parent, []).append(member.root)
    return claims


def _nearest(member: ThreadMember, present: Sequence[str]) -> ThreadMember:
    """Return the member with an edge to the first of these ancestors, else to the claimed root."""
    named = member.named
    if not named:
        return member
    parent, root = present[0] if present else named[-1], named[-1]
    via = member.via if member.via in DECIDED else ""
    return ThreadMember(parent, tuple(named[: named.index(parent)]), via, root if root != parent else "")


def _root_of(node: str, members: Mapping[str, ThreadMember], known: dict[str, str]) -> str:
    """Return the id that the edges lead to. `known` caches results."""
    path: dict[str, None] = {}
    while node not in known and node not in path:
        path[node] = None
        member = members.get(node)
        if member is None or not member.parent:
            known[node] = node
            break
        if member.via == APART:  # the parent counts as absent
            known[node] = member.parent
            break
        node = member.parent
    if node not in known:  # a circle, which begins at the repeated id
        nodes = list(path)
        known[node] = min(nodes[nodes.index(node) :])
    root = known[node]
    known.update(dict.fromkeys(path, root))
    return root
