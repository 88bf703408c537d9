"""Builds a thread's document from what is known of its messages.

A thread that only grows takes its new messages in: every field is a union, a minimum or a maximum, so the
order in which archives come in does not matter. One that lost a message, or got messages of another thread,
is made of all its messages anew.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.documents.threads import Address, Thread
from shared.domain.threading.assignment import ThreadingResult, ThreadState
from shared.pipeline.lifecycle.threads import thread_changed

MAX_PARTICIPANTS = 500

Fact = Mapping[str, Any]
"""What a thread says of a message: subject, from, date, draft_mentions, archive_ids, as they are stored."""


@dataclass(frozen=True)
class ThreadChanges:
    """How the messages of a source change its threads."""

    source: str
    result: ThreadingResult
    known: Mapping[str, Thread]
    added: Mapping[str, Sequence[Fact]]
    """What comes to each thread."""
    rebuilt: Mapping[str, Sequence[Fact]] = field(default_factory=dict)
    """All messages of those threads that are not just growing."""
    origin: str | None = None
    """The thread, which is no more, that the added messages were in."""
    also_in: Mapping[str, str] = field(default_factory=dict)
    """An archive that has conflicting copies of a thread's messages."""
    reborn: Mapping[str, Thread] = field(default_factory=dict)
    """Redirects that are threads again, and are replaced."""

    def absorbed(self, name: str) -> set[str]:
        """The threads that messages of this one have to be fetched from."""
        base = self.known.get(name)
        moved = {old for old, new in self.result.moved.values() if new == name}
        # What a thread had not fetched yet when it lost its messages is still where it was before.
        moved |= {one for old in moved & self.known.keys() for one in self.known[old].absorbing}
        moved |= {self.origin} if self.origin and name in self.added else set()
        return (moved | set(base.absorbing if base else ())) - {name}

    def losing(self, name: str) -> set[str]:
        """The threads that messages of this one have to go to."""
        base = self.known.get(name)
        moved = {new for old, new in self.result.moved.values() if old == name}
        return (moved | set(base.losing if base else ())) - {name}

    def corrections(self, name: str) -> list[int]:
        """How often the threads were corrected that messages of this one come from."""
        return [self.known[old].corrections for old in self.absorbed(name) & self.known.keys()]


def thread_documents(changes: ThreadChanges, now: datetime) -> list[Thread]:
    """The thread documents that change: by new messages, or because messages moved."""
    # A thread that is unchanged but still absorbing (a crash interrupted it) continues.
    unfinished = {name for name, thread in changes.known.items() if thread.absorbing}
    gone = {merge.thread_id for merge in changes.result.merges}
    also = {name for name in changes.also_in if name in changes.known}
    names = {*changes.result.threads, *changes.added, *changes.rebuilt, *unfinished, *also} - gone
    return [_document(name, changes, now) for name in sorted(names)]


def gaining_first(threads: Sequence[Thread], moves: Collection[tuple[str, str]]) -> list[list[Thread]]:
    """Groups to be written one after the other: a thread comes after those that get messages of it.

    Where two threads exchange messages, neither can be first.
    """
    left, groups = {thread.id: thread for thread in threads}, []
    while left:
        waiting = {old for old, new in moves if new in left and new != old}
        group = [thread for name, thread in left.items() if name not in waiting] or [*left.values()]
        groups.append(group)
        for thread in group:
            del left[thread.id]
    return groups


def _document(name: str, changes: ThreadChanges, now: datetime) -> Thread:
    base, state = changes.known.get(name), changes.result.threads.get(name)
    is_changed = state is not None
    state = state or ThreadState.from_document(base.threading if base else {"members": [], "subjects": []})
    rebuilt = changes.rebuilt.get(name)
    earlier = base if base is not None and rebuilt is None else None
    facts = changes.added.get(name, ()) if rebuilt is None else rebuilt
    thread = base or _new(name, state.root, changes.reborn.get(name), now)
    document = thread.model_copy(
        update={
            **_shown(earlier, facts, changes.also_in.get(name)),
            "root_message_id": state.root,
            "sources": [changes.source],
            "source": changes.source,
            "message_count": len(state.members),
            "absorbing": sorted(changes.absorbed(name)),
            "losing": sorted(changes.losing(name)),
            "corrections": max([thread.corrections, *changes.corrections(name)]),
            "threading": state.to_document(),
        }
    )
    return thread_changed(document) if is_changed or rebuilt is not None else document


def _new(name: str, root: str, redirect: Thread | None, now: datetime) -> Thread:
    """A redirect that is a thread again has nothing of what it was, but for how often it was corrected."""
    thread = Thread(id=name, thread_id=name, root_message_id=root, archive_id="-", created_at=now)
    if redirect is None:
        return thread
    return thread.model_copy(update={"etag": redirect.etag, "corrections": redirect.corrections})


def facts_of_thread(facts: Sequence[Fact]) -> dict[str, Any]:
    """What a thread says of its messages, made of all of them."""
    return {**_shown(None, facts, None), "message_count": len(facts)}


def _shown(earlier: Thread | None, facts: Sequence[Fact], archive: str | None) -> dict[str, Any]:
    archives = {id_ for fact in facts for id_ in fact["archive_ids"]} | ({archive} if archive else set())
    archives |= set(earlier.archive_ids if earlier else ())
    subject, at = _subject(earlier, facts)
    dates = [*_present(map(_date_of, facts)), *_dates_of(earlier)]
    mentions = {draft for fact in facts for draft in fact["draft_mentions"]}
    return {
        "archive_ids": sorted(archives),
        "archive_id": min(archives, default="-"),
        "subject": subject,
        "subject_at": at,
        "participants": _participants(earlier, facts),
        "first_message_date": min(dates, default=None),
        "last_message_date": max(dates, default=None),
        "draft_mentions": sorted(mentions | set(earlier.draft_mentions if earlier else ())),
    }


def _subject(earlier: Thread | None, facts: Sequence[Fact]) -> tuple[str, datetime | None]:
    """The subject of the earliest message; without dates the smallest text, which no order changes."""
    known = [(earlier.subject_at, earlier.subject)] if earlier and earlier.subject else []
    known += [(_date_of(fact), fact["subject"]) for fact in facts if fact["subject"]]
    dated = [(at, subject) for at, subject in known if at is not None]
    if dated:
        at, subject = min(dated)
        return subject, at
    return min((subject for _, subject in known), default=""), None


def _participants(earlier: Thread | None, facts: Sequence[Fact]) -> list[Address]:
    signed = [(person.email, person.name) for person in (earlier.participants if earlier else ())]
    signed += [(fact["from"]["email"], fact["from"]["name"]) for fact in facts]
    names: dict[str, str] = {}
    for email, name in signed:
        # A person may use several names: the longest is the most complete.
        names[email] = max((names.get(email, ""), name), key=lambda text: (len(text), text))
    everyone = sorted(names.items())[:MAX_PARTICIPANTS]
    return [Address.model_construct(name=name, email=email) for email, name in everyone]


def _dates_of(earlier: Thread | None) -> list[datetime]:
    return _present([earlier.first_message_date, earlier.last_message_date]) if earlier else []


def _date_of(fact: Fact) -> datetime | None:
    date = fact["date"]
    return datetime.fromisoformat(date) if date else None


def _present(dates: Iterable[datetime | None]) -> list[datetime]:
    return [date for date in dates if date is not None]
