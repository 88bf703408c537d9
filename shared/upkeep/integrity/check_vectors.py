"""Finds vectors without a chunk, over the whole index, one range of keys at a time."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import in_pages
from shared.documents.queries.threads import EXISTING_CHUNK_IDS
from shared.documents.threads import Chunk
from shared.upkeep.integrity.findings import PAGE_SIZE, Finding, FindingKind

DIGITS = "0123456789abcdef"
MAX_PER_RANGE = 50_000  # a search goes no further than its 100,000th result
MAX_PREFIX = 4


async def check_vectors(clients: Clients, before: int) -> AsyncIterator[Finding]:
    ranges = ["chunk_id lt '0'", "chunk_id ge 'g'"]
    for condition in [*ranges, *(_between(digit) for digit in DIGITS)]:
        async for finding in _check_range(clients, condition, before):
            yield finding


def _between(prefix: str) -> str:
    """The range of keys with this prefix: they are hexadecimal, so all sort before the prefix and a `g`."""
    return f"chunk_id ge '{prefix}' and chunk_id lt '{prefix}g'"


async def _check_range(clients: Clients, condition: str, before: int) -> AsyncIterator[Finding]:
    for part in await _parts(clients, condition):
        async for page in in_pages(clients.index.listed(part), PAGE_SIZE):
            for finding in await _without_chunk(clients, page, before):
                yield finding


async def _parts(clients: Clients, condition: str) -> list[str]:
    """The range, or smaller ones where it has more results than a search returns."""
    if await clients.index.count_of(condition) <= MAX_PER_RANGE or condition.count("'") < MAX_PREFIX:
        return [condition]
    prefix = condition.split("'")[1]
    if len(prefix) >= MAX_PREFIX:
        return [condition]
    return [part for digit in DIGITS for part in await _parts(clients, _between(prefix + digit))]


async def _without_chunk(clients: Clients, page: list[dict[str, Any]], before: int) -> list[Finding]:
    old = [vector for vector in page if _is_old(vector.get("embedding_date"), before)]
    missing = await _missing(clients, {vector["chunk_id"]: vector.get("thread_id") or "" for vector in old})
    if missing:  # its chunk may be in another thread: that is for the check of threads to tell
        elsewhere = {
            str(row) async for row in clients.store.query(EXISTING_CHUNK_IDS, Session(), ids=sorted(missing))
        }
        missing = {id_: thread for id_, thread in missing.items() if id_ not in elsewhere}
    return [
        Finding(FindingKind.VECTOR_WITHOUT_CHUNK, "index", id_, thread, "there is no such chunk")
        for id_, thread in missing.items()
    ]


async def _missing(clients: Clients, thread_of: dict[str, str]) -> dict[str, str]:
    keys = [(id_, thread) for id_, thread in thread_of.items() if thread]
    found = await clients.store.find_many(Chunk, keys, Session())
    return {id_: thread for id_, thread in thread_of.items() if id_ not in found}


def _is_old(date: str | None, before: int) -> bool:
    return date is None or datetime.fromisoformat(date).astimezone(UTC).timestamp() <= before
