"""The index over threads: which threads know a message id, and which have a subject around a time."""

import hashlib
from collections.abc import Iterable, Mapping

from shared.documents import ThreadEntry
from shared.mail.subject_links import CLOCK_SKEW, REPLY_WINDOW, SubjectEntry
from shared.mail.threading import ThreadState
from shared.session import Session
from shared.store import Store

__all__ = ["ThreadIndex"]

BUCKETS = 16
_MARGIN = REPLY_WINDOW + CLOCK_SKEW


class ThreadIndex:
    """Point reads only: the work grows with what is asked for, not with what is stored."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(
        self, message_ids: Iterable[str], subjects: Iterable[SubjectEntry], session: Session
    ) -> set[str]:
        """The ids of the threads that can matter to messages with these ids and subjects."""
        asked = {_id_of("id", one): None for one in message_ids}
        times: dict[str, list[int]] = {}
        for entry in subjects:
            times.setdefault(_id_of("subject", entry.key), []).append(entry.at)
        found = await self._read([*asked, *times], session)
        threads: set[str] = set()
        for id_, entry_ in found.items():
            threads |= {
                thread
                for thread, span in entry_.threads.items()
                if id_ in asked or _near(span, times.get(id_, []))
            }
        return threads

    async def store(
        self, states: Mapping[str, ThreadState], gone: Mapping[str, str], session: Session
    ) -> None:
        """Enter these threads, and rename those that are gone."""
        wanted = _entries(states)
        known = await self._read(list(wanted), session)
        changed = []
        for id_, threads in wanted.items():
            old = known[id_].threads if id_ in known else {}
            new = _merged({gone.get(thread, thread): span for thread, span in old.items()}, threads)
            if new != old:
                changed.append(ThreadEntry(id=id_, bucket=_bucket(id_), threads=new))
        await self._store.upsert_all(changed, session)

    async def leave(self, thread: str, state: ThreadState, session: Session) -> int:
        """Take the thread out of every entry that its state has; how many that were."""
        found = await self._read(list(_entries({thread: state})), session)
        left = [
            each.model_copy(
                update={"threads": {name: span for name, span in each.threads.items() if name != thread}}
            )
            for each in found.values()
            if thread in each.threads
        ]
        await self._store.upsert_all([each for each in left if each.threads], session)
        for each in left:
            if not each.threads:
                await self._store.delete(ThreadEntry, each.id, each.bucket, session)
        return len(left)

    async def _read(self, ids: list[str], session: Session) -> dict[str, ThreadEntry]:
        return await self._store.find_many(ThreadEntry, [(id_, _bucket(id_)) for id_ in ids], session)


def _entries(states: Mapping[str, ThreadState]) -> dict[str, dict[str, list[int]]]:
    entries: dict[str, dict[str, list[int]]] = {}
    for thread, state in states.items():
        for one in state.nodes:
            entries.setdefault(_id_of("id", one), {})[thread] = []
        for key, at, _ in state.subjects:
            own = entries.setdefault(_id_of("subject", key), {})
            first, last = own.get(thread) or (at, at)
            own[thread] = [min(first, at), max(last, at)]
    return entries


def _merged(old: dict[str, list[int]], new: dict[str, list[int]]) -> dict[str, list[int]]:
    merged = dict(old)
    for thread, span in new.items():
        both = [*merged.get(thread, []), *span]
        merged[thread] = [min(both), max(both)] if both else []
    return merged


def _near(span: list[int], times: list[int]) -> bool:
    return any(span[0] - _MARGIN <= at <= span[1] + _MARGIN for at in times) if span else False


def _id_of(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}:{text}".encode()).hexdigest()[:24]


def _bucket(id_: str) -> str:
    """Many entries share a partition, so that they are written in batches."""
    return str(int(id_[:4], 16) % BUCKETS)
