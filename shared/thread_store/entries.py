"""Entries of a source, which lead from Message-IDs and subjects to threads and hold open todos.

All of a source's threads and entries are in one logical partition, so that one transactional batch changes
them together. An entry has a `kind`, a thread has none:

- `id-` and a message key: the `archives` that have the message, its `copies` in list order, the threads
  that wait for it (`waits`), and its `home`. The home is a hint, because the members of a thread decide.
- `subject-` and a hash: the threads with a subject in a period, and the times at which they match.
- `version-` and a hash of the source: the number that every commit raises (`SourceVersion`).
- `todo-`, a source and a version: messages that a commit moved and whose entries and labels need an update.
- `placement-` and a message key: an operator's parent of the message.
- `gone-` and an archive: the archive is deleted, with its time of arrival.
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
"""The most threads in one entry, because hostile mails could add any number."""
_PERIOD = 64 * 24 * 3600  # seconds, because a subject can recur for years

Row = dict[str, Any]
Spans = dict[str, list[int]]
"""Thread id to the first and last time at which it matches."""


def new_entry(id_: str, kind: str, now: str, **fields: Any) -> Row:
    return {"id": id_, "pk": entry_partition(id_), "kind": kind, "created_at": now, **fields}


def id_entry(node: str, source: str, now: str) -> Row:
    """Return the entry of a Message-ID that no archive has yet."""
    key = message_key(node, source)
    return new_entry(
        message_entry_id(key), "id", now, message_id=node, archives=[], copies=[], waits=[], home=None
    )


def is_empty(entry: Mapping[str, Any]) -> bool:
    """Return whether an id's entry has neither an archive nor a waiting thread."""
    return entry["kind"] == "id" and not entry["archives"] and not entry["waits"]


def entry_ids(wanted: Wanted, source: str) -> list[str]:
    """Return the ids of the entries to look up."""
    ids = [message_entry_id(message_key(node, source)) for node in wanted.ids]
    return [*ids, *times_of(wanted.entries, source)]


def times_of(subjects: Iterable[SubjectEntry], source: str) -> dict[str, list[int]]:
    """Return the entries of subjects, and the times to look up in each entry."""
    times: dict[str, list[int]] = defaultdict(list)
    for title, at in {(title_of(entry.key), entry.at) for entry in subjects}:
        for id_ in _subject_ids(title, at - MARGIN, at + MARGIN, source):
            times[id_].append(at)
    return times


def threads_named(wanted: Wanted, source: str, entries: Mapping[str, Row | None]) -> set[str]:
    """Return the threads that the mails may belong to. Some may be merged or may no longer wait."""
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
    """Return the ids that are not in the thread and whose mail would change where this member belongs."""
    member: ThreadMember = state.members[node]
    named = dict.fromkeys([member.parent, *member.wants])
    return [id_ for id_ in named if id_ and id_ not in state.members]


def subject_spans(entries: Iterable[SubjectEntry], source: str) -> dict[str, list[int]]:
    """Return the entries that lead to a mail by subject, with its time as a span."""
    return {
        id_: [at, at]
        for title, at in {(title_of(entry.key), entry.at) for entry in entries}
        for id_ in _subject_ids(title, at, at, source)
    }


def with_thread(entry: Row, name: str) -> Row:
    """Return the entry of an id with another waiting thread. A full entry does not change."""
    if name in entry["waits"] or len(entry["waits"]) >= MAX_THREADS:
        return entry
    return {**entry, "waits": sorted([*entry["waits"], name])}


def with_span(entry: Row, name: str, span: Sequence[int]) -> Row:
    """Return the entry of a subject with a thread that matches at these times, unless the entry is full."""
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


# Cached, because the messages of a thread share a subject, which is looked up and then stored.
_subject_entry_id = lru_cache(10_000)(subject_entry_id)
