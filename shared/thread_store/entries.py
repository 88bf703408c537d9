"""The entries beside the threads of a source: who knows a Message-ID or a subject, and what is still to do.

All of a source's threads and entries are in one logical partition, so that one transactional batch changes
them together. An entry has a `kind`, a thread has none:

- `id-` and a message key: the `archives` that have the message, its `copies` in list order, the threads
that wait for it (`waits`), and its `home`, a hint, as the member list of a thread decides. - `subject-` and
a hash: the threads with a subject in a period, and the times that they match at. - `version-` and a hash of
the source: the number that every commit raises (`SourceVersion`). - `todo-`, a source and a version:
messages that a commit moved, whose entries and labels have to follow. - `placement-` and a message key: an
operator's parent of the message. - `gone-` and an archive: that it is deleted, and since when the deleted
one had been here.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from shared.core.ids import (
    entry_partition,
    message_entry_id,
    message_key,
    subject_entry_id,
)
from shared.threading.assignment import ThreadMember, ThreadState, Wanted
from shared.threading.subject_links import MARGIN, SubjectEntry, title_of

MAX_THREADS = 1000
"""That wait for one id, or share a subject in a period: what hostile mails can make an entry hold."""
_PERIOD = 64 * 24 * 3600  # seconds; a subject that recurs for years has an entry for each period

Row = dict[str, Any]
Spans = dict[str, list[int]]
"""Thread id to the first and last time at which it matches."""


def new_entry(id_: str, kind: str, now: str, **fields: Any) -> Row:
    return {"id": id_, "pk": entry_partition(id_), "kind": kind, "created_at": now, **fields}


def id_entry(node: str, source: str, now: str) -> Row:
    """Of a Message-ID that is only named so far."""
    key = message_key(node, source)
    return new_entry(
        message_entry_id(key), "id", now, message_id=node, archives=[], copies=[], waits=[], home=None
    )


def is_empty(entry: Mapping[str, Any]) -> bool:
    """Whether nobody needs it any more."""
    return entry["kind"] == "id" and not entry["archives"] and not entry["waits"]


def entry_ids(wanted: Wanted, source: str) -> list[str]:
    """Of everything that is looked up."""
    ids = [message_entry_id(message_key(node, source)) for node in wanted.ids]
    return [*ids, *times_of(wanted.entries, source)]


def times_of(subjects: Iterable[SubjectEntry], source: str) -> dict[str, list[int]]:
    """The entries of subjects, and the times that are looked up in each."""
    times: dict[str, list[int]] = defaultdict(list)
    for title, at in {(title_of(entry.key), entry.at) for entry in subjects}:
        for id_ in _subject_ids(title, at - MARGIN, at + MARGIN, source):
            times[id_].append(at)
    return times


def threads_named(wanted: Wanted, source: str, entries: Mapping[str, Row | None]) -> set[str]:
    """The threads that the mails may belong to. They may be merged by now, or not need it any more."""
    names: set[str] = set()
    for node in wanted.ids:
        entry = entries.get(message_entry_id(message_key(node, source)))
        if entry is not None:
            names.update(entry["waits"], [entry["home"]] if entry["home"] else [])
    for id_, times in times_of(wanted.entries, source).items():
        entry = entries.get(id_)
        spans: Spans = entry["threads"] if entry is not None else {}
        names.update(name for name, span in spans.items() if _near(span, times))
    return names


def awaited(node: str, state: ThreadState) -> list[str]:
    """The ids that are not in the thread, and whose mail would change where this member belongs."""
    member: ThreadMember = state.members[node]
    named = dict.fromkeys([member.parent, *member.wants])
    return [one for one in named if one and one not in state.members]


def subject_spans(entries: Iterable[SubjectEntry], source: str) -> dict[str, list[int]]:
    """The entries that a mail is found by, with its time as a span."""
    return {
        id_: [at, at]
        for title, at in {(title_of(entry.key), entry.at) for entry in entries}
        for id_ in _subject_ids(title, at, at, source)
    }


def with_thread(entry: Row, name: str) -> Row:
    """The id's entry with another thread that waits for it; a full one stays as it is."""
    if name in entry["waits"] or len(entry["waits"]) >= MAX_THREADS:
        return entry
    return {**entry, "waits": sorted([*entry["waits"], name])}


def with_span(entry: Row, name: str, span: Sequence[int]) -> Row:
    """The subject's entry with a thread that matches at these times, too."""
    threads: Spans = entry["threads"]
    if name not in threads and len(threads) >= MAX_THREADS:
        return entry
    both = [*threads.get(name, []), *span]
    return {**entry, "threads": {**threads, name: [min(both), max(both)]}}


def _near(span: Sequence[int], times: Sequence[int]) -> bool:
    return bool(span) and any(span[0] - MARGIN <= at <= span[1] + MARGIN for at in times)


def _subject_ids(title: str, first: int, last: int, source: str) -> list[str]:
    periods = range(first // _PERIOD, last // _PERIOD + 1)
    return [_subject_entry_id(period, title, source) for period in periods]


# A thread's messages share a subject, which is looked up and then stored.
_subject_entry_id = lru_cache(10_000)(subject_entry_id)
