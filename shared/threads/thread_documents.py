"""A thread's document, from what was known of it, of the threads it takes over, and of its new messages.

Everything is a union, a minimum or a maximum: so any order of archives gives the same document.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from shared.documents.messages import Address
from shared.documents.prepared_message import PreparedMessage
from shared.documents.threads import Thread
from shared.domain.threading.assignment import ThreadingResult, ThreadState
from shared.pipeline.lifecycle.threads import thread_changed

__all__ = ["thread_documents"]

MAX_PARTICIPANTS = 500


def thread_documents(
    result: ThreadingResult,
    known: Mapping[str, Thread],
    messages: Sequence[PreparedMessage],
    archive_id: str,
    source: str,
    now: datetime,
) -> list[Thread]:
    """The thread documents that change: by new messages, or by threads that they take over."""
    taken_over: dict[str, list[Thread]] = {}
    for merge in result.merges:
        taken_over.setdefault(merge.into, []).append(known[merge.thread_id])
    members: dict[str, list[PreparedMessage]] = {}
    for message in messages:
        members.setdefault(result.assignments[message.links.node], []).append(message)
    # A thread that did not change, yet has not finished taking another over, goes on with that.
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
    archives = {one for thread in earlier for one in thread.archive_ids} | ({origin[0]} if members else set())
    sources = {one for thread in earlier for one in thread.sources} | ({origin[1]} if members else set())
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
                    {one for thread in earlier for one in thread.absorbing}
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
    return sorted({one for mentions in everyone for one in mentions})


def _subject(earlier: Sequence[Thread], members: Sequence[PreparedMessage]) -> tuple[str, datetime | None]:
    """The subject of the earliest message; of none with a date, the smallest, so that any order gives one."""
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
    people = [one for thread in earlier for one in thread.participants]
    signed = [(person.email, person.name) for person in people]
    signed += [(message.document["from"]["email"], message.document["from"]["name"]) for message in members]
    names: dict[str, str] = {}
    for email, name in signed:
        # One person may sign in several ways: the longest name says most.
        names[email] = max((names.get(email, ""), name), key=lambda one: (len(one), one))
    everyone = sorted(names.items())[:MAX_PARTICIPANTS]
    return [Address.model_construct(name=name, email=email) for email, name in everyone]


def _date_of(arrival: PreparedMessage) -> datetime | None:
    date = arrival.document["date"]
    return datetime.fromisoformat(date) if date else None


def _present(dates: Iterable[datetime | None]) -> list[datetime]:
    return [date for date in dates if date is not None]
