"""Threads with what they hold: their counts, messages without chunks, chunks without messages or vectors."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.base import ProcessingStatus
from shared.documents.messages import Message
from shared.documents.queries.archives import PENDING_ARCHIVE_IDS
from shared.documents.queries.chunks import ALL_CHUNK_THREADS, CHUNKS_TO_CHECK
from shared.documents.queries.messages import ALL_MESSAGE_THREADS, MESSAGES_TO_CHECK
from shared.documents.queries.named_query import NamedQuery
from shared.documents.queries.threads import THREADS_TO_CHECK
from shared.documents.threads import Thread
from shared.pipeline.readiness import has_all_messages, is_finished
from shared.upkeep.integrity.findings import Finding, FindingKind
from shared.upkeep.integrity.paging import query_pages

__all__ = ["check_orphans", "check_threads"]

THREADS_AT_ONCE = 16


Row = dict[str, Any]


@dataclass
class _Held:
    thread: Row
    messages: list[Row]
    chunks: list[Row]


async def check_threads(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Only what has not changed since `before` (in seconds) is judged: the rest may be under way."""
    in_flight = {str(row) async for row in clients.store.query(PENDING_ARCHIVE_IDS, Session())}
    async for page in query_pages(clients, THREADS_TO_CHECK, THREADS_AT_ONCE):
        quiet = [row for row in page if row["_ts"] <= before and not in_flight & set(row["archive_ids"])]
        held = await asyncio.gather(*(_load(clients, thread) for thread in quiet))
        settled = [
            held_thread
            for held_thread in held
            if all(row["_ts"] <= before for row in [*held_thread.messages, *held_thread.chunks])
            and all(is_finished(ProcessingStatus(row["status"])) for row in held_thread.messages)
        ]
        for held_thread in settled:
            for finding in _structure(held_thread):
                yield finding
            async for finding in _unchunked(clients, held_thread):
                yield finding
        async for finding in _vectors(clients, settled):
            yield finding


async def _load(clients: Clients, thread: Row) -> _Held:
    async def rows(query: NamedQuery) -> list[Row]:
        return [row async for row in clients.store.query(query, Session(), partition_value=thread["id"])]

    return _Held(thread, await rows(MESSAGES_TO_CHECK), await rows(CHUNKS_TO_CHECK))


def _structure(held: _Held) -> list[Finding]:
    id_, stored, counted = held.thread["id"], len(held.messages), held.thread["message_count"]
    findings = []
    if stored != counted:
        detail = f"it counts {counted} messages and has {stored}"
        data = {"archives": held.thread["archive_ids"], "lost": not has_all_messages(counted, stored)}
        findings.append(Finding(FindingKind.THREAD_COUNT_WRONG, "threads", id_, id_, detail, data))
    keys = {row["id"] for row in held.messages}
    findings += [
        _homeless_chunk(chunk["id"], id_, chunk["message_key"])
        for chunk in held.chunks
        if chunk["message_key"] not in keys
    ]
    return findings


def _homeless_chunk(id_: str, thread: str, key: str) -> Finding:
    return Finding(
        FindingKind.CHUNK_WITHOUT_MESSAGE, "chunks", id_, thread, f"message {key} is not in its thread"
    )


async def _unchunked(clients: Clients, held: _Held) -> AsyncIterator[Finding]:
    chunked = {chunk["message_key"] for chunk in held.chunks}
    for row in held.messages:
        if row["id"] in chunked or row["status"] != ProcessingStatus.PROCESSED or not row["length"]:
            continue
        place = held.thread["id"]
        message = await clients.store.find(Message, row["id"], place, Session())
        if message is not None and message.body_normalized.strip():
            detail = f"{row['length']} characters of its own, and no chunk"
            yield Finding(FindingKind.MESSAGE_WITHOUT_CHUNKS, "messages", row["id"], place, detail, row)


async def _vectors(clients: Clients, held: list[_Held]) -> AsyncIterator[Finding]:
    embedded = {
        chunk["id"]: (chunk, held_thread.thread["id"])
        for held_thread in held
        for chunk in held_thread.chunks
        if chunk["embedding_generated"]
    }
    places = await clients.index.places(list(embedded))
    for id_, (chunk, thread) in embedded.items():
        if id_ not in places:
            detail = "it is marked as embedded, and the index does not have it"
            yield Finding(FindingKind.CHUNK_WITHOUT_VECTOR, "chunks", id_, thread, detail, chunk)
        elif places[id_] != thread:
            detail = f"the index has it in thread {places[id_]}"
            yield Finding(FindingKind.VECTOR_MISPLACED, "chunks", id_, thread, detail)


async def check_orphans(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Messages, and chunks without messages, in threads that are not there."""
    async for page in query_pages(clients, ALL_MESSAGE_THREADS, before=before):
        for thread, row in (await _missing_threads(clients, page)).items():
            detail = "its thread is not there"
            yield Finding(FindingKind.MESSAGE_WITHOUT_THREAD, "messages", row["id"], thread, detail)
    async for page in query_pages(clients, ALL_CHUNK_THREADS, before=before):
        lost = await _missing_threads(clients, page)
        rows = [row for row in page if row["thread_id"] in lost]
        keys = [(row["message_key"], row["thread_id"]) for row in rows]
        there = await clients.store.find_many(Message, keys, Session())
        for row in rows:
            message = there.get(row["message_key"])
            if message is None or message.thread_id != row["thread_id"]:
                yield _homeless_chunk(row["id"], row["thread_id"], row["message_key"])


async def _missing_threads(clients: Clients, page: list[Row]) -> dict[str, Row]:
    """Each thread of these that is not there, with one of them."""
    places = {row["thread_id"]: row for row in page}
    there = await clients.store.find_many(Thread, [(thread_id, thread_id) for thread_id in places], Session())
    return {thread: row for thread, row in places.items() if thread not in there}
