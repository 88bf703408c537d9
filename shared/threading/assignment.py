"""Threads of one source as a pure function of the set of its mails.

A mail brings one edge: to its direct parent where the source has it, else to the nearest ancestor in
References that the source has, else to the root that it claims. An ancestor that claims another root and has
another subject than the mail does not count as present. A mail without such a parent brings an edge by its
subject (`subject_links`). A thread is a connected component of these edges. Its root, the one id
without an edge, names it, and need not be present.

Each edge is a function of the set of mails, so any order, any split into archives and any repetition gives
the same threads. A forged mail moves nothing but itself and the mails that name it as an ancestor.
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
"""So many of the nearest, and the root: what a hostile mail can make us keep and look up."""
_MOST_ROUNDS = 8
"""Then a chain of mails that contradict each other is hostile."""
_NO_ENTRY = SubjectEntry("", 0, NEVER, "")
BY_SUBJECT = "subject"
BY_OPERATOR = "operator"
BY_LIMIT = "limit"
"""It is in a thread of its own, because the thread that it names is full."""
APART = "apart"
"""It names one mail, which is in another thread and contradicts it: its thread is that of a missing mail."""
DECIDED = frozenset({BY_OPERATOR, BY_LIMIT})
_KEPT = DECIDED | {APART}


class ReplyLinks(NamedTuple):
    node: str
    ancestors: list[str]
    """The ids that it names, the direct parent first, the claimed root last."""
    entries: list[SubjectEntry]
    decided: str = ""
    """`BY_OPERATOR` or `BY_LIMIT`: it belongs under its only ancestor, or on its own, whatever it says."""


class ThreadMember(NamedTuple):
    parent: str
    """Where its edge leads: to a mail that is here, or to a claimed root that is not; empty for a root."""
    wants: tuple[str, ...] = ()
    """Ids that are not here and would be nearer, the nearest first; by subject, all that it names."""
    via: str = ""
    """By what it has its edge: its headers, else `BY_SUBJECT`, `BY_OPERATOR`, `BY_LIMIT` or `APART`."""
    root: str = ""
    """The root that it claims, where that is not its parent: then it says that its parent is an answer."""

    @property
    def named(self) -> list[str]:
        """The mails that it names, as far as they are kept: the nearest first, the claimed root last."""
        return [one for one in dict.fromkeys((*self.wants, self.parent, self.root)) if one]


@dataclass(slots=True)
class ThreadState:
    """Everything that is kept of a thread to thread further messages."""

    members: dict[str, ThreadMember] = field(default_factory=dict)
    subjects: set[SubjectEntry] = field(default_factory=set)

    @property
    def root(self) -> str:
        """The id that the edges lead to; in a circle, its smallest id."""
        return _root_of(min(self.members), self.members, {})

    @property
    def present(self) -> list[str]:
        return sorted(self.members)

    def absent(self) -> set[str]:
        """The ids that are named here, and whose mail would change something if it came."""
        wanted = {one for member in self.members.values() for one in (member.parent, *member.wants) if one}
        return wanted - self.members.keys()

    def to_document(self) -> dict[str, Any]:
        """As JSON. What is empty is left out, and a subject stands once: threads grow large."""
        keys = sorted({entry.key for entry in self.subjects})
        numbers = {key: number for number, key in enumerate(keys)}
        said: dict[str, list[SubjectEntry]] = {}
        for entry in sorted(self.subjects):
            said.setdefault(entry.node, []).append(entry)
        members = [
            _member_to_json(one, member, said.get(one, ()), numbers)
            for one, member in sorted(self.members.items())
        ]
        return {"members": members, "subjects": keys}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "ThreadState":
        members, keys = document["members"], document["subjects"]
        return cls(
            {
                one["id"]: ThreadMember(
                    one.get("parent", ""),
                    tuple(one.get("wants", ())),
                    one.get("via", ""),
                    one.get("root", ""),
                )
                for one in members
            },
            {
                SubjectEntry(keys[number], stored["at"], seeks, stored["id"])
                for stored in members
                for number, seeks in stored.get("by", ())
            },
        )


def _member_to_json(
    one: str, member: ThreadMember, entries: Sequence[SubjectEntry], numbers: Mapping[str, int]
) -> dict[str, Any]:
    stored: dict[str, Any] = {"id": one}
    stored |= {name: value for name, value in member._asdict().items() if value}
    if member.wants:
        stored["wants"] = list(member.wants)
    if entries:
        stored["at"] = entries[0].at  # all entries of a mail have its date
        stored["by"] = [[numbers[entry.key], entry.seeks] for entry in entries]
    return stored


class KnownThreads(Protocol):
    """What is known of the source from before. Lookups may return more threads than asked for, not fewer."""

    def by_message_ids(self, ids: Sequence[str]) -> Iterable[ThreadState]:
        """The threads that have any of these ids, be the message present or only named."""

    def by_subject_keys(self, keys: Sequence[str]) -> Iterable[ThreadState]:
        """The threads that have a subject entry with any of these keys."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A thread of which nothing is left: what it had is in others, this one before all."""

    thread_id: str
    into: str


