"""The documents as shown to readers, without the fields that only stages use."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from shared.azure.access import current_caller
from shared.models.base import ProcessingStatus, RetryableDocument, UtcTime
from shared.models.readings import ShownOpenCall, ShownOutcome, StoredReading
from shared.models.reports import (
    Report,
    ReportedArchive,
    ReportedThread,
    Summary,
    SummaryClaim,
    SummaryStance,
)
from shared.models.threads import Address, Attachment, Chunk, Copy, Message, Thread
from shared.models.values import Citation, ConsensusType, Genre, SummaryType
from shared.views.parameters import api_of, page_of, page_of_mail, page_of_message

Links = dict[str, str]


def _visible_error(document: RetryableDocument) -> str | None:
    """Return the error for operators only, because it can quote mail or private names."""
    return document.lastError if current_caller().reads_all else None


class ReadModel(BaseModel):
    model_config = ConfigDict(populate_by_name=True, extra="forbid")

    @classmethod
    def from_document(cls, document: BaseModel, **others: Any) -> Self:
        """Create the model from the fields with the same names and from `others`."""
        common = type(document).model_fields.keys() & cls.model_fields.keys()
        return cls(**{**{name: getattr(document, name) for name in common}, **others})


class ThreadItem(ReadModel):
    thread_id: str
    subject: str
    source: str | None
    sources: list[str]
    message_count: int
    participants: list[Address]
    first_message_date: UtcTime | None
    last_message_date: UtcTime | None
    draft_mentions: list[str]
    has_consensus: bool
    consensus_type: ConsensusType | None
    outcome: ShownOutcome | None
    open_call: ShownOpenCall | None
    genre: Genre | None
    vote_thread: str | None
    result_thread: str | None
    status: ProcessingStatus
    flags: dict[str, int]
    summary_id: str | None
    report_id: str | None
    links: Links

    @classmethod
    def of(cls, thread: Thread) -> "ThreadItem":
        return cls.from_document(thread, genre=thread.genre, links=_thread_links(thread))


class ThreadDetail(ThreadItem):
    root_message_id: str
    archive_ids: list[str]
    last_error: str | None

    @classmethod
    def of(cls, thread: Thread) -> "ThreadDetail":
        links = _thread_links(thread)
        return cls.from_document(thread, genre=thread.genre, last_error=_visible_error(thread), links=links)


class ThreadList(ReadModel):
    items: list[ThreadItem]
    next: str | None


class MessageInThread(ReadModel):
    """A message in reading order, in which replies follow the message that they answer."""

    message_key: str
    message_id: str
    parent_key: str | None
    depth: int
    subject: str
    sender: Address = Field(alias="from")
    date: UtcTime | None
    text: str
    status: ProcessingStatus
    links: Links


class AnswerElsewhere(ReadModel):
    """A mail of another list that answers a message of the thread. It is not counted in the thread."""

    message_key: str
    message_id: str
    answers: str
    source: str
    thread_id: str
    sender: Address = Field(alias="from")
    date: UtcTime | None
    beginning: str
    links: Links


class MessagesOfThread(ReadModel):
    thread_id: str
    message_count: int
    missing: int
    items: list[MessageInThread]
    elsewhere: list[AnswerElsewhere]
    next: str | None


class SegmentOfBody(ReadModel):
    kind: str
    start: int
    end: int


class MessageDetail(ReadModel):
    message_key: str
    message_id: str
    thread_id: str
    source: str
    sources: list[str]
    archive_ids: list[str]
    conflicts: int
    copies: list[Copy]
    in_reply_to: str | None
    references: list[str]
    subject: str
    sender: Address = Field(alias="from")
    to: list[Address]
    cc: list[Address]
    date: UtcTime | None
    claimed_date: str
    body_raw: str
    body_normalized: str
    hidden_text: str
    segments: list[SegmentOfBody]
    attachments: list[Attachment]
    draft_mentions: list[str]
    warnings: list[str]
    status: ProcessingStatus
    last_error: str | None
    links: Links

    @classmethod
    def of(cls, message: Message) -> "MessageDetail":
        own, thread = message_links(message.id, message.thread_id), api_of("threads", message.thread_id)
        return cls.from_document(
            message,
            segments=[SegmentOfBody(**segment) for segment in message.segments],
            sender=message.from_,
            last_error=_visible_error(message),
            links={**own, "raw": f"{own['self']}/raw", "thread": thread},
        )


class ChunkItem(ReadModel):
    chunk_id: str
    message_key: str
    message_id: str
    thread_id: str
    archive_id: str
    chunk_index: int
    text: str
    token_count: int
    start_offset: int
    end_offset: int
    overlap_with_previous: bool
    spans: list[tuple[int, int]]
    embedding_generated: bool
    embedding_model: str | None
    status: ProcessingStatus
    last_error: str | None
    links: Links

    @classmethod
    def of(cls, chunk: Chunk) -> "ChunkItem":
        links = {
            "self": api_of("chunks", chunk.id),
            "message": api_of("messages", chunk.message_key),
            "thread": api_of("threads", chunk.thread_id),
        }
        spans = chunk.metadata.get("spans", [])
        return cls.from_document(chunk, spans=spans, last_error=_visible_error(chunk), links=links)


class ChunkList(ReadModel):
    items: list[ChunkItem]
    next: str | None


class ReportItem(ReadModel):
    report_id: str
    scope: str
    summary_id: str
    summary_type: SummaryType
    thread_id: str | None
    thread_ids: list[str]
    threads: list[ReportedThread]
    source: str | None
    title: str
    format: str
    published_at: UtcTime
    participants: list[Address]
    draft_mentions: list[str]
    has_consensus: bool
    consensus_type: ConsensusType | None
    counts: dict[str, int]
    outcome: ShownOutcome | None
    open_call: ShownOpenCall | None
    genre: Genre | None
    first_message_date: UtcTime | None
    last_message_date: UtcTime | None
    flags: dict[str, int]
    notified: bool
    links: Links

    @classmethod
    def of(cls, report: Report) -> "ReportItem":
        return cls.from_document(report, links=_report_links(report))


class CitationShown(ReadModel):
    """A quote and its place. `page` is the address of the sentence."""

    chunk_id: str
    message_id: str
    message_key: str | None
    quote: str
    offset: int | None
    relevance_score: float
    thread_id: str | None
    page: str | None

    @classmethod
    def of(cls, citation: Citation, thread_id: str | None, page: str | None) -> "CitationShown":
        return cls.from_document(citation, thread_id=thread_id, page=page)


class SummaryDetail(ReadModel):
    summary_id: str
    summary_type: SummaryType
    title: str
    reason: str | None
    content_markdown: str
    content_html: str
    claims: list[SummaryClaim]
    citations: list[CitationShown]
    stances: list[SummaryStance]
    counts: dict[str, int]
    reading: StoredReading | None
    generated_by: str
    generated_at: UtcTime
    prompt_template: str | None
    content_hash: str | None
    notes: list[str]

    @classmethod
    def of(cls, summary: Summary, citations: list[CitationShown]) -> "SummaryDetail":
        reason, notes = summary.metadata.reason, summary.metadata.notes
        return cls.from_document(summary, citations=citations, reason=reason, notes=notes)


class ReportList(ReadModel):
    items: list[ReportItem]
    next: str | None


class ReportDetail(ReportItem):
    evidence: list[ReportedArchive]
    outdated: bool
    summary: SummaryDetail


class Highlight(ReadModel):
    """A part of a found passage, and whether it matches the query."""

    text: str
    match: bool


class FoundItem(ReadModel):
    score: float
    chunk_id: str
    message_key: str
    message_id: str
    thread_id: str
    source: str | None
    subject: str
    sender: Address = Field(alias="from")
    date: datetime | None
    text: str
    sentence: str  # the sentence of `text` that fits the query best
    highlights: list[list[Highlight]]
    draft_mentions: list[str]
    links: Links


class FoundThread(ReadModel):
    """A thread with its passages, the best first."""

    thread_id: str
    subject: str
    source: str | None
    outcome: ShownOutcome | None
    items: list[FoundItem]
    links: Links


class ExactMatch(ReadModel):
    """A standard, a mail or a person that the query names, with its page."""

    kind: str
    name: str
    page: str


class FacetCount(ReadModel):
    value: str
    count: int
    label: str = ""  # the name of a sender


class Quote(ReadModel):
    """A sentence in its author's words. `page` shows it marked in its mail."""

    text: str
    message_id: str
    sender: Address = Field(alias="from")
    date: datetime | None
    stance: str | None = None  # for a position: support, oppose or mixed
    page: str

    @classmethod
    def of(
        cls, text: str, message_id: str, sender: Address, date: datetime | None, stance: str | None = None
    ) -> Self:
        page = page_of_mail(message_id, text)
        return cls(text=text, message_id=message_id, sender=sender, date=date, stance=stance, page=page)


