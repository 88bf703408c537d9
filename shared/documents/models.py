"""The documents, with the fields of the specification and ours beside them."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from shared.documents.base import Document, Part, Shelved, Swept, UtcTime

__all__ = [
    "Address",
    "Archive",
    "ArchiveStatus",
    "Attachment",
    "Audit",
    "AuditStatus",
    "Chunk",
    "Citation",
    "ConsensusType",
    "DeliveryStatus",
    "Digest",
    "Failure",
    "FetchedArchive",
    "Lock",
    "Message",
    "Operation",
    "OperationStatus",
    "RefusedFile",
    "Removal",
    "Report",
    "ReportDelivery",
    "Run",
    "RunStatus",
    "Source",
    "Status",
    "Summary",
    "SummaryClaim",
    "SummaryStance",
    "SummaryType",
    "Thread",
    "ThreadEntry",
    "TokenAccount",
]


class _Status(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> "_Status | None":
        """Others write "processing", which says no more than that it is not done."""
        return cls("pending") if value == "processing" else None


class ArchiveStatus(_Status):
    PENDING = "pending"
    PROCESSED = "processed"
    FAILED = "failed"
    FAILED_MAX_RETRIES = "failed_max_retries"


class Status(_Status):
    """Of messages, chunks and threads. There is no "processing": what is in flight, the broker knows."""

    PENDING = "pending"
    PROCESSED = "processed"
    FAILED_MAX_RETRIES = "failed_max_retries"


class ConsensusType(StrEnum):
    AGREEMENT = "agreement"
    DISSENT = "dissent"
    MIXED = "mixed"


class SummaryType(StrEnum):
    THREAD = "thread"
    WEEKLY = "weekly"
    CONSENSUS = "consensus"
    DRAFT_FOCUSED = "draft-focused"


class Address(Part):
    name: str = ""
    email: str = ""


class Attachment(Part):
    filename: str | None = None
    content_type: str
    size_bytes: int = Field(ge=0)
    content_id: str | None = None


class Citation(Part):
    chunk_id: str
    message_id: str
    quote: str
    relevance_score: float
    message_key: str | None = None
    offset: int | None = Field(default=None, ge=0)
    thread_id: str | None = None  # in a summary of several threads


class Source(Document):
    container = "sources"
    key_field = "name"

    name: str
    source_type: str
    url: str
    enabled: bool = True
    schedule: str | None = None
    settings: dict[str, Any] = {}
    cursor: dict[str, Any] = {}
    last_fetch_at: UtcTime | None = None
    last_fetch_error: str | None = None
    last_success_at: UtcTime | None = None
    next_fetch_at: UtcTime | None = None
    lease_owner: str | None = None  # the operation that fetches, until then
    lease_until: UtcTime | None = None


class OperationStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


class FetchedArchive(Part):
    archive_id: str
    filename: str
    duplicate: bool


class RefusedFile(Part):
    filename: str
    reason: str


class Operation(Document):
    """One fetch of a source, for those who asked for it to follow. The container forgets it after a while."""

    container = "operations"

    source: str
    requested_by: str
    status: OperationStatus = OperationStatus.PENDING
    started_at: UtcTime | None = None
    finished_at: UtcTime | None = None
    archives: list[FetchedArchive] = []  # the last hundred
    refused: list[RefusedFile] = []  # files that are no archives of mail, beside others that are
    error: str | None = None


class Archive(Swept):
    container = "archives"
    key_field = "archive_id"

    archive_id: str
    file_hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    file_size_bytes: int = Field(ge=0)
    source: str
    source_type: str = "upload"
    source_url: str
    format: str = "mbox"
    ingestion_date: UtcTime
    message_count: int = Field(default=0, ge=0)
    skipped_count: int = Field(default=0, ge=0)
    skipped: list[dict[str, Any]] = []  # the first of them, with place and reason
    thread_count: int = Field(default=0, ge=0)
    file_path: str
    status: ArchiveStatus = ArchiveStatus.PENDING
    removing: bool = False  # it is being deleted with everything derived: no stage goes on with it


class Message(Shelved):
    container = "messages"
    partition_field = "thread_id"
    shelves = 48
    key_field = "message_key"

    message_key: str
    message_id: str
    archive_id: str
    archive_ids: list[str] = []
    thread_id: str
    in_reply_to: str | None = None
    references: list[str] = []
    subject: str = ""
    from_: Address = Field(default_factory=Address, alias="from")
    to: list[Address] = []
    cc: list[Address] = []
    date: UtcTime | None = None
    body_raw: str = ""
    body_normalized: str = ""
    body_html: str | None = None
    segments: list[dict[str, Any]] = []
    headers: dict[str, Any] = {}
    attachments: list[Attachment] = []
    draft_mentions: list[str] = []
    warnings: list[str] = []
    variant: str = ""  # of several mails with this id, the one whose variant sorts first is stored
    status: Status = Status.PENDING


class Chunk(Swept):
    container = "chunks"
    partition_field = "thread_id"
    key_field = "chunk_id"

    chunk_id: str
    message_key: str
    message_id: str
    thread_id: str
    archive_id: str
    chunk_index: int = Field(ge=0)
    text: str
    token_count: int = Field(ge=0)
    start_offset: int = Field(ge=0)
    end_offset: int = Field(ge=0)
    overlap_with_previous: bool = False
    metadata: dict[str, Any] = {}
    embedding_generated: bool = False
    embedding_model: str | None = None
    status: Status = Status.PENDING


class Thread(Shelved):
    container = "threads"
    shelves = 8
    key_field = "thread_id"

    thread_id: str
    root_message_id: str
    archive_id: str
    archive_ids: list[str] = []
    source: str | None = None
    sources: list[str] = []
    subject: str = ""
    participants: list[Address] = []
    message_count: int = Field(default=0, ge=0)
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    draft_mentions: list[str] = []
    has_consensus: bool = False
    consensus_type: ConsensusType | None = None
    summary_id: str | None = None
    content_hash: str | None = None  # the version that a summary was last asked for
    requesting: dict[str, Any] | None = None  # the version that an event is about to ask for (orchestration)
    report_id: str | None = None  # the last report, of the summary that was the thread's then
    subject_at: UtcTime | None = None  # the date of the message that gave the subject: the earliest wins
    threading: dict[
        str, Any
    ] = {}  # what is kept to thread further messages (shared/domain/threading/assignment.py)
    absorbing: list[str] = []  # threads that became this one, whose documents still have to follow
    merged_into: str | None = None  # set on a thread that is another one now
    status: Status = Status.PENDING


class ThreadEntry(Document):
    """Where to find the threads that know a message id, or have a subject: many small documents."""

    container = "thread_index"
    partition_field = "bucket"

    bucket: str
    threads: dict[str, list[int]] = {}  # thread id to the first and last time it counts for, where it has


class Lock(Document):
    """Held by one worker at a time, until it is released or its time is over."""

    container = "locks"

    owner: str = ""
    expires: float = 0.0
    session: dict[str, str] = {}  # what its last holder wrote: the next one has to see it


class SummaryClaim(Part):
    text: str
    section: str
    speaker: str = ""  # whose words the text is; empty where it is the summarizer's
    citations: list[int] = Field(min_length=1)  # positions in the summary's citations
    thread_id: str | None = None  # in a summary of several threads


class SummaryStance(Part):
    """Where one message stands, and the sentence that shows it, by its place in body_normalized."""

    message_key: str
    name: str = ""
    email: str = ""
    stance: str
    quote: str | None = None
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)
    counts_now: bool = False  # it is this participant's latest stance


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
    stances: list[SummaryStance] = []  # one a message, in the thread's order
    counts: dict[str, int] = {}  # participants by stance
    generated_by: str
    generated_at: UtcTime
    content_hash: str | None = None
    prompt_template: str | None = None
    outdated: bool = False  # there is a later one, or its thread is another one now
    metadata: dict[str, Any] = {}


class TokenAccount(Document):
    """What a chat model's reading of one archive has cost; its id is the archive's."""

    container = "token_accounts"

    used: int = 0
    reserved: int = 0
    calls: int = 0


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # there was a later report before this one got through


class ReportDelivery(Part):
    """What became of a report on its way to one webhook."""

    channel: str
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = Field(default=0, ge=0)
    last_attempt_at: UtcTime | None = None
    next_attempt_at: UtcTime | None = None
    delivered_at: UtcTime | None = None
    error: str | None = None


class Report(Document):
    container = "reports"
    partition_field = "scope"
    key_field = "report_id"

    report_id: str
    scope: str = Field(min_length=1)  # its summary's
    summary_id: str
    summary_type: SummaryType = SummaryType.THREAD
    thread_id: str | None  # None where it is about several threads
    thread_ids: list[str] = []
    source: str | None = None
    title: str
    format: str = "markdown"
    published_at: UtcTime
    participants: list[Address] = []
    draft_mentions: list[str] = []  # drafts without their versions: what readers look for
    has_consensus: bool = False
    consensus_type: ConsensusType | None = None
    counts: dict[str, int] = {}  # participants by stance
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    outdated: bool = False
    notified: bool = False  # all webhooks that there were have it
    delivery_channels: list[str] = []  # those that have it
    deliveries: list[ReportDelivery] = []
    next_delivery_at: UtcTime | None = None  # when the next attempt is due; None where nothing is pending
    metadata: dict[str, Any] = {}


class Digest(Document):
    """What is to be kept up to date about several threads: dirty while it was touched more than made."""

    container = "digests"

    scope: str
    touches: int = 0
    working: int = 0  # the touches that the refresh which is under way has seen
    made: int = 0  # the touches that the last one that ended had seen
    summary_id: str | None = None


class Failure(Document):
    """One failed attempt of a stage: the specification's dead-letter payload, and what helps to sort it."""

    container = "failures"
    partition_field = "stage"

    stage: str
    original_event: dict[str, Any] | str
    idempotency_key: str
    attempt: int = Field(default=1, ge=1)
    attempt_count: int = Field(ge=0)
    last_error: str
    error_type: str
    error_kind: str
    error_hash: str
    abandoned_reason: str
    service_name: str
    timestamp: UtcTime
    message_id: str | None = None
    delivery_count: int = Field(default=1, ge=0)
    trace_id: str | None = None


