"""A thread's page: what was agreed beside the messages, every citation leading to its sentence in place."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import azure.functions as func

from shared.clients import Clients, clients
from shared.documents import Chunk, Message, Report, Status, Summary, SummaryStance, Thread
from shared.session import Session
from web.addresses import page_of_thread
from web.asking import HASH_ID, REPORT_ID, checked_id, id_of
from web.bodies import Block, Mark, body_blocks, is_cut, marks_of_citation, marks_of_stance
from web.conversation import Placed, arrange
from web.pages.summary import ShownSummary, shown_summary
from web.problems import Problem
from web.reading import cited_chunks, find_report, messages_of, summary_of, thread_now
from web.rendering import show, shows_problems

__all__ = ["blueprint"]

blueprint = func.Blueprint()
MESSAGES_A_PAGE = 400
DEEPEST = 8  # further answers are not indented further
SHOWN_STANCES = frozenset({"support", "objection", "question"})


@dataclass(frozen=True)
class MessageView:
    placed: Placed
    blocks: list[Block]
    is_cut: bool
    stance: SummaryStance | None

    @property
    def message(self) -> Message:
        return self.placed.message

    @property
    def indent(self) -> int:
        return min(self.placed.depth, DEEPEST)

    @property
    def shows_stance(self) -> bool:
        return self.stance is not None and self.stance.stance in SHOWN_STANCES


@dataclass(frozen=True)
class Pages:
    """A thread's messages in pages; most have one."""

    number: int
    count: int

    def positions(self) -> slice:
        return slice((self.number - 1) * MESSAGES_A_PAGE, self.number * MESSAGES_A_PAGE)


@blueprint.function_name("page_thread")
@blueprint.route(route="threads/{id}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@shows_problems
async def thread_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, id_ = await clients(), id_of(req, "id", HASH_ID, "thread")
    thread = await thread_now(connected, id_)
    if thread.id != id_:
        return func.HttpResponse(status_code=301, headers={"Location": page_of_thread(thread.id)})
    messages, (summary, report) = await asyncio.gather(
        messages_of(connected, thread.id), _summary(req, connected, thread)
    )
    citations = summary.citations if summary else []
    chunks = await cited_chunks(connected, citations, thread.id) if citations else {}
    placed = arrange(messages)
    pages = _pages(req, placed)
    page_of = {each.message.id: 1 + index // MESSAGES_A_PAGE for index, each in enumerate(placed)}
    return show(
        req,
        "pages/thread.html",
        thread=thread,
        report=report,
        summary=_shown(summary, page_of, pages),
        messages=_views(placed[pages.positions()], summary, chunks),
        pages=pages,
        missing=max(thread.message_count - len(messages), 0),
        given_up=[each for each in messages if each.status is Status.FAILED_MAX_RETRIES],
        grows=thread.status is Status.PENDING and thread.summary_id is not None,
        waiting=thread.status is Status.PENDING and thread.summary_id is None,
        failed=thread.status is Status.FAILED_MAX_RETRIES,
        whole_thread=page_of_thread(thread.id),
    )


async def _summary(
    req: func.HttpRequest, connected: Clients, thread: Thread
) -> tuple[Summary | None, Report | None]:
    """The thread's own, or that of the report whose citations are to be marked."""
    if "report" in req.params:
        report = await find_report(connected, checked_id(req.params["report"], REPORT_ID, "report"))
        return await summary_of(connected, report), report
    if thread.summary_id is None:
        return None, None
    return await connected.store.find(Summary, thread.summary_id, thread.id, Session()), None


def _shown(summary: Summary | None, page_of: dict[str, int], pages: Pages) -> ShownSummary | None:
    if summary is None:
        return None

    def address(message_key: str | None, anchor: str) -> str | None:
        page = page_of.get(message_key or "")
        if page is None:
            return None
        return f"#{anchor}" if page == pages.number else f"?at={message_key}#{anchor}"

    return shown_summary(
        summary,
        [address(each.message_key, f"c{number}") for number, each in enumerate(summary.citations, 1)],
        {each.message_key: address(each.message_key, f"s-{each.message_key}") for each in summary.stances},
    )


def _pages(req: func.HttpRequest, placed: Sequence[Placed]) -> Pages:
    count = max(1, -(-len(placed) // MESSAGES_A_PAGE))
    at = req.params.get("at")
    for index, each in enumerate(placed):
        if each.message.id == at:
            return Pages(1 + index // MESSAGES_A_PAGE, count)
    text = req.params.get("page", "1")
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:6]) <= count):
        fault = {"parameter": "page", "detail": f"must be a number from 1 to {count}"}
        raise Problem(422, "There is no such page of this thread.", errors=[fault])
    return Pages(int(text), count)


def _views(placed: Sequence[Placed], summary: Summary | None, chunks: dict[str, Chunk]) -> list[MessageView]:
    cited: dict[str, list[tuple[int, Chunk]]] = {}
    for number, citation in enumerate(summary.citations if summary else [], 1):
        chunk = chunks.get(citation.chunk_id)
        if chunk is not None:
            cited.setdefault(chunk.message_key, []).append((number, chunk))
    stances = {each.message_key: each for each in (summary.stances if summary else [])}
    views = []
    for each in placed:
        marks: list[Mark] = []
        for number, chunk in cited.get(each.message.id, []) if summary else []:
            marks += marks_of_citation(summary.citations[number - 1], chunk, each.message, f"c{number}")  # type: ignore[union-attr]  # there are no numbers without a summary
        stance = stances.get(each.message.id)
        if stance is not None and stance.start is not None and stance.end is not None:
            marks += marks_of_stance(each.message, stance.start, stance.end, f"s-{each.message.id}")
        blocks = body_blocks(each.message, marks)
        views.append(MessageView(each, blocks, is_cut(each.message, blocks), stance))
    return views