class WrittenSentence(ReadModel):
    """A sentence of a chat model, and the sentences of the mail that support it."""

    text: str
    quotes: list[Quote]


class AnswerThread(ReadModel):
    thread_id: str
    subject: str
    source: str | None
    outcome: ShownOutcome | None
    sentences: list[Quote]
    written: list[WrittenSentence] | None = None  # None if the chat model was not asked
    note: str | None = None  # why the chat model wrote nothing
    links: Links


class Answer(ReadModel):
    question: str
    text: str  # a note if nothing shows an answer, otherwise empty
    threads: list[AnswerThread]
    left_out: int  # other threads that match
    model: str | None  # the chat model that can add sentences
    note: str | None


class SearchAnswer(ReadModel):
    query: str
    mode: str
    note: str | None
    total: int | None  # threads if the query has words, otherwise passages with the latest first
    exact: list[ExactMatch]
    threads: list[FoundThread]
    items: list[FoundItem]  # the passages of these threads
    facets: dict[str, list[FacetCount]]
    next: str | None


class DraftItem(ReadModel):
    name: str
    passages: int
    links: Links


class DraftList(ReadModel):
    items: list[DraftItem]


class DraftDetail(ReadModel):
    name: str
    reports: list[ReportItem]
    threads: list[ThreadItem]
    links: Links


def message_links(key: str, thread_id: str) -> Links:
    return {"self": api_of("messages", key), "page": page_of_message(thread_id, key)}


def _thread_links(thread: Thread) -> Links:
    own = api_of("threads", thread.id)
    links = {"self": own, "messages": f"{own}/messages", "page": page_of("threads", thread.id)}
    if thread.report_id:
        links["report"] = api_of("reports", thread.report_id)
    return links


def _report_links(report: Report) -> Links:
    own = api_of("reports", report.report_id)
    links = {"self": own, "markdown": f"{own}/markdown", "page": page_of("reports", report.report_id)}
    if report.thread_id:
        links["thread"] = api_of("threads", report.thread_id)
    return links
