"""The values of a thread's page, computed from the documents without I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.documents.base import ProcessingStatus
from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.documents.reports import Report
from shared.documents.summaries import Summary, SummaryStance
from shared.documents.threads import Thread
from shared.domain.consensus.language import ENGLISH, UNKNOWN, language_of
from shared.retrieval.conversation import Placed, in_reading_order
from shared.retrieval.links import page_of
from web.pages.message_body import Block, TextMark, body_blocks, is_cut, marks_of_citation, marks_of_stance
from web.pages.reading_view import QuotePlaces, names_of, reading_view
from web.pages.summary_view import ShownSummary, sentence_address, shown_summary
from web.problems import bad_parameter

MESSAGES_A_PAGE = 400
DEEPEST = 8  # replies below this depth are not indented further
LATEST = datetime.max.replace(tzinfo=UTC)
SHOWN_STANCES = frozenset({"support", "objection"})


@dataclass(frozen=True)
class ThreadPageData:
    """What is read for the page. With a report, its citations are marked instead of the thread's own."""

    thread: Thread
    messages: Sequence[Message]
    summary: Summary | None = None
    report: Report | None = None
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    now: datetime = LATEST


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
    def lang(self) -> str | None:
        """The code of its language where that is another than the page's."""
        code = language_of(self.message.body_normalized)
        return None if code in {ENGLISH, UNKNOWN} else code

    @property
    def shows_stance(self) -> bool:
        return self.stance is not None and self.stance.stance in SHOWN_STANCES


@dataclass(frozen=True)
class Pages:
    """A thread's messages in pages; most have one."""

    number: int
    page_numbers: Mapping[str, int]  # by message

    @property
    def count(self) -> int:
        return max(self.page_numbers.values(), default=1)

    def address(self, message_key: str | None, anchor: str) -> str | None:
        """Of an anchor in a message: on this page, or on another."""
        page = self.page_numbers.get(message_key or "")
        if page is None:
            return None
        return f"#{anchor}" if page == self.number else f"?at={message_key}#{anchor}"

    def positions(self) -> slice:
        return slice((self.number - 1) * MESSAGES_A_PAGE, self.number * MESSAGES_A_PAGE)


def thread_values(reading: ThreadPageData, *, at: str | None = None, page: str = "1") -> dict[str, Any]:
    """The template's values for the page that holds message `at`, or for the page of this number."""
    thread, placed = reading.thread, in_reading_order(reading.messages)
    page_numbers = {reply.message.id: 1 + index // MESSAGES_A_PAGE for index, reply in enumerate(placed)}
    pages = _pages(page_numbers, at, page)
    waits = thread.status is ProcessingStatus.PENDING
    return {
        "thread": thread,
        "report": reading.report,
        "summary": _shown(reading.summary, pages, reading) if reading.summary else None,
        "messages": _views(placed[pages.positions()], reading),
        "pages": pages,
        "missing": max(thread.message_count - len(reading.messages), 0),
        "given_up": [
            message for message in reading.messages if message.status is ProcessingStatus.FAILED_MAX_RETRIES
        ],
        "grows": waits and thread.summary_id is not None,
        "waiting": waits and thread.summary_id is None,
        "failed": thread.status is ProcessingStatus.FAILED_MAX_RETRIES,
        "whole_thread": page_of("threads", thread.id),
        "address_of": lambda message: pages.address(message.id, f"m-{message.id}"),
    }


def _pages(page_numbers: Mapping[str, int], at: str | None, page: str) -> Pages:
    count = max(page_numbers.values(), default=1)
    if at is not None and at in page_numbers:
        return Pages(page_numbers[at], page_numbers)
    if not (re.fullmatch(r"[0-9]{1,6}", page) and 1 <= int(page) <= count):
        raise bad_parameter("page", f"must be a number from 1 to {count}")
    return Pages(int(page), page_numbers)


def _shown(summary: Summary, pages: Pages, page: ThreadPageData) -> ShownSummary:
    citations = [
        pages.address(citation.message_key, f"c{number}")
        for number, citation in enumerate(summary.citations, 1)
    ]
    stances = {
        stance.message_key: pages.address(stance.message_key, f"s-{stance.message_key}")
        for stance in summary.stances
        if stance.start is not None
    }
    if summary.reading is None:
        return shown_summary(summary, citations, stances)
    places = _places(summary, citations, pages, page)
    return shown_summary(summary, citations, stances, reading_view(summary.reading, places, page.now))


def _places(
    summary: Summary, citations: Sequence[str | None], pages: Pages, page: ThreadPageData
) -> QuotePlaces:
    keys = {message.message_id: message.id for message in page.messages}
    cited = sentence_address(summary, citations)

    def message_address(message_id: str) -> str | None:
        key = keys.get(message_id)
        return pages.address(key, f"m-{key}") if key else None

    return QuotePlaces(
        people=names_of(page.thread.participants),
        senders={message.message_id: message.from_.name or message.from_.email for message in page.messages},
        sentence=lambda quote: cited(quote) or message_address(quote.message_id),
        message=message_address,
    )


def _views(placed: Sequence[Placed], reading: ThreadPageData) -> list[MessageView]:
    marks = _marks_of_citations(reading)
    stances = {stance.message_key: stance for stance in reading.summary.stances} if reading.summary else {}
    views = []
    for reply in placed:
        message, stance = reply.message, stances.get(reply.message.id)
        own = marks.get(message.id, [])
        if stance is not None and stance.start is not None and stance.end is not None:
            own = [*own, *marks_of_stance(message, stance.start, stance.end, f"s-{message.id}")]
        blocks = body_blocks(message, own)
        views.append(MessageView(reply, blocks, is_cut(message, blocks), stance))
    return views


def _marks_of_citations(reading: ThreadPageData) -> dict[str, list[TextMark]]:
    """By message: where the sentences stand that the summary cites."""
    messages = {message.id: message for message in reading.messages}
    found: dict[str, list[TextMark]] = {}
    for number, citation in enumerate(reading.summary.citations if reading.summary else [], 1):
        chunk = reading.chunks.get(citation.chunk_id)
        message = messages.get(chunk.message_key) if chunk else None
        if chunk is not None and message is not None:
            marks = marks_of_citation(citation, chunk, message, f"c{number}")
            found.setdefault(message.id, []).extend(marks)
    return found
