"""Build a thread's document from what is known of its messages.

A thread that only grows adds its new messages to the document. Every field is a union, a minimum or a
maximum, so the order of archives does not matter. A thread that lost a message, or got messages of another
thread, is `inexact`. Its document has what is known without its messages. Orchestration sets the rest when
all are stored.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.queries.threads import MEMBER_FACTS
from shared.models.threads import Address, Thread
from shared.pipeline.readiness import ReadyThread, member_keys
from shared.pipeline.state.threads import describe_thread, raise_revision
from shared.threading.assignment import ThreadingResult, ThreadState
from shared.threading.opening import Opening, opening_of
from shared.threading.subject_links import read_subject, title_of

MAX_PARTICIPANTS = 500

MessageFacts = Mapping[str, Any]
"""The stored fields of a message for its thread: subject, from, date, draft_mentions, archive_ids."""


@dataclass(frozen=True)
class ThreadChanges:
    """How a commit changes the threads of a source."""

    source: str
    result: ThreadingResult
    known: Mapping[str, Thread]
    added: Mapping[str, Sequence[MessageFacts]]
    """The new messages of each thread."""
    also_in: Mapping[str, str] = field(default_factory=dict)
    """An archive that has conflicting copies of a thread's messages."""
    reborn: Mapping[str, Thread] = field(default_factory=dict)
    """Redirects that are threads again, and threads that are built again after a deletion."""
    replaced: frozenset[str] = frozenset()
    """Threads with a message that has new content."""
    archives: Mapping[str, Collection[str]] = field(default_factory=dict)
    """All archives of threads whose members have changed, as the entries of the members say."""

    def origins(self, name: str) -> list[Thread]:
        """Return the threads that messages of this thread come from."""
        olds = {old for old, new in self.result.moved.values() if new == name and old in self.known}
        return [self.known[old] for old in sorted(olds)]

    def is_inexact(self, name: str) -> bool:
        base = self.known.get(name)
        moved = any(name in pair for pair in self.result.moved.values())
        return moved or name in self.replaced or name in self.reborn or bool(base and base.inexact)


def thread_documents(changes: ThreadChanges, now: datetime) -> list[Thread]:
    """Return the thread documents that change, because messages are new, replaced or moved."""
    gone = {merge.thread_id for merge in changes.result.merges}
    also = {name for name in changes.also_in if name in changes.known}
    names = {*changes.result.threads, *changes.added, *also, *changes.replaced} - gone
    return [_document(name, changes, now) for name in sorted(names)]


def _document(name: str, changes: ThreadChanges, now: datetime) -> Thread:
    base, state = changes.known.get(name), changes.result.threads.get(name)
    is_changed = state is not None or name in changes.replaced
    state = state or ThreadState.from_document(base.threading if base else {"members": [], "subjects": []})
    origins, opening = changes.origins(name), opening_of(state)
    thread = base or _new(name, state.root, changes.reborn.get(name), now)
    earlier = [*([base] if base else []), *origins]
    facts = changes.added.get(name, ())
    archives = set(changes.archives.get(name, base.archive_ids if base else ()))
    archives.update(*[fact["archive_ids"] for fact in facts])
    archives |= {changes.also_in[name]} if name in changes.also_in else set()
    document = thread.model_copy(
        update={
            **_shown(earlier, facts, opening),
            **archive_fields(archives),
            "root_message_id": state.root,
            "sources": [changes.source],
            "source": changes.source,
            "message_count": len(state.members),
            "inexact": changes.is_inexact(name) or (base is not None and not _is_named_so(base, opening)),
            "corrections": max([thread.corrections, *(origin.corrections for origin in origins)]),
            "threading": state.to_document(),
        }
    )
    return raise_revision(document) if is_changed else document


def _new(name: str, root: str, before: Thread | None, now: datetime) -> Thread:
    """Return a new thread. Only the ETag and the number of corrections come from an earlier document."""
    thread = Thread(id=name, thread_id=name, root_message_id=root, archive_id="-", created_at=now)
    if before is None:
        return thread
    return thread.model_copy(update={"etag": before.etag, "corrections": before.corrections})


