"""What several endpoints and pages read: reports with their summaries, threads where they are now."""

from collections.abc import Sequence

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.chunks import Chunk
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.queries.messages import MESSAGES_OF_THREAD, THREADS_OF_MESSAGES
from shared.documents.queries.named_query import NamedQuery
from shared.documents.reports import Report
from shared.documents.summaries import Summary
from shared.documents.threads import Thread
from shared.domain.summaries.models import Citation
from shared.retrieval.links import page_of_message
from shared.retrieval.read_models import CitationShown, ReportDetail, ReportItem, SummaryDetail
from shared.threads.merging import resolve_thread
from web.problems import Problem

__all__ = [
    "cited_chunks",
    "cited_in",
    "find_by_id",
    "find_report",
    "messages_of",
    "report_detail",
    "resolved_thread",
    "summary_of",
]

BY_ID = "SELECT * FROM c WHERE c.id = @id OFFSET 0 LIMIT 1"


async def find_by_id(
    clients: Clients, model: type[Chunk | Message | Report], id_: str, what: str
) -> dict[str, object]:
    """A document by its id alone: its partition is not part of its address."""
    query = NamedQuery(f"{model.container}_by_id", model.container, BY_ID)
    async for found in clients.store.query(query, Session(), id=id_):
        return found
    raise Problem(404, f"There is no {what} with this id.")


async def find_report(clients: Clients, id_: str) -> Report:
    return read_document(Report, await find_by_id(clients, Report, id_, "report"))


async def summary_of(clients: Clients, report: Report) -> Summary | None:
    return await clients.store.find(Summary, report.summary_id, report.scope, Session())


async def resolved_thread(clients: Clients, id_: str) -> Thread:
    """The thread; where it was merged into another, that one."""
    thread = await clients.store.find(Thread, id_, id_, Session())
    if thread is not None and thread.merged_into is not None:
        place = await resolve_thread(clients, thread.merged_into, Session())
        thread = await clients.store.find(Thread, place, place, Session())
    if thread is None:
        raise Problem(404, "There is no thread with this id.")
    return thread


async def messages_of(clients: Clients, thread_id: str) -> list[Message]:
    rows = clients.store.query(MESSAGES_OF_THREAD, Session(), partition_value=thread_id)
    return [read_document(Message, each) async for each in rows]


async def cited_chunks(clients: Clients, citations: Sequence[Citation], thread_id: str) -> dict[str, Chunk]:
    """Those of the cited chunks that are the thread's."""
    keys = dict.fromkeys((each.chunk_id, thread_id) for each in citations)
    return await clients.store.find_many(Chunk, list(keys), Session())


async def report_detail(clients: Clients, id_: str) -> ReportDetail:
    report = await find_report(clients, id_)
    summary = await summary_of(clients, report)
    shown = None
    if summary is not None:
        shown = SummaryDetail.of(summary, await cited_in(clients, report, summary))
    return ReportDetail(**dict(ReportItem.of(report)), summary=shown)


async def cited_in(clients: Clients, report: Report, summary: Summary) -> list[CitationShown]:
    """The citations, each with the place on a thread's page where its sentence is marked."""
    threads = await _threads_of(clients, report, summary.citations)
    shown = []
    for number, each in enumerate(summary.citations, 1):
        thread = threads.get(each.message_key or "")
        page = None
        if thread is not None and each.message_key is not None:
            page = page_of_message(thread, each.message_key, f"c{number}", report.id)
        shown.append(CitationShown.of(each, thread, page))
    return shown


async def _threads_of(clients: Clients, report: Report, citations: Sequence[Citation]) -> dict[str, str]:
    """By message: said by the citation or the report; looked up where the thread may be another one now."""
    keys = sorted({each.message_key for each in citations if each.message_key})
    known = {each.message_key: each.thread_id for each in citations if each.message_key and each.thread_id}
    if len(known) == len(keys) or not keys:
        return known
    if report.thread_id is not None and not report.outdated:
        return dict.fromkeys(keys, report.thread_id)
    rows = clients.store.query(THREADS_OF_MESSAGES, Session(), ids=keys)
    return {each["id"]: each["thread_id"] async for each in rows}
