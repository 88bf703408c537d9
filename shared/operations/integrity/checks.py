"""Checks of chunks, vectors, summaries, reports and entries for broken references and citations."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.concurrency import in_pages
from shared.core.ids import message_entry_id, scope_id, source_partition
from shared.models.base import ProcessingStatus
from shared.models.containers import read_document
from shared.models.queries.operations import ARCHIVE_FILES, PENDING_ARCHIVE_IDS
from shared.models.queries.reports import REPORTS_TO_CHECK, SUMMARIES_TO_CHECK
from shared.models.queries.threads import (
    ALL_CHUNK_THREADS,
    ALL_MESSAGE_THREADS,
    CHUNKS_TO_CHECK,
    ENTRIES_TO_CHECK,
    MESSAGES_TO_CHECK,
    OF_SOURCE_BY_ID,
    THREADS_TO_CHECK,
)
from shared.models.reports import Report, Summary
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline.readiness import has_all_messages, is_finished
from shared.pipeline.state.summaries import is_current
from shared.summaries.citations import verify_stored
from shared.thread_store.chunk_sets import is_stale

PAGE_SIZE = 100  # rows that a check holds in memory at a time


class FindingKind(StrEnum):
    CHUNK_WITHOUT_VECTOR = "chunk_without_vector"  # embedded again
    VECTOR_WITHOUT_CHUNK = "vector_without_chunk"  # deleted
    VECTOR_MISPLACED = "vector_misplaced"  # its thread is corrected
    MESSAGE_WITHOUT_CHUNKS = "message_without_chunks"  # chunked again
    CHUNK_WITHOUT_MESSAGE = "chunk_without_message"  # deleted, with its vector
    CHUNK_STALE = "chunk_stale"  # made from an earlier text of its message: deleted, with its vector
    CHUNK_MISLABELLED = "chunk_mislabelled"  # its message is chunked again
    MESSAGE_WITHOUT_ENTRY = "message_without_entry"  # no archive contains it: deleted
    MESSAGE_WITHOUT_THREAD = "message_without_thread"  # its archives are parsed again
    THREAD_COUNT_WRONG = "thread_count_wrong"  # its archives are parsed again
    CITATION_BROKEN = "citation_broken"  # the summary is created again
    SUMMARY_WITHOUT_THREAD = "summary_without_thread"  # deleted, with its report
    SUMMARY_WITHOUT_REPORT = "summary_without_report"  # published again
    REPORT_WITHOUT_SUMMARY = "report_without_summary"  # deleted
    ENTRY_WITHOUT_THREAD = "entry_without_thread"  # the reference is removed
    ARCHIVE_WITHOUT_FILE = "archive_without_file"  # an operator uploads the file again
    ARCHIVE_CHANGED = "archive_changed"  # from here on: for an operator to judge
    MESSAGE_CHANGED = "message_changed"
    MESSAGE_MISSING = "message_missing"
    MESSAGE_ADDED = "message_added"
    MESSAGE_MOVED = "message_moved"
    THREAD_CHANGED = "thread_changed"
    EVIDENCE_CHANGED = "evidence_changed"


@dataclass(frozen=True)
class Finding:
    kind: FindingKind
    container: str
    id: str
    partition: str
    detail: str
    data: dict[str, Any] = field(default_factory=dict)  # what its repair needs

    def shown(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "data"}


THREADS_AT_ONCE = 16
Row = dict[str, Any]


@dataclass
class _ThreadMembers:
    thread: Row
    messages: list[Row]
    chunks: list[Row]
    strays: list[Row]


async def check_threads(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Check threads that have not changed since `before` (a Unix time). Work on others may be in flight."""
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
            thread, stored = members.thread, len(members.messages)
            if stored != (counted := thread["message_count"]):
                detail = f"it counts {counted} messages and has {stored}"
                data = {"archives": thread["archive_ids"], "lost": not has_all_messages(counted, stored)}
                id_, kind = thread["id"], FindingKind.THREAD_COUNT_WRONG
                yield Finding(kind, "threads", id_, id_, detail, data)
            async for finding in _strays(clients, members.strays):
                yield finding
            for finding in _wrong_sets(members):
                yield finding
        async for finding in _vectors(clients, settled):
            yield finding