async def describe_inexact(
    clients: Clients, threads: Sequence[ReadyThread], session: Session
) -> list[ReadyThread]:
    """Set dates, people and subject of inexact threads. Threads that have changed since are left out.

    Only commits set the archives, because a label may be older than its entry.
    """
    due = [ready.thread for ready in threads if ready.thread.inexact]
    keys = sorted({key for thread in due for key in member_keys(thread)})
    rows = await clients.store.query_by_ids(MEMBER_FACTS, keys, session) if keys else []
    facts = {row["id"]: row for row in rows}
    changed: set[str] = set()
    for thread in due:
        keys = member_keys(thread)
        if not facts.keys() >= set(keys):
            changed.add(thread.id)
            continue
        opening = opening_of(ThreadState.from_document(thread.threading))
        exact = _shown([], [facts[key] for key in keys], opening)
        stored = Thread.model_validate({**thread.to_cosmos(), **exact}).to_cosmos()
        described = {name: stored[name] for name in exact}
        if not await describe_thread(clients.store, thread, described, session):
            changed.add(thread.id)
    return [ready for ready in threads if ready.thread.id not in changed]


def _is_named_so(thread: Thread, opening: Opening) -> bool:
    """Return whether the subject comes from the current opening."""
    if opening.root:
        return thread.subject_at == _BY_ROOT
    return thread.subject_at != _BY_ROOT and _title(thread.subject) == opening.title


def facts_of_thread(facts: Sequence[MessageFacts], opening: Opening) -> dict[str, Any]:
    """Return the fields of a thread that come from all its messages."""
    archives = {id_ for fact in facts for id_ in fact["archive_ids"]}
    return {**_shown([], facts, opening), **archive_fields(archives), "message_count": len(facts)}


def archive_fields(archives: Collection[str]) -> dict[str, Any]:
    return {"archive_ids": sorted(archives), "archive_id": min(archives, default="-")}


def _shown(earlier: Sequence[Thread], facts: Sequence[MessageFacts], opening: Opening) -> dict[str, Any]:
    subject, at = _subject(earlier, facts, opening)
    dates = _present(map(_date_of, facts))
    for thread in earlier:
        dates += _present([thread.first_message_date, thread.last_message_date])
    mentions = {draft for fact in facts for draft in fact["draft_mentions"]}
    return {
        "subject": subject,
        "subject_at": at,
        "participants": _participants(earlier, facts),
        "first_message_date": _beginning(earlier, facts, opening.root) or min(dates, default=None),
        "last_message_date": max(dates, default=None),
        "draft_mentions": sorted(mentions.union(*[thread.draft_mentions for thread in earlier])),
    }


_BY_ROOT = datetime(1900, 1, 1, tzinfo=UTC)
"""A marker in place of a date: the first message gave the subject, whatever dates others claim."""


def _subject(
    earlier: Sequence[Thread], facts: Sequence[MessageFacts], opening: Opening
) -> tuple[str, datetime | None]:
    """Return the subject of the first message, else the earliest subject with the title of most answers."""
    known = [(thread.subject_at, thread.subject) for thread in earlier if thread.subject]
    if not opening.root:  # an impostor's subject does not count
        known = [(at, subject) for at, subject in known if at != _BY_ROOT]
    named = [fact for fact in facts if fact["subject"] and fact["message_id"] != opening.impostor]
    known += [(_BY_ROOT, fact["subject"]) for fact in named if fact["message_id"] == opening.root]
    known += [(_date_of(fact), fact["subject"]) for fact in named]
    if opening.title:
        known = [pair for pair in known if _title(pair[1]) == opening.title] or known
    dated = [(at, subject) for at, subject in known if at is not None]
    if dated:
        at, subject = min(dated)
        return subject, at
    return min((subject for _, subject in known), default=""), None


def _title(subject: str) -> str:
    return title_of(read_subject(subject).key)


def _beginning(earlier: Sequence[Thread], facts: Sequence[MessageFacts], root: str) -> datetime | None:
    """Return the date of the first message. An answer with an earlier date did not begin the thread."""
    given = [thread.first_message_date for thread in earlier if thread.subject_at == _BY_ROOT and root]
    given += [_date_of(fact) for fact in facts if fact["message_id"] == root]
    return min(_present(given), default=None)


def _participants(earlier: Sequence[Thread], facts: Sequence[MessageFacts]) -> list[Address]:
    signed = [(person.email, person.name) for thread in earlier for person in thread.participants]
    signed += [(fact["from"]["email"], fact["from"]["name"]) for fact in facts]
    names: dict[str, str] = {}
    for email, name in signed:
        # A person may use several names: the longest is the most complete.
        names[email] = max((names.get(email, ""), name), key=lambda text: (len(text), text))
    everyone = sorted(names.items())[:MAX_PARTICIPANTS]
    return [Address.model_construct(name=name, email=email) for email, name in everyone]


def _date_of(fact: MessageFacts) -> datetime | None:
    date = fact["date"]
    return datetime.fromisoformat(date) if date else None


def _present(dates: Iterable[datetime | None]) -> list[datetime]:
    return [date for date in dates if date is not None]