class AuditStatus(StrEnum):
    ASKED = "asked"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INCOMPLETE = "incomplete"  # it ended, and some of what was selected is left
    INTERRUPTED = "interrupted"  # it was stopped, and can be resumed
    FAILED = "failed"


class Audit(Document):
    """One operation of an operator: who did what to what, when, and how it ended. Kept for good."""

    container = "audits"
    partition_field = "day"

    day: str
    action: str
    actor: str
    via: str = "command line"
    status: AuditStatus = AuditStatus.RUNNING
    started_at: UtcTime
    updated_at: UtcTime
    finished_at: UtcTime | None = None
    selection: dict[str, Any] = {}
    counts: dict[str, int] = {}
    outcome: str | None = None


class RunStatus(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Run(Document):
    """One run of the sweep or of the consistency checks: what it found, and what it did about it."""

    container = "runs"
    partition_field = "kind"

    kind: str
    requested_by: str
    dry_run: bool = False
    status: RunStatus = RunStatus.RUNNING
    started_at: UtcTime
    finished_at: UtcTime | None = None
    counts: dict[str, dict[str, int]] = {}  # by collection or by kind of damage
    circuits: dict[str, str] = {}  # collections whose stage fails all the time, and with what
    cursor: dict[str, str] = {}  # where the next run goes on
    examples: list[dict[str, Any]] = []  # the first of what was found
    errors: list[str] = []


class Removal(Document):
    """The deletion of an archive or a source with everything derived, and in the end its receipt.

    It stays as a tombstone: an event that is still under way finds out from it why its documents are gone.
    """

    container = "removals"

    target_kind: str
    target: str
    requested_by: str
    status: OperationStatus = OperationStatus.PENDING
    started_at: UtcTime | None = None
    updated_at: UtcTime
    finished_at: UtcTime | None = None
    archives: list[str] = []  # those that are done with, of a source
    unit: str | None = None  # the thread, or the failures, being removed: they are counted already
    counts: dict[str, int] = {}  # what was removed
    left: dict[str, int] = {}  # what the last check found of it
    rounds: int = 0
    error: str | None = None
