"""The template values of a thread's page, computed from the documents without I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.models.base import ProcessingStatus
from shared.models.reports import Report, Summary, SummaryStance
from shared.models.threads import Chunk, Message, Thread
from shared.models.values import SentenceCitation
from shared.reading.mails import ENGLISH, UNKNOWN, language_of
from shared.summarization.record_flags import message_marks, title_marks
from shared.views.conversation import (
    Placed,
    in_reading_order,
    placed_by_operator,
    series_of,
    versions_in_thread,
)
from shared.views.parameters import page_of
from shared.views.read_models import AnswerElsewhere
from web.formatting import writer
from web.pages.message_body import Block, body_blocks, is_cut, marks_of_span
from web.pages.reading_view import QuotePlaces, names_of, reading_view
from web.pages.summary_view import SummaryView, sentence_address, summary_view
from web.pages.thread_marks import anchor_of, marks_in, uncited_quotes
from web.pages.thread_pages import DEEPEST, INLINE, LONG, Fold, Pages, folds, in_pages, outline_rows

LATEST = datetime.max.replace(tzinfo=UTC)
SHOWN_STANCES = frozenset({"support", "objection"})


@dataclass(frozen=True)
class ThreadPageData:
    """The data of the page. With a report, the citations of the report are marked."""

    thread: Thread
    messages: Sequence[Message]
    summary: Summary | None = None
    report: Report | None = None
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    now: datetime = LATEST
    elsewhere: Sequence[AnswerElsewhere] = ()
    sends_mail: bool = False  # whether the site offers email digests


@dataclass(frozen=True)
class MessageView:
    placed: Placed
    blocks: list[Block]
    is_cut: bool
    stance: SummaryStance | None
    fold: Fold
    elsewhere: list[AnswerElsewhere]
    marks: tuple[str, ...]

    @property
    def message(self) -> Message:
        return self.placed.message

    @property
    def indent(self) -> int:
        return min(self.placed.depth, DEEPEST)

    @property
    def lang(self) -> str | None:
        code = language_of(self.message.body_normalized)
        return None if code in {ENGLISH, UNKNOWN} else code

    @property
    def is_underlined(self) -> bool:
        """Return whether a sentence shows the position but is no evidence of the summary."""
        return any(run.mark and not run.mark.cited for block in self.blocks for run in block.runs)

    @property
    def shows_stance(self) -> bool:
        return self.stance is not None and self.stance.stance in SHOWN_STANCES


def thread_values(reading: ThreadPageData, *, at: str | None = None, page: str = "1") -> dict[str, Any]:
    thread, placed = reading.thread, in_reading_order(reading.messages, placed_by_operator(reading.thread))
    pages = in_pages(placed, at, page, reading.report.report_id if reading.report else "")
    messages = _views(pages.shown(placed), reading)
    waits = thread.status is ProcessingStatus.PENDING
    return {
        "thread": thread,
        "title_marks": title_marks(thread),
        "report": reading.report,
        "summary": _summary_view(reading.summary, pages, reading) if reading.summary else None,
        "messages": messages,
        "underlined": any(view.is_underlined for view in messages),
        "pages": pages,
        "sends_mail": reading.sends_mail,
        "missing": max(thread.message_count - len(reading.messages), 0),
        "given_up": [
            message for message in reading.messages if message.status is ProcessingStatus.FAILED_MAX_RETRIES
        ],
        "grows": waits and thread.summary_id is not None,
        "waiting": waits and thread.summary_id is None,
        "failed": thread.status is ProcessingStatus.FAILED_MAX_RETRIES,
        "whole_thread": page_of("threads", thread.id),
        "address_of": lambda message: pages.address(message.id, f"m-{message.id}"),
        **_around(reading, placed, pages),
    }


def _around(reading: ThreadPageData, placed: Sequence[Placed], pages: Pages) -> dict[str, Any]:
    listed = placed if LONG <= len(placed) <= INLINE else []
    stances = _stances(reading.summary)
    return {
        "outline": outline_rows(listed, stances, lambda key: pages.address(key, f"m-{key}")),
        "outline_address": "?view=outline" if len(placed) > INLINE else "",
        # The keys of all messages in order, because the first unread message may be on another page.
        "keys": " ".join(pages.page_numbers) if pages.count > 1 else "",
        "versions": versions_in_thread(reading.messages),
        "series": series_of(reading.thread),
    }


def _stances(summary: Summary | None) -> dict[str, str]:
    stances = summary.stances if summary else []
    return {stance.message_key: stance.stance for stance in stances if stance.stance in SHOWN_STANCES}


def outline_values(reading: ThreadPageData) -> dict[str, Any]:
    """Return the outline of all pages, with addresses that include the page of the thread."""
    placed = in_reading_order(reading.messages, placed_by_operator(reading.thread))
    base = page_of("threads", reading.thread.id)
    rows = outline_rows(placed, _stances(reading.summary), lambda key: f"{base}?at={key}#m-{key}")
    return {"thread": reading.thread, "title": "Reply tree", "outline": rows}


def _summary_view(summary: Summary, pages: Pages, page: ThreadPageData) -> SummaryView:
    citations = [
        pages.address(citation.message_key, f"c{number}")
        for number, citation in enumerate(summary.citations, 1)
    ]
    if summary.reading is None:
        return summary_view(summary, citations)
    places = _places(summary, citations, pages, page)
    return summary_view(summary, citations, reading_view(summary.reading, places, page.now))


def _places(
    summary: Summary, citations: Sequence[str | None], pages: Pages, page: ThreadPageData
) -> QuotePlaces:
    reading = summary.reading
    keys = {message.message_id: message.id for message in page.messages}
    cited = sentence_address(summary, citations)
    uncited = {
        (quote.message_id, quote.start): pages.address(message.id, anchor_of(message, quote))
        for message, quote in (uncited_quotes(page.messages, summary, reading) if reading else ())
    }

    def sentence(quote: SentenceCitation) -> str | None:
        own = uncited.get((quote.message_id, quote.start))
        return cited(quote) or own or message_address(quote.message_id)

    def message_address(message_id: str) -> str | None:
        key = keys.get(message_id)
        return pages.address(key, f"m-{key}") if key else None

    return QuotePlaces(
        people=names_of(page.thread.participants),
        senders={message.message_id: writer(message.from_) for message in page.messages},
        sentence=sentence,
        message=message_address,
    )


def _views(placed: Sequence[Placed], reading: ThreadPageData) -> list[MessageView]:
    marks = marks_in(reading.messages, reading.summary, reading.chunks)
    remarks = message_marks(reading.thread, reading.messages)
    stances = {stance.message_key: stance for stance in reading.summary.stances} if reading.summary else {}
    views = []
    for reply, fold in zip(placed, folds(placed), strict=True):
        message, stance = reply.message, stances.get(reply.message.id)
        own = marks.get(message.id, [])
        if stance is not None and stance.start is not None and stance.end is not None:
            own = [*own, *marks_of_span(message, stance.start, stance.end, f"s-{message.id}", cited=False)]
        blocks = body_blocks(message, own)
        answers = [answer for answer in reading.elsewhere if answer.answers == message.message_id]
        views.append(
            MessageView(
                reply,
                blocks,
                is_cut(message, blocks),
                stance,
                fold,
                answers,
                remarks.get(message.message_id, ()),
            )
        )
    return views