async def _load(clients: Clients, thread: Row) -> _ThreadMembers:
    store, id_ = clients.store, thread["id"]
    messages = [row async for row in store.query(MESSAGES_TO_CHECK, Session(), thread=id_)]
    keys = [row["id"] for row in messages]
    chunks = [row async for row in store.query(CHUNKS_TO_CHECK, Session(), thread=id_, keys=keys)]
    own = set(keys)
    return _ThreadMembers(
        thread,
        messages,
        [chunk for chunk in chunks if chunk["message_key"] in own],
        [chunk for chunk in chunks if chunk["message_key"] not in own or chunk["thread_id"] != id_],
    )


async def _strays(clients: Clients, chunks: Sequence[Row]) -> AsyncIterator[Finding]:
    """Check labels of chunks. A pending message passes its label on when it is chunked."""
    found = await clients.store.find_many(Message, {chunk["message_key"] for chunk in chunks}, Session())
    for chunk in chunks:
        id_, thread, key = chunk["id"], chunk["thread_id"], chunk["message_key"]
        message = found.get(key)
        if message is None:
            detail = f"message {key} does not exist"
            yield Finding(FindingKind.CHUNK_WITHOUT_MESSAGE, "chunks", id_, thread, detail, chunk)
        elif message.thread_id != thread and is_finished(message.status):
            detail = f"chunk {id_} has the label of thread {thread}"
            data = {**message.model_dump(include={"attemptCount", "archive_id"}), "chunk_id": id_}
            yield Finding(FindingKind.CHUNK_MISLABELLED, "messages", key, message.thread_id, detail, data)


def _wrong_sets(members: _ThreadMembers) -> Iterator[Finding]:
    """Yield messages that lack chunks of their current set, and chunks of earlier sets."""
    place, own = members.thread["id"], {row["id"]: row for row in members.messages}
    stale = [chunk for chunk in members.chunks if is_stale(chunk["id"], own[chunk["message_key"]])]
    for chunk in stale:
        detail = f"message {chunk['message_key']} has a new text or was split differently"
        yield Finding(FindingKind.CHUNK_STALE, "chunks", chunk["id"], place, detail, chunk)
    stored = Counter(chunk["message_key"] for chunk in members.chunks if chunk not in stale)
    for key, row in own.items():
        if row["status"] == ProcessingStatus.PROCESSED and stored[key] != row.get("chunk_count"):
            detail = f"it names {row.get('chunk_count')} chunks, but {stored[key]} exist"
            yield Finding(FindingKind.MESSAGE_WITHOUT_CHUNKS, "messages", key, place, detail, row)


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
            detail = "it is marked as embedded, but the index does not contain it"
            yield Finding(FindingKind.CHUNK_WITHOUT_VECTOR, "chunks", id_, thread, detail, chunk)
        elif indexed_threads[id_] != thread:
            detail = f"the index has it in thread {indexed_threads[id_]}"
            yield Finding(FindingKind.VECTOR_MISPLACED, "chunks", id_, thread, detail)


