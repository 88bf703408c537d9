"""The index over the threads of a source: which know a message id, and which have a subject around a time.

A stored message names its thread. Entries are for ids that are only referred to, and for subjects. They only
grow: the thread that an entry names may not be stored, be merged (then there is a redirect) or not need it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from shared.clients.cosmos.session import RawDocument, Session
from shared.clients.cosmos.store import Conflict, Store
from shared.core.errors import TransientError
from shared.core.ids import message_key, subject_entry_id
from shared.core.times import stored_time
from shared.documents.queries.threads import ENTRIES_OF_BUCKET, THREAD_ENTRIES, THREADS_OF_MESSAGES
from shared.documents.threads import ThreadEntry
from shared.domain.threading.assignment import ThreadState
from shared.domain.threading.subject_links import MARGIN, SubjectEntry, title_of

_PERIOD = 64 * 24 * 3600  # seconds; a subject that recurs for years has an entry for each period
_EMPTY_BYTES, _NAME_BYTES = 300, 80  # of an entry, and of each thread in it, at most

Spans = dict[str, list[int]]
"""Thread id to the first and last time at which it matches; empty where it matches at any time."""


class EntryChangedError(TransientError):
    """An entry changed since it was read: another worker has the lease by now."""


@dataclass
class IndexLookup:
    """The result of a lookup of message ids and subjects."""

    source: str
    ids: dict[str, str]
    """Each message id to the key of its message, which is also the id of its entry."""
    times: dict[str, list[int]]
    """Each subject's entry to the times that were looked up."""
    stored_threads: set[str] = field(default_factory=set)
    """The threads of the messages that are stored under these ids."""
    entries: dict[str, Spans] = field(default_factory=dict)
    buckets: dict[str, str] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)

    def add(self, stored: Mapping[str, Any]) -> None:
        """Add an entry. Two workers may have stored it in two partitions: then both apply."""
        id_ = stored["id"]
        self.entries[id_] = _merged(self.entries.get(id_, {}), stored["threads"])
        if id_ not in self.buckets:
            self.buckets[id_], self.etags[id_] = stored["bucket"], stored["_etag"]

    def threads(self) -> set[str]:
        """The threads that the messages may belong to."""
        return self.stored_threads | {
            thread
            for id_, threads in self.entries.items()
            for thread, span in threads.items()
            if id_ not in self.times or _near(span, self.times[id_])
        }