@dataclass(slots=True)
class ThreadingResult:
    assignments: dict[str, str]
    """Each message's node id (see `ParsedMail.node`) to its thread's id."""
    merges: list[Merge]
    """Known threads that are no more: merged, or under another root now."""
    threads: dict[str, ThreadState]
    """The threads that are new or changed, by their id."""
    moved: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Each known message that is in another thread than before: from which to which."""


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
    ids = dict.fromkeys(one for links in mails for one in (links.node, *links.ancestors))
    return Wanted(list(ids), [entry for links in mails for entry in links.entries])


def wanted_by_known(arrived: Collection[str], states: Iterable[ThreadState]) -> Wanted:
    """What the mails that were found need in turn, because the arrivals may move them."""
    ids, entries = set[str](), []
    for state in states:
        seeking = {entry.node for entry in state.subjects if entry.seeks == ALWAYS}
        by_headers = {one: _by_headers(member) for one, member in state.members.items()}
        orphans = _orphans(by_headers)
        entries += [
            entry
            for entry in state.subjects
            if entry.seeks == ALWAYS or (entry.seeks >= ORPHANED and entry.node in orphans)
        ]
        affected = _affected(by_headers, arrived)
        ids |= {
            named
            for one, member in by_headers.items()
            if one in affected or state.members[one].via == BY_SUBJECT or member.parent in seeking
            for named in (*member.named, one)
        }
    return Wanted(sorted(ids - {""}), entries)


def _lookup(known: KnownThreads, wanted: Wanted) -> Iterator[ThreadState]:
    yield from known.by_message_ids(wanted.ids)
    yield from known.by_subject_keys(list(dict.fromkeys(entry.key for entry in wanted.entries)))


def _result(
    arrived: Mapping[str, ReplyLinks], before: Mapping[str, ThreadState], after: Mapping[str, ThreadState]
) -> ThreadingResult:
    home = {one: name for name, state in after.items() for one in state.members}
    moved = {
        one: (name, home[one])
        for name, state in sorted(before.items())
        for one in state.members
        if home[one] != name
    }
    merges = [
        Merge(name, home[min(state.members)]) for name, state in sorted(before.items()) if name not in after
    ]
    changed = {name: state for name, state in sorted(after.items()) if before.get(name) != state}
    return ThreadingResult({one: home[one] for one in arrived}, merges, changed, moved)


class _MailSet:
    def __init__(self) -> None:
        self.members: dict[str, ThreadMember] = {}
        self.entries: dict[str, set[SubjectEntry]] = {}

    def add_thread(self, state: ThreadState) -> None:
        for one, member in state.members.items():
            # A crash between two writes leaves a mail in two threads: the nearer parent is the later one.
            mine, stored = self.members.get(one), _by_headers(member)
            if mine is None or len(stored.wants) < len(mine.wants):
                self.members[one] = stored
        for entry in state.subjects:
            self.entries.setdefault(entry.node, set()).add(entry)

    def add_mail(self, links: ReplyLinks) -> None:
        """In place of what was known of it: it may have come with other content."""
        claimed, via = links.ancestors[-1] if links.ancestors else "", links.decided
        self.members[links.node] = ThreadMember(claimed, tuple(links.ancestors), via)
        self.entries[links.node] = set(links.entries)

    def find_edges(self, arrived: Mapping[str, ReplyLinks]) -> None:
        members = self.members
        affected = _affected(members, arrived)
        before = {one: members[one] for one in affected}
        for one, member in before.items():
            members[one] = _nearest(member, [place for place in member.named if place in members])
        named = {one: member for one, member in before.items() if member.via not in DECIDED}
        # Whether an ancestor counts depends on its own edge.
        for _ in range(_MOST_ROUNDS):
            found = {one: self._nearest_accepted(one, member) for one, member in named.items()}
            if all(members[one] == member for one, member in found.items()):
                break
            members.update(found)
        self._find_edges_by_subject()

    def _nearest_accepted(self, one: str, member: ThreadMember) -> ThreadMember:
        present = [place for place in member.named if place in self.members]
        accepted = [place for place in present if not self._contradicts(one, member, place)]
        if present and not accepted and present[-1] == member.named[-1]:
            titles = {title_of(self._subject(place).key) for place in present[:-1]}
            is_apart = title_of(self._subject(one).key) not in titles
            return ThreadMember(present[-1], tuple(member.named[:-1]), APART if is_apart else "")
        return _nearest(member, accepted)

    def _contradicts(self, one: str, member: ThreadMember, ancestor: str) -> bool:
        """Whether an ancestor says that it is in another thread than the mail says.

        Anybody can send a mail under an id that others name. Some honest mailers name the parent alone.
        """
        above, root = self.members[ancestor], member.named[-1]
        claimed = above.root or above.parent
        own, other = self._subject(one), self._subject(ancestor)
        # A mail without a mark of a reply begins a subject, or is a patch, which may name any mail.
        if above.via in DECIDED or own.seeks in {RETITLED, NEVER}:
            return False
        if ancestor != root:
            if claimed or other.seeks != NEVER:
                return claimed != root if claimed else title_of(other.key) != title_of(own.key)
            return other.key != own.key or TITLE_AFTER not in own.key  # else it is a patch without headers
        if not claimed or one in above.named:
            return False
        if above.via == APART:
            return True
        titles = [title_of(entry.key) for entry in (other, self._subject(above.parent, own))]
        return any(title != title_of(own.key) for title in titles)

    def _subject(self, one: str, absent: SubjectEntry = _NO_ENTRY) -> SubjectEntry:
        """The entry of its subject as it stands."""
        found = (entry for entry in self.entries.get(one, ()) if not is_rule_of_patches(entry.key))
        return next(found, _NO_ENTRY if one in self.members else absent)

    def _find_edges_by_subject(self) -> None:
        members, roots = self.members, dict[str, str]()
        seeking = [
            entry
            for one, entries in self.entries.items()
            if one in members  # in a damaged state it may not be: that is for a check to say
            if not members[one].parent or not any(entry.seeks == ALWAYS for entry in entries)
            for entry in entries
        ]
        orphans = _orphans(members)
        found = nearest_by_subject(
            seeking,
            {one: _root_of(one, members, roots) for one in members},
            _claims(members.values()),
            orphans,
            {
                one: member.parent
                for one, member in members.items()
                if member.parent in members and member.via != APART
            },
        )
        for one, parent in found.items():
            member = members[one]
            if parent and member.via not in _KEPT and (one in orphans or not member.parent):
                named = (*member.wants, member.parent) if member.parent else ()
                members[one] = ThreadMember(parent, named, BY_SUBJECT)

    def threads(self, source: str) -> dict[str, ThreadState]:
        found: dict[str, ThreadState] = {}
        roots: dict[str, str] = {}
        for one, member in self.members.items():
            state = found.setdefault(_root_of(one, self.members, roots), ThreadState())
            state.members[one] = member
            state.subjects |= self.entries.get(one, set())
        return {thread_id(root, source): state for root, state in found.items()}


def _affected(members: Mapping[str, ThreadMember], arrived: Collection[str]) -> set[str]:
    """The mails whose edges the arrivals may change: those that name them, or these alone."""
    here = frozenset(arrived)
    affected = {
        one
        for one, member in members.items()
        if one in here or member.parent in here or not here.isdisjoint(member.wants)
    }
    answers: dict[str, list[str]] = {}
    for one, member in members.items() if affected else ():
        if member.parent and not member.root:
            answers.setdefault(member.parent, []).append(one)
    left = list(affected)
    while left:
        found = set(answers.get(left.pop(), ())) - affected
        affected |= found
        left += found
    return affected


def _by_headers(member: ThreadMember) -> ThreadMember:
    """As its headers alone would have it: the last that it names is the root that it claims."""
    if member.via != BY_SUBJECT:
        return member
    return ThreadMember(member.wants[-1], member.wants[:-1]) if member.wants else ThreadMember("")


def _orphans(by_headers: Mapping[str, ThreadMember]) -> set[str]:
    """Those that name others, none of which is there."""
    return {
        one
        for one, member in by_headers.items()
        if member.parent and member.parent not in by_headers and member.via not in _KEPT
    }


def _claims(members: Iterable[ThreadMember]) -> dict[str, list[str]]:
    """The roots that the answers to each mail claim, where they say that it is an answer itself."""
    claims: dict[str, list[str]] = {}
    for member in members:
        if member.root:
            claims.setdefault(member.parent, []).append(member.root)
    return claims


def _nearest(member: ThreadMember, present: Sequence[str]) -> ThreadMember:
    """With its edge to the first of these ancestors; without one, to the root that it claims."""
    named = member.named
    if not named:
        return member
    parent, root = present[0] if present else named[-1], named[-1]
    via = member.via if member.via in DECIDED else ""
    return ThreadMember(parent, tuple(named[: named.index(parent)]), via, root if root != parent else "")


def _root_of(one: str, members: Mapping[str, ThreadMember], known: dict[str, str]) -> str:
    """Where its edges lead; `known` has what was found before."""
    path: dict[str, None] = {}
    while one not in known and one not in path:
        path[one] = None
        member = members.get(one)
        if member is None or not member.parent:
            known[one] = one
            break
        if member.via == APART:  # the thread of a mail that is missing
            known[one] = member.parent
            break
        one = member.parent
    if one not in known:  # a circle: it begins where the path came back to
        nodes = list(path)
        known[one] = min(nodes[nodes.index(one) :])
    root = known[one]
    known.update(dict.fromkeys(path, root))
    return root
