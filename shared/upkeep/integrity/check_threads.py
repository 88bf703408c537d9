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
    in_flight = {str(each) async for each in clients.store.query(PENDING_ARCHIVE_IDS, Session())}
    async for page in query_pages(clients, THREADS_TO_CHECK, THREADS_AT_ONCE):
        quiet = [each for each in page if each["_ts"] <= before and not in_flight & set(each["archive_ids"])]
        held = await asyncio.gather(*(_load(clients, each) for each in quiet))
        settled = [
            each
            for each in held
            if all(row["_ts"] <= before for row in [*each.messages, *each.chunks])
            and all(is_finished(ProcessingStatus(row["status"])) for row in each.messages)
        ]
        for each in settled:
            for finding in _structure(each):
                yield finding
            async for finding in _unchunked(clients, each):
                yield finding
        async for finding in _vectors(clients, settled):
            yield finding


async def _load(clients: Clients, thread: Row) -> _Held:
    async def rows(query: NamedQuery) -> list[Row]:
        return [each async for each in clients.store.query(query, Session(), partition_value=thread["id"])]

    return _Held(thread, await rows(MESSAGES_TO_CHECK), await rows(CHUNKS_TO_CHECK))


def _structure(held: _Held) -> list[Finding]:
    id_, stored, counted = held.thread["id"], len(held.messages), held.thread["message_count"]
    findings = []
    if stored != counted:
        detail = f"it counts {counted} messages and has {stored}"
        data = {"archives": held.thread["archive_ids"], "lost": not has_all_messages(counted, stored)}
        findings.append(Finding(FindingKind.THREAD_COUNT_WRONG, "threads", id_, id_, detail, data))
    keys = {each["id"] for each in held.messages}
    findings += [
        _homeless_chunk(each["id"], id_, each["message_key"])
        for each in held.chunks
        if each["message_key"] not in keys
    ]
    return findings


def _homeless_chunk(id_: str, thread: str, key: str) -> Finding:
    return Finding(
        FindingKind.CHUNK_WITHOUT_MESSAGE, "chunks", id_, thread, f"message {key} is not in its thread"
    )


async def _unchunked(clients: Clients, held: _Held) -> AsyncIterator[Finding]:
    chunked = {each["message_key"] for each in held.chunks}
    for each in held.messages:
        if each["id"] in chunked or each["status"] != ProcessingStatus.PROCESSED or not each["length"]:
            continue
        place = held.thread["id"]
        message = await clients.store.find(Message, each["id"], place, Session())
        if message is not None and message.body_normalized.strip():
            detail = f"{each['length']} characters of its own, and no chunk"
            yield Finding(FindingKind.MESSAGE_WITHOUT_CHUNKS, "messages", each["id"], place, detail, each)


async def _vectors(clients: Clients, held: list[_Held]) -> AsyncIterator[Finding]:
    embedded = {
        chunk["id"]: (chunk, each.thread["id"])
        for each in held
        for chunk in each.chunks
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
        rows = [each for each in page if each["thread_id"] in lost]
        keys = [(each["message_key"], each["thread_id"]) for each in rows]
        there = await clients.store.find_many(Message, keys, Session())
        for each in rows:
            message = there.get(each["message_key"])
            if message is None or message.thread_id != each["thread_id"]:
                yield _homeless_chunk(each["id"], each["thread_id"], each["message_key"])


async def _missing_threads(clients: Clients, page: list[Row]) -> dict[str, Row]:
    """Each thread of these that is not there, with one of them."""
    places = {each["thread_id"]: each for each in page}
    there = await clients.store.find_many(Thread, [(each, each) for each in places], Session())
    return {thread: row for thread, row in places.items() if thread not in there}
