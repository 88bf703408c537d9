"""Checks threads against their members: counts, messages without chunks, chunks without message or vector."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import in_pages
from shared.documents.base import ProcessingStatus
from shared.documents.queries.named_query import NamedQuery
from shared.documents.queries.operations import PENDING_ARCHIVE_IDS
from shared.documents.queries.threads import (
    ALL_CHUNK_THREADS,
    ALL_MESSAGE_THREADS,
    CHUNKS_TO_CHECK,
    MESSAGES_TO_CHECK,
    THREADS_TO_CHECK,
)
from shared.documents.threads import Message, Thread
from shared.pipeline.readiness import has_all_messages, is_finished
from shared.upkeep.integrity.findings import PAGE_SIZE, Finding, FindingKind

THREADS_AT_ONCE = 16
Row = dict[str, Any]


@dataclass
class _ThreadMembers:
    thread: Row
    messages: list[Row]
    chunks: list[Row]


async def check_threads(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Judges only what has not changed since `before` (a Unix time): other work may be in flight."""
    in_flight = {str(row) async for row in clients.store.query(PENDING_ARCHIVE_IDS, Session())}
    async for page in in_pages(clients.store.query(THREADS_TO_CHECK, Session()), THREADS_AT_ONCE):
        quiet = [row for row in page if row["_ts"] <= before and not in_flight & set(row["archive_ids"])]
        loaded = await asyncio.gather(*(_load(clients, thread) for thread in quiet))
        settled = [
            members
            for members in loaded
            if all(row["_ts"] <= before for row in [*members.messages, *members.chunks])
            and all(is_finished(ProcessingStatus(row["status"])) for row in members.messages)
        ]
        for members in settled:
            for finding in _structure(members):
                yield finding
            async for finding in _unchunked(clients, members):
                yield finding
        async for finding in _vectors(clients, settled):
            yield finding


async def _load(clients: Clients, thread: Row) -> _ThreadMembers:
    async def rows(query: NamedQuery) -> list[Row]:
        return [row async for row in clients.store.query(query, Session(), partition_value=thread["id"])]

    return _ThreadMembers(thread, await rows(MESSAGES_TO_CHECK), await rows(CHUNKS_TO_CHECK))


def _structure(members: _ThreadMembers) -> list[Finding]:
    id_, stored, counted = members.thread["id"], len(members.messages), members.thread["message_count"]
    findings = []
    if stored != counted:
        detail = f"it counts {counted} messages and has {stored}"
        data = {"archives": members.thread["archive_ids"], "lost": not has_all_messages(counted, stored)}
        findings.append(Finding(FindingKind.THREAD_COUNT_WRONG, "threads", id_, id_, detail, data))
    keys = {row["id"] for row in members.messages}
    findings += [
        _orphaned_chunk(chunk["id"], id_, chunk["message_key"])
        for chunk in members.chunks
        if chunk["message_key"] not in keys
    ]
    return findings


def _orphaned_chunk(id_: str, thread: str, key: str) -> Finding:
    return Finding(
        FindingKind.CHUNK_WITHOUT_MESSAGE, "chunks", id_, thread, f"message {key} is not in its thread"
    )


async def _unchunked(clients: Clients, members: _ThreadMembers) -> AsyncIterator[Finding]:
    chunked = {chunk["message_key"] for chunk in members.chunks}
    for row in members.messages:
        if row["id"] in chunked or row["status"] != ProcessingStatus.PROCESSED or not row["length"]:
            continue
        thread_id = members.thread["id"]
        message = await clients.store.find(Message, row["id"], thread_id, Session())
        if message is not None and message.body_normalized.strip():
            detail = f"{row['length']} characters of its own, and no chunk"
            yield Finding(FindingKind.MESSAGE_WITHOUT_CHUNKS, "messages", row["id"], thread_id, detail, row)


async def _vectors(clients: Clients, loaded: list[_ThreadMembers]) -> AsyncIterator[Finding]:
    embedded = {
        chunk["id"]: (chunk, members.thread["id"])
        for members in loaded
        for chunk in members.chunks
        if chunk["embedding_generated"]
    }
    indexed_threads = await clients.index.places(list(embedded))
    for id_, (chunk, thread) in embedded.items():
        if id_ not in indexed_threads:
            detail = "it is marked as embedded, and the index does not have it"
            yield Finding(FindingKind.CHUNK_WITHOUT_VECTOR, "chunks", id_, thread, detail, chunk)
        elif indexed_threads[id_] != thread:
            detail = f"the index has it in thread {indexed_threads[id_]}"
            yield Finding(FindingKind.VECTOR_MISPLACED, "chunks", id_, thread, detail)


async def check_orphans(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Messages, and chunks without messages, whose thread does not exist."""
    async for page in in_pages(clients.store.query(ALL_MESSAGE_THREADS, Session(), before=before), PAGE_SIZE):
        for thread, row in (await _missing_threads(clients, page)).items():
            detail = "its thread is not there"
            yield Finding(FindingKind.MESSAGE_WITHOUT_THREAD, "messages", row["id"], thread, detail)
    async for page in in_pages(clients.store.query(ALL_CHUNK_THREADS, Session(), before=before), PAGE_SIZE):
        lost = await _missing_threads(clients, page)
        rows = [row for row in page if row["thread_id"] in lost]
        keys = [(row["message_key"], row["thread_id"]) for row in rows]
        found = await clients.store.find_many(Message, keys, Session())
        for row in rows:
            message = found.get(row["message_key"])
            if message is None or message.thread_id != row["thread_id"]:
                yield _orphaned_chunk(row["id"], row["thread_id"], row["message_key"])


async def _missing_threads(clients: Clients, page: list[Row]) -> dict[str, Row]:
    """The threads of these rows that do not exist, with one row of each."""
    by_thread = {row["thread_id"]: row for row in page}
    keys = [(thread_id, thread_id) for thread_id in by_thread]
    found = await clients.store.find_many(Thread, keys, Session())
    return {thread_id: row for thread_id, row in by_thread.items() if thread_id not in found}
