"""Summaries, reports and digests, and the subscriptions to them."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from shared.models.base import Document, Subdocument, UtcTime
from shared.models.readings import ShownOpenCall, ShownOutcome, StoredReading
from shared.models.threads import Address
from shared.models.values import Citation, ConsensusBasis, ConsensusType, Genre, SummaryType


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class ReportDelivery(Subdocument):
    """What became of a report on its way to one webhook."""

    channel: str
    summary_id: str  # what it delivers: a later report has deliveries of its own
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = Field(default=0, ge=0)
    last_attempt_at: UtcTime | None = None
    next_attempt_at: UtcTime | None = None
    delivered_at: UtcTime | None = None
    error: str | None = None


class ReportedArchive(Subdocument):
    """A file of mail that a report rests on, and the SHA-256 of its bytes."""

    archive_id: str
    file_hash: str
    arrived_at: UtcTime | None = None


class ReportedThread(Subdocument):
    """A thread of a digest, and its outcome when the digest was made."""

    thread_id: str
    title: str
    outcome: ShownOutcome | None = None
    last_message_date: UtcTime | None = None
    read_at: UtcTime  # since when the outcome is known

    @property
    def is_decided(self) -> bool:
        return self.outcome is not None and self.outcome.kind is not None


class Report(Document):
    """The one of its scope. Earlier ones are made of their summaries again where they are asked for."""

    container = "reports"
    partition_field = "scope"

    report_id: str  # its address: it follows from the summary, and `id` from the scope
    scope: str = Field(min_length=1)  # its summary's
    summary_id: str
    summary_number: int = 0  # of the thread or digest when it named the summary: the highest one stays
    summary_type: SummaryType = SummaryType.THREAD
    thread_id: str | None  # None where it is about several threads
    thread_ids: list[str] = []
    threads: list[ReportedThread] = []  # of a digest, the newest first
    source: str | None = None
    title: str
    format: str = "markdown"
    published_at: UtcTime
    participants: list[Address] = []
    person_ids: list[str] = []  # of the participants
    draft_mentions: list[str] = []  # drafts without their versions: what readers look for
    has_consensus: bool = False
    consensus_type: ConsensusType | None = None
    counts: dict[str, int] = {}  # those who are said to have taken a position, by stance
    outcome: ShownOutcome | None = None  # None in a report on several threads
    open_call: ShownOpenCall | None = None
    genre: Genre | None = None
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    evidence: list[ReportedArchive] = []  # the archives that it was made from
    flags: dict[str, int] = {}  # what a reader has to know of the record: see record_flags.py
    notified: bool = False  # all webhooks that there were have it
    delivery_channels: list[str] = []  # those that have it
    deliveries: list[ReportDelivery] = []
    next_delivery_at: UtcTime | None = None  # when the next attempt is due; None where nothing is pending
    metadata: dict[str, Any] = {}


class SummaryClaim(Subdocument):
    text: str
    section: str
    speaker: str = ""  # whose words the text is; empty where it is the summarizer's
    citations: list[int] = Field(min_length=1)  # positions in the summary's citations
    thread_id: str | None = None  # in a summary of several threads


class SummaryStance(Subdocument):
    """Where a person is said to stand, and the sentence that shows it, by its place in body_normalized."""

    message_key: str
    name: str = ""
    email: str = ""
    stance: str
    quote: str | None = None
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)
    counts_now: bool = False  # it is this participant's last word


class SummaryMetadata(Subdocument):
    """The facts of a summary that its report shows, and what a chat model's answer cost."""

    source: str | None = None
    participants: list[Address] = []
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    draft_mentions: list[str] = []
    # Of a thread.
    has_consensus: bool = False
    consensus_type: ConsensusType | None = None
    basis: ConsensusBasis | None = None
    reason: str | None = None
    notes: list[str] = []
    flags: dict[str, int] = {}
    result_thread: str | None = None
    rejected_claims: int = 0
    tokens_prompt: int = 0
    tokens_completion: int = 0
    # Of several threads.
    label: str | None = None
    threads: int | None = None
    messages: int | None = None
    outcomes: list[ReportedThread] = []


class Summary(Document):
    container = "summaries"
    partition_field = "scope"
    key_field = "summary_id"

    summary_id: str
    scope: str = Field(min_length=1)  # what it is about: a thread's id, a week of a source, a draft
    thread_id: str | None  # None where it is about several threads
    thread_ids: list[str] = []
    summary_type: SummaryType
    title: str
    content_markdown: str
    content_html: str
    citations: list[Citation] = []
    claims: list[SummaryClaim] = []
    stances: list[SummaryStance] = []  # of those who are said to have taken one
    counts: dict[str, int] = {}  # the same people by stance
    reading: StoredReading | None = None  # None in a summary of several threads
    generated_by: str
    generated_at: UtcTime
    content_hash: str | None = None
    prompt_template: str | None = None
    evidence: list[ReportedArchive] = []  # the archives that it was made from
    metadata: SummaryMetadata = SummaryMetadata()


class TokenAccount(Document):
    """The tokens of a chat model for one archive, or for the questions of one day; its id names which."""

    container = "token_accounts"

    used: int = 0
    reserved: int = 0
    calls: int = 0


class Digest(Document):
    """What is to be kept up to date about several threads: dirty while it was touched more than made."""

    container = "digests"

    scope: str
    touches: int = 0
    working: int = 0  # the touches that the refresh which is under way has seen
    made: int = 0  # the touches that the last one that ended had seen
    named: int = 0  # the touches that the refresh which named the summary had seen
    summary_id: str | None = None  # the current one
    summary_number: int = 0  # as a thread's
    report_id: str | None = None  # of the current one, once it is published
    announced: int = 0  # how often the current one was


UNCONFIRMED_SECONDS = 48 * 3600
FOR_EVER = -1


class TopicKind(StrEnum):
    """What can be followed, under the names that addresses of pages have."""

    SOURCES = "sources"
    DRAFTS = "drafts"
    PEOPLE = "people"
    THREADS = "threads"


class Cadence(StrEnum):
    DAILY = "daily"
    WEEKLY = "weekly"


class Topic(Subdocument):
    kind: TopicKind
    name: str = Field(min_length=1, max_length=255)
    label: str = Field(default="", max_length=200)


class Subscription(Document):
    """Unconfirmed, it goes by itself after two days; unsubscribed, it is deleted at once."""

    container = "subscriptions"
    partition_field = "address_key"

    address_key: str
    address: str
    topic: Topic
    cadence: Cadence
    asked_at: UtcTime  # when a mail to confirm was last sent
    confirmed_at: UtcTime | None = None
    account: str = ""  # that confirmed it at a site with accounts: the digest has what it could read
    roles: list[str] = []
    groups: list[str] = []
    since: UtcTime | None = None  # what was published until then is told
    until: UtcTime | None = None  # the end of the digest that is being sent
    next_due_at: UtcTime | None = None
    attempts: int = Field(default=0, ge=0)  # at the digest that is being sent
    refusals: int = Field(default=0, ge=0)  # digests in a row that the server refused for good
    error: str | None = None
    ttl: int | Literal[-1] = UNCONFIRMED_SECONDS
