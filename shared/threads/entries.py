"""The index over threads: which threads know a message id, and which have a subject around a time.

An entry only grows. It is written before the document of the thread that it names, so a thread that is there
can always be found; a name whose thread never came about finds nothing, and one whose thread was merged finds
the signpost there.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from shared.documents import ThreadEntry, stored_time
from shared.mail.subject_links import CLOCK_SKEW, REPLY_WINDOW, SubjectEntry
from shared.mail.threading import ThreadState
from shared.session import Session
from shared.store import Ready, Store
from shared.store.queries import THREAD_ENTRIES

__all__ = ["BUCKETS", "Found", "ThreadIndex"]

BUCKETS = 32
"""1,000,000,000 messages have about 1.3 times as many entries of some 350 bytes: 14 GB of the 20 a partition
may have. Fewer would not hold them; more would make the batches small."""

_MARGIN = REPLY_WINDOW + CLOCK_SKEW
_PERIOD = 64 * 24 * 3600
"""A subject that comes back for years has an entry for each period, so that none grows for ever."""

Spans = dict[str, list[int]]
"""Thread id to the first and last time that it counts for; nothing where any time does."""


@dataclass
class Found:
    """What the index says about the ids and subjects that were asked for."""

    ids: set[str]
    times: dict[str, list[int]]
    entries: dict[str, Spans] = field(default_factory=dict)

    def threads(self) -> set[str]:
        """The threads that can matter."""
        return {
            thread
            for id_, threads in self.entries.items()
            for thread, span in threads.items()
            if id_ in self.ids or _near(span, self.times[id_])
        }


class ThreadIndex:
    """Looked up by id only: the work grows with what is asked for, not with what is stored."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(
        self, message_ids: Iterable[str], subjects: Iterable[SubjectEntry], session: Session
    ) -> Found:
        times: dict[str, list[int]] = defaultdict(list)
        for entry in subjects:
            for id_ in _subject_ids(entry.key, entry.at - _MARGIN, entry.at + _MARGIN):
                times[id_].append(entry.at)
        found = Found({_id_of("id", one) for one in message_ids}, dict(times))
        buckets: dict[str, list[str]] = defaultdict(list)
        for id_ in (*found.ids, *found.times):
            buckets[_bucket(id_)].append(id_)
        async for stored in self._store.look_up(THREAD_ENTRIES, buckets, session):
            found.entries[stored["id"]] = stored["threads"]
        return found

    async def enter(
        self,
        states: Mapping[str, ThreadState],
        found: Found,
        moved: Mapping[str, str],
        merging: Mapping[str, str],
        session: Session,
    ) -> None:
        """Enter these threads under what was asked for; all else of them is entered already.

        A name that has `moved` (its signpost stands) is replaced on the way. One that is `merging` now leads
        to its thread as soon as it has a signpost, and has to stay until then.
        """
        changed, new = [], set()
        for id_, threads in _entries(states, found).items():
            old = found.entries.get(id_, {})
            kept = _renamed(old, moved)
            # An id is in one thread only; if a name that is there leads to it, that will do.
            leads_there = id_ in found.ids and any(merging.get(name, name) in threads for name in kept)
            entry = kept if leads_there else _merged(kept, threads)
            if entry != old:
                changed.append(_ready(id_, entry))
            if not old:
                new.add(id_)
        await self._store.upsert_all(changed, session, new=new)


def _entries(states: Mapping[str, ThreadState], found: Found) -> dict[str, Spans]:
    entries: dict[str, Spans] = defaultdict(dict)
    for thread, state in states.items():
        for one in state.nodes:
            id_ = _id_of("id", one)
            if id_ in found.ids:
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
        yield _id_of(f"subject-{period}", key)


def _id_of(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}:{text}".encode()).hexdigest()[:24]


def _bucket(id_: str) -> str:
    """Many entries share a partition, so that they are written in batches."""
    return str(int(id_[:4], 16) % BUCKETS)


def _ready(id_: str, threads: Spans) -> Ready:
    bucket = _bucket(id_)
    return Ready(
        ThreadEntry.container,
        bucket,
        {
            "id": id_,
            "bucket": bucket,
            "threads": threads,
            "schema_version": ThreadEntry.current_version,
            "created_at": stored_time(datetime.now(UTC)),
        },
    )
