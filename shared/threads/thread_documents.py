"""Builds a thread's document from the stored one, the threads that it absorbs, and its new messages.

Every field is a union, a minimum or a maximum, so the order in which archives come in does not matter.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from shared.documents.messages import Address
from shared.documents.prepared_message import PreparedMessage
from shared.documents.threads import Thread
from shared.domain.threading.assignment import ThreadingResult, ThreadState
from shared.pipeline.lifecycle.threads import thread_changed

MAX_PARTICIPANTS = 500


def thread_documents(
    result: ThreadingResult,
    known: Mapping[str, Thread],
    messages: Sequence[PreparedMessage],
    archive_id: str,
    source: str,
    now: datetime,
) -> list[Thread]:
    """The thread documents that change: by new messages, or because they absorb other threads."""
    taken_over: dict[str, list[Thread]] = {}
    for merge in result.merges:
        taken_over.setdefault(merge.into, []).append(known[merge.thread_id])
    members: dict[str, list[PreparedMessage]] = {}
    for message in messages:
        members.setdefault(result.assignments[message.links.node], []).append(message)
    # A thread that is unchanged but still absorbing (a crash interrupted it) continues.
    unfinished = {name for name, thread in known.items() if thread.absorbing}
    gone = {merge.thread_id for merge in result.merges}
    return [
        _document(
            name,
            result.threads.get(name),
            known.get(name),
            taken_over.get(name, []),
            members.get(name, []),
            (archive_id, source),
            now,
        )
        for name in sorted({*result.threads, *members, *unfinished} - gone)
    ]


def _document(
    name: str,
    changed: ThreadState | None,
    base: Thread | None,
    taken_over: Sequence[Thread],
    members: Sequence[PreparedMessage],
    origin: tuple[str, str],
    now: datetime,
) -> Thread:
    state = changed or ThreadState.from_document(base.threading if base else {"nodes": [], "subjects": []})
    earlier = [*([base] if base else []), *taken_over]
    thread = base or Thread(
        id=name, thread_id=name, root_message_id=state.root, archive_id=origin[0], created_at=now
    )
    archives = {id_ for thread in earlier for id_ in thread.archive_ids} | ({origin[0]} if members else set())
    sources = {name for thread in earlier for name in thread.sources} | ({origin[1]} if members else set())
    subject, at = _subject(earlier, members)
    dates = _dates(earlier, members)
    document = thread.model_copy(
        update={
            "root_message_id": state.root,
            "archive_ids": sorted(archives),
            "archive_id": min(archives, default=thread.archive_id),
            "sources": sorted(sources),
            "source": min(sources, default=None),
            "subject": subject,
            "subject_at": at,
            "participants": _participants(earlier, members),
            "message_count": len(state.present),
            "first_message_date": min(dates, default=None),
            "last_message_date": max(dates, default=None),
            "draft_mentions": _mentions(earlier, members),
            "absorbing": sorted(
                (
                    {id_ for thread in earlier for id_ in thread.absorbing}
                    | {thread.id for thread in taken_over}
                )
                - {name}
            ),
            "threading": state.to_document(),
        }
    )
    return thread_changed(document) if changed else document


def _dates(earlier: Sequence[Thread], members: Sequence[PreparedMessage]) -> list[datetime]:
    return [
        *_present(thread.first_message_date for thread in earlier),
        *_present(thread.last_message_date for thread in earlier),
        *_present(_date_of(message) for message in members),
    ]


def _mentions(earlier: Sequence[Thread], members: Sequence[PreparedMessage]) -> list[str]:
    everyone = [
        *(thread.draft_mentions for thread in earlier),
        *(message.document["draft_mentions"] for message in members),
    ]
    return sorted({draft for mentions in everyone for draft in mentions})


def _subject(earlier: Sequence[Thread], members: Sequence[PreparedMessage]) -> tuple[str, datetime | None]:
    """The subject of the earliest message; without dates the smallest text, which no order changes."""
    known = [(thread.subject_at, thread.subject) for thread in earlier if thread.subject]
    known += [
        (_date_of(message), message.document["subject"]) for message in members if message.document["subject"]
    ]
    dated = [(at, subject) for at, subject in known if at is not None]
    if dated:
        at, subject = min(dated)
        return subject, at
    return min((subject for _, subject in known), default=""), None


def _participants(earlier: Sequence[Thread], members: Sequence[PreparedMessage]) -> list[Address]:
    people = [person for thread in earlier for person in thread.participants]
    signed = [(person.email, person.name) for person in people]
    signed += [(message.document["from"]["email"], message.document["from"]["name"]) for message in members]
    names: dict[str, str] = {}
    for email, name in signed:
        # A person may use several names: the longest is the most complete.
        names[email] = max((names.get(email, ""), name), key=lambda text: (len(text), text))
    everyone = sorted(names.items())[:MAX_PARTICIPANTS]
    return [Address.model_construct(name=name, email=email) for email, name in everyone]


def _date_of(message: PreparedMessage) -> datetime | None:
    date = message.document["date"]
    return datetime.fromisoformat(date) if date else None


def _present(dates: Iterable[datetime | None]) -> list[datetime]:
    return [date for date in dates if date is not None]
