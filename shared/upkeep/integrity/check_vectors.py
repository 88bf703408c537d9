"""Vectors without a chunk, over the whole index, a stretch of keys at a time."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import in_pages
from shared.documents.chunks import Chunk
from shared.documents.queries.chunks import EXISTING_CHUNK_IDS
from shared.upkeep.integrity.findings import Finding, FindingKind
from shared.upkeep.integrity.paging import PAGE

__all__ = ["check_vectors"]

DIGITS = "0123456789abcdef"
MOST_AT_ONCE = 50_000  # a search goes no further than its 100,000th result
DEEPEST = 4


async def check_vectors(clients: Clients, before: int) -> AsyncIterator[Finding]:
    stretches = ["chunk_id lt '0'", "chunk_id ge 'g'"]
    for stretch in [*stretches, *(_between(digit) for digit in DIGITS)]:
        async for finding in _stretch(clients, stretch, before):
            yield finding


def _between(prefix: str) -> str:
    """Keys that begin with this: after the last digit comes a letter that no key of ours has."""
    return f"chunk_id ge '{prefix}' and chunk_id lt '{prefix}g'"


async def _stretch(clients: Clients, condition: str, before: int) -> AsyncIterator[Finding]:
    for part in await _parts(clients, condition):
        async for page in in_pages(clients.index.listed(part), PAGE):
            for finding in await _without_chunk(clients, page, before):
                yield finding


async def _parts(clients: Clients, condition: str) -> list[str]:
    """The stretch, or smaller ones where it has too many."""
    if await clients.index.count_of(condition) <= MOST_AT_ONCE or condition.count("'") < DEEPEST:
        return [condition]
    prefix = condition.split("'")[1]
    if len(prefix) >= DEEPEST:
        return [condition]
    return [part for digit in DIGITS for part in await _parts(clients, _between(prefix + digit))]


async def _without_chunk(clients: Clients, page: list[dict[str, Any]], before: int) -> list[Finding]:
    old = [each for each in page if _is_old(each.get("embedding_date"), before)]
    missing = await _missing(clients, {each["chunk_id"]: each.get("thread_id") or "" for each in old})
    if missing:  # its chunk may be in another thread: that is for the check of threads to tell
        elsewhere = {
            str(each)
            async for each in clients.store.query(EXISTING_CHUNK_IDS, Session(), ids=sorted(missing))
        }
        missing = {id_: thread for id_, thread in missing.items() if id_ not in elsewhere}
    return [
        Finding(FindingKind.VECTOR_WITHOUT_CHUNK, "index", id_, thread, "there is no such chunk")
        for id_, thread in missing.items()
    ]


async def _missing(clients: Clients, places: dict[str, str]) -> dict[str, str]:
    keys = [(id_, thread) for id_, thread in places.items() if thread]
    there = await clients.store.find_many(Chunk, keys, Session())
    return {id_: thread for id_, thread in places.items() if id_ not in there}


def _is_old(date: str | None, before: int) -> bool:
    return date is None or datetime.fromisoformat(date).astimezone(UTC).timestamp() <= before
