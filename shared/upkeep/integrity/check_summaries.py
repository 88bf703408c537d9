"""Checks summaries, reports and index entries: broken citations, and references to what does not exist."""

from collections.abc import AsyncIterator
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import in_pages
from shared.core.ids import report_id
from shared.documents.containers import read_document
from shared.documents.queries.reports import REPORTS_TO_CHECK, SUMMARIES_TO_CHECK
from shared.documents.queries.threads import CHUNK_TEXTS, CHUNKS_BY_ID, ENTRIES_TO_CHECK
from shared.documents.reports import Report, Summary
from shared.documents.threads import Thread
from shared.domain.summaries.citations import verify_stored
from shared.upkeep.integrity.findings import PAGE_SIZE, Finding, FindingKind

SUMMARIES_AT_ONCE = 50  # whole documents, which can be large


async def check_summaries(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(
        clients.store.query(SUMMARIES_TO_CHECK, Session(), before=before), SUMMARIES_AT_ONCE
    ):
        summaries = [read_document(Summary, row) for row in page]
        threads = await _threads(clients, [summary.thread_id for summary in summaries if summary.thread_id])
        for summary in summaries:
            if summary.thread_id and summary.thread_id not in threads:
                detail = f"thread {summary.thread_id} is not there"
                yield _about(FindingKind.SUMMARY_WITHOUT_THREAD, summary, detail)
            elif not summary.outdated:
                async for finding in _current(clients, summary):
                    yield finding


async def _current(clients: Clients, summary: Summary) -> AsyncIterator[Finding]:
    """An outdated summary may cite what has changed since; the current one may not."""
    broken = verify_stored(summary.citations, await _texts(clients, summary))
    if broken:
        number = f"{len(broken)} of {len(summary.citations)}"
        detail = f"{number} citations do not hold, among them of chunk {broken[0].chunk_id}"
        yield _about(FindingKind.CITATION_BROKEN, summary, detail)
        return
    report = await clients.store.find(Report, report_id(summary.id), summary.scope, Session())
    if report is None:
        yield _about(FindingKind.SUMMARY_WITHOUT_REPORT, summary, "no report was published of it")
    elif summary.thread_id is not None:
        thread = await clients.store.find(Thread, summary.thread_id, summary.thread_id, Session())
        if thread is not None and thread.summary_id == summary.id and thread.report_id != report.id:
            detail = f"its thread says that its report is {thread.report_id}"
            yield _about(FindingKind.SUMMARY_WITHOUT_REPORT, summary, detail)


async def _texts(clients: Clients, summary: Summary) -> dict[str, str]:
    ids = sorted({citation.chunk_id for citation in summary.citations})
    if not ids:
        return {}
    if summary.thread_id is None:  # a digest cites chunks of several threads
        rows = await clients.store.query_by_ids(CHUNKS_BY_ID, ids, Session())
        return {row["id"]: row["text"] for row in rows}
    found = clients.store.query(CHUNK_TEXTS, Session(), partition_value=summary.thread_id, ids=ids)
    return {row["id"]: row["text"] async for row in found}


def _about(kind: FindingKind, summary: Summary, detail: str) -> Finding:
    data = {"thread_id": summary.thread_id}
    return Finding(kind, "summaries", summary.id, summary.scope, detail, data)


async def check_reports(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(clients.store.query(REPORTS_TO_CHECK, Session(), before=before), PAGE_SIZE):
        keys = [(row["summary_id"], row["scope"]) for row in page]
        found = await clients.store.find_many(Summary, keys, Session())
        for row in page:
            if row["summary_id"] not in found:
                detail = f"summary {row['summary_id']} is not there"
                yield Finding(FindingKind.REPORT_WITHOUT_SUMMARY, "reports", row["id"], row["scope"], detail)


async def check_entries(clients: Clients, before: int) -> AsyncIterator[Finding]:
    """Entries of the thread index that name a thread which does not exist: harmless, and removed."""
    async for page in in_pages(clients.store.query(ENTRIES_TO_CHECK, Session(), before=before), PAGE_SIZE):
        existing = await _threads(clients, [name for row in page for name in row["threads"]])
        for row in page:
            lost = [name for name in row["threads"] if name not in existing]
            if lost:
                detail, data = f"it names {len(lost)} threads that are not there", {"threads": lost}
                yield Finding(
                    FindingKind.ENTRY_WITHOUT_THREAD, "thread_index", row["id"], row["bucket"], detail, data
                )


async def _threads(clients: Clients, names: list[Any]) -> set[str]:
    keys = [(name, name) for name in sorted(set(names))]
    return set(await clients.store.find_many(Thread, keys, Session()))
