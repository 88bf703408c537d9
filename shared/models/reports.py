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
    """The delivery of a report to one webhook."""

    channel: str
    summary_id: str  # of the delivered report. A later report has its own deliveries.
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = Field(default=0, ge=0)
    last_attempt_at: UtcTime | None = None
    next_attempt_at: UtcTime | None = None
    delivered_at: UtcTime | None = None
    error: str | None = None


class ReportedArchive(Subdocument):
    """An archive that a report is based on, and the SHA-256 of its bytes."""

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
    """The report of its scope. An earlier report is rendered again from its summary on request."""

    container = "reports"
    partition_field = "scope"

    report_id: str  # its address. It follows from the summary, and `id` follows from the scope.
    scope: str = Field(min_length=1)  # the scope of its summary
    summary_id: str
    summary_number: int = 0  # of the thread or digest when it named the summary. The highest number stays.
    summary_type: SummaryType = SummaryType.THREAD
    thread_id: str | None  # None where it is about several threads
    thread_ids: list[str] = []
    threads: list[ReportedThread] = []  # of a digest, newest first
    source: str | None = None
    title: str
    format: str = "markdown"
    published_at: UtcTime
    participants: list[Address] = []
    person_ids: list[str] = []  # of the participants
    draft_mentions: list[str] = []  # drafts without their versions, for searches
    has_consensus: bool = False
    consensus_type: ConsensusType | None = None
    counts: dict[str, int] = {}  # people with a stated position, by stance
    outcome: ShownOutcome | None = None  # None in a digest
    open_call: ShownOpenCall | None = None
    genre: Genre | None = None
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    evidence: list[ReportedArchive] = []  # the archives that it was made from
    flags: dict[str, int] = {}  # warnings about the record: see record_flags.py
    notified: bool = False  # all its webhooks have received it
    delivery_channels: list[str] = []  # the webhooks that have received it
    deliveries: list[ReportDelivery] = []
    next_delivery_at: UtcTime | None = None  # when the next attempt is due, or None
    metadata: dict[str, Any] = {}


class SummaryClaim(Subdocument):
    text: str
    section: str
    speaker: str = ""  # the author of the text, or empty for the summarizer
    citations: list[int] = Field(min_length=1)  # positions in the summary's citations
    thread_id: str | None = None  # in a summary of several threads


class SummaryStance(Subdocument):
    """The stance of a person, and the place in body_normalized of the sentence that shows it."""

    message_key: str
    name: str = ""
    email: str = ""
    stance: str
    quote: str | None = None
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)
    counts_now: bool = False  # the participant's last stance


class SummaryMetadata(Subdocument):
    """The facts of a summary that its report shows, and the token counts of a chat model."""

    source: str | None = None
    participants: list[Address] = []
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    draft_mentions: list[str] = []
    # For a thread.
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
    # For a digest.
    label: str | None = None
    threads: int | None = None
    messages: int | None = None
    outcomes: list[ReportedThread] = []


class Summary(Document):
    container = "summaries"
    partition_field = "scope"
    key_field = "summary_id"

    summary_id: str
    scope: str = Field(min_length=1)  # a thread's id, a week of a source, or a draft
    thread_id: str | None  # None where it is about several threads
    thread_ids: list[str] = []
    summary_type: SummaryType
    title: str
    content_markdown: str
    content_html: str
    citations: list[Citation] = []
    claims: list[SummaryClaim] = []
    stances: list[SummaryStance] = []  # only stated stances
    counts: dict[str, int] = {}  # the number of these people by stance
    reading: StoredReading | None = None  # None in a digest
    generated_by: str
    generated_at: UtcTime
    content_hash: str | None = None
    prompt_template: str | None = None
    evidence: list[ReportedArchive] = []  # the archives that it was made from
    metadata: SummaryMetadata = SummaryMetadata()


class TokenAccount(Document):
    """The tokens of a chat model for one archive or for the questions of one day, as its id tells."""

    container = "token_accounts"

    used: int = 0
    reserved: int = 0
    calls: int = 0


class Digest(Document):
    """The state of a digest of several threads. It is stale while `touches` is higher than `made`."""

    container = "digests"

    scope: str
    touches: int = 0
    working: int = 0  # the touches that the running refresh has seen
    made: int = 0  # the touches that the last finished refresh had seen
    named: int = 0  # the touches that the refresh that set the summary had seen
    summary_id: str | None = None  # the current summary
    summary_number: int = 0  # raised when the current summary changes
    report_id: str | None = None  # the report of the current summary, after its publication
    announced: int = 0  # how often the current summary was announced


UNCONFIRMED_SECONDS = 48 * 3600
FOR_EVER = -1


class TopicKind(StrEnum):
    """The kinds of topics to follow, with the names in the addresses of pages."""

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
    """A subscription to e-mail digests. If it is not confirmed, it expires after two days."""

    container = "subscriptions"
    partition_field = "address_key"

    address_key: str
    address: str
    topic: Topic
    cadence: Cadence
    asked_at: UtcTime  # when the last confirmation mail was sent
    confirmed_at: UtcTime | None = None
    account: str = ""  # the account that confirmed it. The digest has what this account may read.
    roles: list[str] = []
    groups: list[str] = []
    since: UtcTime | None = None  # reports up to this time were sent
    until: UtcTime | None = None  # the end of the period of the digest that is being sent
    next_due_at: UtcTime | None = None
    attempts: int = Field(default=0, ge=0)  # at the digest that is being sent
    refusals: int = Field(default=0, ge=0)  # consecutive digests that the server refused permanently
    error: str | None = None
    ttl: int | Literal[-1] = UNCONFIRMED_SECONDS