async def check_orphans(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Check for messages without an entry or a thread, and for chunks without a message."""
    async for page in in_pages(clients.store.query(ALL_MESSAGE_THREADS, Session(), before=before), PAGE_SIZE):
        unknown = await _without_entry(clients, page)
        for row in page:
            if row["id"] in unknown:
                detail = "no archive of its source contains it"
                yield Finding(
                    FindingKind.MESSAGE_WITHOUT_ENTRY, "messages", row["id"], row["thread_id"], detail, row
                )
        known = [row for row in page if row["id"] not in unknown]
        for thread, row in (await _missing_threads(clients, known)).items():
            detail = "its thread does not exist"
            yield Finding(FindingKind.MESSAGE_WITHOUT_THREAD, "messages", row["id"], thread, detail, row)
    async for page in in_pages(clients.store.query(ALL_CHUNK_THREADS, Session(), before=before), PAGE_SIZE):
        lost = await _missing_threads(clients, page)
        async for finding in _strays(clients, [row for row in page if row["thread_id"] in lost]):
            yield finding


async def _without_entry(clients: Clients, page: list[Row]) -> set[str]:
    """Return the keys of the messages that no archive of their source contains."""
    by_partition: dict[str, list[str]] = {}
    for row in page:
        by_partition.setdefault(source_partition(row["id"]), []).append(row["id"])
    unknown: set[str] = set()
    for partition, keys in by_partition.items():
        ids = [message_entry_id(key) for key in keys]
        rows = await clients.store.query_by_ids(OF_SOURCE_BY_ID, ids, Session(), partition=partition)
        named = {row["id"] for row in rows if row["archives"]}
        unknown |= {key for key in keys if message_entry_id(key) not in named}
    return unknown


async def _missing_threads(clients: Clients, page: list[Row]) -> dict[str, Row]:
    by_thread = {row["thread_id"]: row for row in page}
    found = await clients.store.find_many(Thread, by_thread, Session())
    return {thread_id: row for thread_id, row in by_thread.items() if thread_id not in found}


DIGITS = "0123456789abcdef"
MAX_PER_RANGE = 50_000  # a search returns at most its first 100,000 results
NO_HASH = ("chunk_id lt '0'", "chunk_id ge 'g'")
MAX_PREFIX = 8  # the first four digits are equal for all chunks of a source


async def check_vectors(clients: Clients, before: int) -> AsyncIterator[Finding]:
    for condition in [*NO_HASH, *(_between(digit) for digit in DIGITS)]:
        async for finding in _check_range(clients, condition, before):
            yield finding


def _between(prefix: str) -> str:
    """Return the range of keys with this prefix. The keys are hexadecimal and therefore sort before `g`."""
    return f"chunk_id ge '{prefix}' and chunk_id lt '{prefix}g'"


async def _check_range(clients: Clients, condition: str, before: int) -> AsyncIterator[Finding]:
    for part in await _parts(clients, condition):
        async for page in in_pages(clients.index.listed(part), PAGE_SIZE):
            for finding in await _without_chunk(clients, page, before):
                yield finding


async def _parts(clients: Clients, condition: str) -> list[str]:
    """Return the range, divided into smaller ranges if it has more results than a search returns."""
    if condition in NO_HASH or await clients.index.count_of(condition) <= MAX_PER_RANGE:
        return [condition]
    prefix = condition.split("'")[1]
    if len(prefix) >= MAX_PREFIX:
        return [condition]
    return [part for digit in DIGITS for part in await _parts(clients, _between(prefix + digit))]


async def _without_chunk(clients: Clients, page: list[dict[str, Any]], before: int) -> list[Finding]:
    old = [vector for vector in page if _is_old(vector.get("embedding_date"), before)]
    thread_of = {vector["chunk_id"]: vector.get("thread_id") or "" for vector in old}
    found = await clients.store.find_many(Chunk, thread_of, Session())
    return [
        Finding(FindingKind.VECTOR_WITHOUT_CHUNK, "index", id_, thread, "there is no such chunk")
        for id_, thread in thread_of.items()
        if id_ not in found
    ]


def _is_old(date: str | None, before: int) -> bool:
    return date is None or datetime.fromisoformat(date).astimezone(UTC).timestamp() <= before


SUMMARIES_AT_ONCE = 50  # whole documents, which can be large


async def check_summaries(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(
        clients.store.query(SUMMARIES_TO_CHECK, Session(), before=before), SUMMARIES_AT_ONCE
    ):
        summaries = [read_document(Summary, row) for row in page]
        threads = await _threads(clients, [summary.thread_id for summary in summaries if summary.thread_id])
        for summary in summaries:
            if summary.thread_id and summary.thread_id not in threads:
                detail = f"thread {summary.thread_id} does not exist"
                yield _about(FindingKind.SUMMARY_WITHOUT_THREAD, summary, detail)
            elif await is_current(clients.store, summary, Session()):
                async for finding in _current(clients, summary):
                    yield finding


async def _current(clients: Clients, summary: Summary) -> AsyncIterator[Finding]:
    """Check the current summary. Earlier summaries may cite messages that have changed."""
    broken = verify_stored(summary.citations, await _texts(clients, summary))
    if broken:
        number = f"{len(broken)} of {len(summary.citations)}"
        detail = f"{number} citations do not hold, among them of chunk {broken[0].chunk_id}"
        yield _about(FindingKind.CITATION_BROKEN, summary, detail)
        return
    report = await clients.store.find(Report, scope_id(summary.scope), Session(), partition=summary.scope)
    if report is None or report.summary_id != summary.id:
        yield _about(FindingKind.SUMMARY_WITHOUT_REPORT, summary, "its report was not published")
    elif summary.thread_id is not None:
        thread = await clients.store.find(Thread, summary.thread_id, Session())
        if thread and thread.summary_id == summary.id and thread.report_id != report.report_id:
            detail = f"its thread says that its report is {thread.report_id}"
            yield _about(FindingKind.SUMMARY_WITHOUT_REPORT, summary, detail)


async def _texts(clients: Clients, summary: Summary) -> dict[str, str]:
    ids = sorted({citation.chunk_id for citation in summary.citations})
    found = await clients.store.find_many(Chunk, ids, Session())
    return {id_: chunk.text for id_, chunk in found.items()}


def _about(kind: FindingKind, summary: Summary, detail: str) -> Finding:
    data = {"thread_id": summary.thread_id}
    return Finding(kind, "summaries", summary.id, summary.scope, detail, data)


async def check_reports(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(clients.store.query(REPORTS_TO_CHECK, Session(), before=before), PAGE_SIZE):
        keys = [(row["summary_id"], row["scope"]) for row in page]
        found = await clients.store.find_many_in(Summary, keys, Session())
        for row in page:
            if row["summary_id"] not in found:
                detail = f"summary {row['summary_id']} does not exist"
                data = {"summary_id": row["summary_id"]}
                kind = FindingKind.REPORT_WITHOUT_SUMMARY
                yield Finding(kind, "reports", row["id"], row["scope"], detail, data)


async def check_entries(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Find entries that name missing threads. They are harmless and removed."""
    async for page in in_pages(clients.store.query(ENTRIES_TO_CHECK, Session(), before=before), PAGE_SIZE):
        named = {row["id"]: [*row.get("waits", ()), *row.get("threads", ())] for row in page}
        existing = await _threads(clients, [name for names in named.values() for name in names])
        for row in page:
            lost = [name for name in named[row["id"]] if name not in existing]
            if lost:
                detail, data = f"it names {len(lost)} missing threads", {"threads": lost}
                yield Finding(FindingKind.ENTRY_WITHOUT_THREAD, "threads", row["id"], row["pk"], detail, data)


async def _threads(clients: Clients, names: list[Any]) -> set[str]:
    return set(await clients.store.find_many(Thread, sorted(set(names)), Session()))


async def check_files(clients: Clients, before: int) -> AsyncIterator[Finding]:
    rows = [row async for row in clients.store.query(ARCHIVE_FILES, Session(), before=before)]
    stored = set(await clients.blobs.names(ARCHIVES_CONTAINER, "")) if rows else set[str]()
    for row in rows:
        if row["file_path"] not in stored:
            detail = f"{row['file_path']} of the source {row['source']} is lost: upload the same file again"
            yield Finding(FindingKind.ARCHIVE_WITHOUT_FILE, "archives", row["id"], row["id"], detail)
