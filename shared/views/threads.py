"""Archives, threads and reports by id, with their messages, summaries and citations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import MAX_IDS_PER_QUERY
from shared.core.errors import NotFoundError
from shared.core.ids import REPORT_PREFIX, report_id, scope_id
from shared.models.edits import Correction
from shared.models.queries.several_containers import first_with_id
from shared.models.queries.threads import MESSAGES_AND_ANSWERS_OF_OTHER_LISTS, THREADS_OF_MESSAGES
from shared.models.reports import Report, Summary
from shared.models.sources import Archive
from shared.models.threads import Chunk, Message, Thread
from shared.models.values import Citation
from shared.pipeline.readiness import load_messages
from shared.summarization.report_document import report_of
from shared.thread_store.moving import find_resolved
from shared.views.conversation import Placed, in_reading_order, in_time, placed_by_operator
from shared.views.parameters import page_of_message
from shared.views.read_models import (
    AnswerElsewhere,
    CitationShown,
    ReportDetail,
    ReportItem,
    SummaryDetail,
    message_links,
)

Model = TypeVar("Model", Chunk, Correction, Message, Summary)
MOST_ANSWERS = 50
BEGINNING = 300


async def find_by_id(clients: Clients, model: type[Model], id_: str, what: str = "") -> Model:
    for found in await clients.store.query_documents(
        model, first_with_id(model.container), Session(), id=id_
    ):
        return found
    raise NotFoundError(f"There is no {what or model.__name__.lower()} with this id.")


async def find_archive(clients: Clients, id_: str) -> Archive:
    archive = await clients.store.find(Archive, id_, Session())
    if archive is None:
        raise NotFoundError("There is no archive with this id.")
    return archive


async def find_report(clients: Clients, id_: str) -> tuple[Report, Summary, bool]:
    """Return the report, its summary, and whether it is outdated. Old reports are made from summaries."""
    summary = await find_by_id(clients, Summary, id_.removeprefix(REPORT_PREFIX), what="report")
    report = await clients.store.find(Report, scope_id(summary.scope), Session(), partition=summary.scope)
    if report is None or report.summary_id != summary.id:
        return report_of(summary, summary.created_at), summary, True
    return report, summary, False


async def summary_of(clients: Clients, document: Report | Thread) -> Summary | None:
    """Return the summary that a report was made from, or the current summary of a thread."""
    if document.summary_id is None:
        return None
    return await clients.store.find(
        Summary,
        document.summary_id,
        Session(),
        partition=document.scope if isinstance(document, Report) else document.id,
    )


async def resolved_thread(clients: Clients, id_: str) -> Thread:
    thread = await find_resolved(clients, id_, Session())
    if thread is None:
        raise NotFoundError("There is no thread with this id.")
    return thread


async def cited_chunks(clients: Clients, citations: Sequence[Citation]) -> dict[str, Chunk]:
    return await clients.store.find_many(
        Chunk, sorted({citation.chunk_id for citation in citations}), Session()
    )


async def report_detail(clients: Clients, id_: str) -> ReportDetail:
    report, summary, outdated = await find_report(clients, id_)
    detail = SummaryDetail.of(summary, await cited_in(clients, summary, outdated=outdated))
    item = ReportItem.of(report)
    return ReportDetail(**dict(item), evidence=report.evidence, outdated=outdated, summary=detail)


async def cited_in(clients: Clients, summary: Summary, *, outdated: bool) -> list[CitationShown]:
    """Return the citations with the addresses of their sentences on the pages of threads."""
    threads = await _threads_of(clients, summary, outdated=outdated)
    cited = []
    for number, citation in enumerate(summary.citations, 1):
        key = citation.message_key or ""
        thread = threads.get(key)
        page = page_of_message(thread, key, f"c{number}", report_id(summary.id)) if thread and key else None
        cited.append(CitationShown.of(citation, thread, page))
    return cited


async def _threads_of(clients: Clients, summary: Summary, *, outdated: bool) -> dict[str, str]:
    """Return the thread of each cited message, from the citation, the current summary or a query."""
    keyed = [(cited.message_key, cited.thread_id) for cited in summary.citations if cited.message_key]
    keys = sorted({key for key, _ in keyed})
    known = {key: thread for key, thread in keyed if thread}
    if len(known) == len(keys) or not keys:
        return known
    if summary.thread_id is not None and not outdated:
        return dict.fromkeys(keys, summary.thread_id)
    rows = clients.store.query(THREADS_OF_MESSAGES, Session(), ids=keys)
    return {row["id"]: row["thread_id"] async for row in rows}


@dataclass(frozen=True)
class Conversation:
    thread: Thread
    messages: list[Message]
    elsewhere: list[AnswerElsewhere]

    def placed(self) -> list[Placed]:
        return in_reading_order(self.messages, placed_by_operator(self.thread))


async def conversation_of(clients: Clients, thread: Thread, *, answers: bool = True) -> Conversation:
    """Return the messages of a thread, and at most fifty replies in other lists, in one query.

    Replies in other lists are neither stored with the thread nor counted. A cross-post is not a reply.
    """
    if not thread.source or not answers:
        return Conversation(thread, await load_messages(clients, thread.id, Session()), [])
    members = thread.threading.get("members", [])
    found = await clients.store.query_documents(
        Message,
        MESSAGES_AND_ANSWERS_OF_OTHER_LISTS,
        Session(),
        thread=thread.id,
        ids=sorted(member["id"] for member in members)[:MAX_IDS_PER_QUERY],
        source=thread.source,
    )
    messages = in_time([message for message in found if message.thread_id == thread.id])
    own = {message.message_id for message in messages}
    others = [
        message for message in found if message.thread_id != thread.id and message.message_id not in own
    ]
    others.sort(key=lambda answer: (answer.source, answer.message_id))
    return Conversation(thread, messages, [_answer(message) for message in others[:MOST_ANSWERS]])


def _answer(message: Message) -> AnswerElsewhere:
    return AnswerElsewhere(
        message_key=message.id,
        message_id=message.message_id,
        answers=message.in_reply_to or "",
        source=message.source,
        thread_id=message.thread_id,
        sender=message.from_,
        date=message.date,
        beginning=" ".join(message.body_normalized[:BEGINNING].split()),
        links=message_links(message.id, message.thread_id),
    )