class ThreadIndex:
    """Entries are looked up by id only: one query to each physical partition.

    An entry is in the partition of the archive that created it, so that entries are written in full batches.
    """

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    async def find(
        self,
        message_ids: Iterable[str],
        subjects: Iterable[SubjectEntry],
        source: str,
        session: Session,
        *,
        looked_up: Collection[str] = (),
    ) -> IndexLookup:
        """`looked_up` are those ids of which the caller knows already whether their message is stored."""
        times: dict[str, list[int]] = defaultdict(list)
        for title, at in {(title_of(entry.key), entry.at) for entry in subjects}:
            for id_ in _subject_ids(title, at - MARGIN, at + MARGIN, source):
                times[id_].append(at)
        found = IndexLookup(source, {id_: message_key(id_, source) for id_ in message_ids}, dict(times))
        entries, stored = await asyncio.gather(
            self._store.query_by_ids(THREAD_ENTRIES, [*found.ids.values(), *found.times], session),
            self._store.query_by_ids(
                THREADS_OF_MESSAGES, [key for id_, key in found.ids.items() if id_ not in looked_up], session
            ),
        )
        for row in entries:
            found.add(row)
        found.stored_threads |= {row["thread_id"] for row in stored}
        return found

    async def enter(
        self,
        states: Mapping[str, ThreadState],
        found: IndexLookup,
        moved: Mapping[str, str],
        bucket: str,
        session: Session,
    ) -> bool:
        """Add these threads to the entries that were looked up; all their other entries exist already.

        A thread id that has `moved` (its redirect is stored) is replaced. False where an entry is not as it
        was looked up: some are written then, and others are not.
        """
        changed, now = [], stored_time(self._now())
        for id_, threads in _entries(states, found).items():
            old = found.entries.get(id_)
            if old is None:
                changed.append(_raw(id_, bucket, threads, now))
                continue
            entry = _merged(_renamed(old, moved), threads)
            if entry != old:
                changed.append(_raw(id_, found.buckets[id_], entry, now, found.etags[id_]))
        return await self._store.write_all(changed, session) is None

    async def leave(self, names: Collection[str], state: ThreadState, source: str, session: Session) -> None:
        """Remove a deleted thread, under all its ids, from every entry; entries left empty are deleted."""
        ids = {message_key(one, source) for one in (*state.members, *state.absent())}
        for entry in state.subjects:
            ids.update(_subject_ids(title_of(entry.key), entry.at, entry.at, source))
        entries = await self._store.query_by_ids(THREAD_ENTRIES, sorted(ids), session)
        await self._forget(names, entries, session)

    async def forget(self, bucket: str, names: Collection[str], session: Session) -> None:
        """Remove threads that do not exist from the bucket's entries. The caller holds the lease."""
        await self._forget(names, await self.naming(bucket, names, session), session)

    async def naming(self, bucket: str, names: Collection[str], session: Session) -> list[dict[str, Any]]:
        """The bucket's entries that name one of these threads."""
        stored = self._store.query(ENTRIES_OF_BUCKET, session, partition=bucket)
        return [row async for row in stored if not row["threads"].keys().isdisjoint(names)]

    async def _forget(
        self, names: Collection[str], entries: Iterable[Mapping[str, Any]], session: Session
    ) -> None:
        changed, now = [], stored_time(self._now())
        for stored in entries:
            others = {name: span for name, span in stored["threads"].items() if name not in names}
            if others and len(others) < len(stored["threads"]):
                changed.append(_raw(stored["id"], stored["bucket"], others, now, stored["_etag"]))
            elif not others:
                await self._store.delete(
                    ThreadEntry, stored["id"], session, partition=stored["bucket"], etag=stored["_etag"]
                )
        if await self._store.write_all(changed, session) is Conflict.CONFLICT:
            raise EntryChangedError


def _entries(states: Mapping[str, ThreadState], found: IndexLookup) -> dict[str, Spans]:
    entries: dict[str, Spans] = defaultdict(dict)
    for thread, state in states.items():
        # A stored message is found by its key, without an entry.
        for message_id in state.absent():
            if (id_ := found.ids.get(message_id)) is not None:
                entries[id_][thread] = []
        for title, at in {(title_of(entry.key), entry.at) for entry in state.subjects}:
            for id_ in _subject_ids(title, at, at, found.source):
                if id_ in found.times:
                    first, last = entries[id_].get(thread) or (at, at)
                    entries[id_][thread] = [min(first, at), max(last, at)]
    return entries


def _renamed(old: Spans, moved: Mapping[str, str]) -> Spans:
    renamed: Spans = {}
    for thread, span in old.items():
        renamed = _merged(renamed, {moved.get(thread, thread): span})
    return renamed


def _merged(old: Spans, new: Spans) -> Spans:
    merged = dict(old)
    for thread, span in new.items():
        both = [*merged.get(thread, []), *span]
        merged[thread] = [min(both), max(both)] if both else []
    return merged


def _near(span: list[int], times: list[int]) -> bool:
    return bool(span) and any(span[0] - MARGIN <= at <= span[1] + MARGIN for at in times)


def _subject_ids(title: str, first: int, last: int, source: str) -> list[str]:
    periods = range(first // _PERIOD, last // _PERIOD + 1)
    return [_subject_entry_id(period, title, source) for period in periods]


# A thread's messages share a subject, which is looked up and then stored.
_subject_entry_id = lru_cache(10_000)(subject_entry_id)


def _raw(id_: str, bucket: str, threads: Spans, now: str, etag: str | None = None) -> RawDocument:
    document = {"id": id_, "bucket": bucket, "threads": threads, "created_at": now}
    document["schema_version"] = ThreadEntry.current_version
    size = _EMPTY_BYTES + _NAME_BYTES * len(threads)
    return RawDocument(ThreadEntry.container, bucket, document, size, etag)
