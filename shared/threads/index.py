"""The index over threads: which threads know a message id, and which have a subject around a time.

A message that is stored says itself where it is; an entry is for ids that are only referred to, or made up
for a message without one, and for subjects. It only grows: a name whose thread never came about finds
nothing, and one whose thread was merged finds the signpost there.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from shared.clients.cosmos.batches import RawDocument
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.ids import is_without_id, message_key
from shared.documents.base import stored_time
from shared.documents.queries.messages import THREADS_OF_MESSAGES
from shared.documents.queries.thread_index import ENTRIES_OF_BUCKET, THREAD_ENTRIES
from shared.documents.threads import ThreadEntry
from shared.domain.threading.assignment import ThreadState
from shared.domain.threading.subject_links import CLOCK_SKEW, REPLY_WINDOW, SubjectEntry

__all__ = ["IndexLookup", "ThreadIndex"]

_MARGIN = REPLY_WINDOW + CLOCK_SKEW
_PERIOD = 64 * 24 * 3600
"""A subject that comes back for years has an entry for each period, so that none grows for ever."""

_EMPTY_BYTES, _NAME_BYTES = 300, 80
"""At most, of an entry and of each thread in it."""

Spans = dict[str, list[int]]
"""Thread id to the first and last time that it counts for; nothing where any time does."""


@dataclass
class IndexLookup:
    """What the index says about the message ids and subjects that were asked for."""

    ids: dict[str, str]
    """Each message id that was asked for, to the key of its message, which is its entry's id, too."""
    times: dict[str, list[int]]
    """Each subject's entry that was asked for, to the times it was asked for."""
    homes: set[str] = field(default_factory=set)
    """The threads of the messages that are stored under these ids."""
    entries: dict[str, Spans] = field(default_factory=dict)
    buckets: dict[str, str] = field(default_factory=dict)

    def add(self, stored: Mapping[str, Any]) -> None:
        """An entry; of one that two workers have made, both are true."""
        id_ = stored["id"]
        self.entries[id_] = _merged(self.entries.get(id_, {}), stored["threads"])
        self.buckets.setdefault(id_, stored["bucket"])

    def threads(self) -> set[str]:
        """The threads that can matter."""
        return self.homes | {
            thread
            for id_, threads in self.entries.items()
            for thread, span in threads.items()
            if id_ not in self.times or _near(span, self.times[id_])
        }


class ThreadIndex:
    """Looked up by id only: the work grows with what is asked for, not with what is stored.

    An entry lies in a partition with all those that came with the same archive, so that they are written in
    full batches; to look ids up is one question to each physical partition.
    """

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    async def find(
        self, message_ids: Iterable[str], subjects: Iterable[SubjectEntry], session: Session
    ) -> IndexLookup:
        times: dict[str, list[int]] = defaultdict(list)
        for entry in subjects:
            for id_ in _subject_ids(entry.key, entry.at - _MARGIN, entry.at + _MARGIN):
                times[id_].append(entry.at)
        found = IndexLookup({one: message_key(one) for one in message_ids}, dict(times))
        entries, stored = await asyncio.gather(
            self._store.query_by_ids(THREAD_ENTRIES, [*found.ids.values(), *found.times], session),
            self._store.query_by_ids(THREADS_OF_MESSAGES, [*found.ids.values()], session),
        )
        for row in entries:
            found.add(row)
        found.homes |= {row["thread_id"] for row in stored}
        return found

    async def enter(
        self,
        states: Mapping[str, ThreadState],
        found: IndexLookup,
        moved: Mapping[str, str],
        merging: Mapping[str, str],
        bucket: str,
        session: Session,
    ) -> None:
        """Enter these threads under what was asked for; all else of them is entered already.

        A name that has `moved` (its signpost stands) is replaced on the way. One that is `merging` now leads
        to its thread as soon as it has a signpost, and has to stay until then.
        """
        changed, new, now = [], set(), stored_time(self._now())
        for id_, threads in _entries(states, found).items():
            old = found.entries.get(id_)
            if old is None:
                new.add(id_)
                changed.append(_ready(id_, bucket, threads, now))
                continue
            kept = _renamed(old, moved)
            # An id is in one thread only; if a name that is there leads to it, that will do.
            leads_there = id_ not in found.times and any(merging.get(name, name) in threads for name in kept)
            entry = kept if leads_there else _merged(kept, threads)
            if entry != old:
                changed.append(_ready(id_, found.buckets[id_], entry, now))
        await self._store.upsert_all(changed, session, new=new)

    async def leave(self, names: Collection[str], state: ThreadState, session: Session) -> None:
        """Take a thread that is deleted, by all its names, out of every entry; one without others goes."""
        ids = set(map(message_key, state.nodes))
        ids |= {id_ for key, at, _ in state.subjects for id_ in _subject_ids(key, at, at)}
        await self._forget(
            names, await self._store.query_by_ids(THREAD_ENTRIES, sorted(ids), session), session
        )

    async def forget(self, bucket: str, names: Collection[str], session: Session) -> None:
        """Take threads that are not there out of the bucket's entries. The caller holds the lease."""
        await self._forget(names, await self.naming(bucket, names, session), session)

    async def naming(self, bucket: str, names: Collection[str], session: Session) -> list[dict[str, Any]]:
        """The bucket's entries that name one of these threads."""
        stored = self._store.query(ENTRIES_OF_BUCKET, session, partition_value=bucket)
        return [row async for row in stored if not row["threads"].keys().isdisjoint(names)]

    async def _forget(
        self, names: Collection[str], entries: Iterable[Mapping[str, Any]], session: Session
    ) -> None:
        kept, now = [], stored_time(self._now())
        for stored in entries:
            others = {name: span for name, span in stored["threads"].items() if name not in names}
            if others and len(others) < len(stored["threads"]):
                kept.append(_ready(stored["id"], stored["bucket"], others, now))
            elif not others:
                await self._store.delete(ThreadEntry, stored["id"], stored["bucket"], session)
        await self._store.upsert_all(kept, session)


def _entries(states: Mapping[str, ThreadState], found: IndexLookup) -> dict[str, Spans]:
    entries: dict[str, Spans] = defaultdict(dict)
    for thread, state in states.items():
        for one, node in state.nodes.items():
            # A stored message is found by its key, which is its id's, if it has one.
            is_stored = node.present and not is_without_id(one)
            if not is_stored and (id_ := found.ids.get(one)) is not None:
                entries[id_][thread] = []
        for key, at, _ in state.subjects:
            for id_ in _subject_ids(key, at, at):
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
    return bool(span) and any(span[0] - _MARGIN <= at <= span[1] + _MARGIN for at in times)


def _subject_ids(key: str, first: int, last: int) -> Iterator[str]:
    for period in range(first // _PERIOD, last // _PERIOD + 1):
        yield _subject_id(period, key)


@lru_cache(10_000)  # the messages of a thread have one subject, and it is asked for before it is entered
def _subject_id(period: int, key: str) -> str:
    return hashlib.sha256(f"subject-{period}:{key}".encode()).hexdigest()[:24]


def _ready(id_: str, bucket: str, threads: Spans, now: str) -> RawDocument:
    return RawDocument(
        ThreadEntry.container,
        bucket,
        {
            "id": id_,
            "bucket": bucket,
            "threads": threads,
            "schema_version": ThreadEntry.current_version,
            "created_at": now,
        },
        _EMPTY_BYTES + _NAME_BYTES * len(threads),
    )
