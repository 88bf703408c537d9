"""The documents, with the fields of the specification and ours beside them."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from shared.documents.base import Document, Part, UtcTime

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
    "Failure",
    "FetchedArchive",
    "Lock",
    "Message",
    "Operation",
    "OperationStatus",
    "RefusedFile",
    "Report",
    "Source",
    "Status",
    "Summary",
    "SummaryType",
    "Thread",
    "ThreadEntry",
]


class ArchiveStatus(StrEnum):
    PENDING = "pending"
    PROCESSED = "processed"
    FAILED = "failed"
    FAILED_MAX_RETRIES = "failed_max_retries"


class Status(StrEnum):
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


class Archive(Document):
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


class Message(Document):
    container = "messages"
    partition_field = "thread_id"
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
    status: Status = Status.PENDING


class Chunk(Document):
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


class Thread(Document):
    container = "threads"
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
    subject_at: UtcTime | None = None  # the date of the message that gave the subject: the earliest wins
    threading: dict[str, Any] = {}  # what is kept to thread further messages (shared/mail/threading.py)
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


class Summary(Document):
    container = "summaries"
    partition_field = "thread_id"
    key_field = "summary_id"

    summary_id: str
    thread_id: str | None
    summary_type: SummaryType
    title: str
    content_markdown: str
    content_html: str
    citations: list[Citation] = []
    generated_by: str
    generated_at: UtcTime
    content_hash: str | None = None
    prompt_template: str | None = None
    metadata: dict[str, Any] = {}


class Report(Document):
    container = "reports"
    partition_field = "thread_id"
    key_field = "report_id"

    report_id: str
    thread_id: str
    summary_id: str
    source: str | None = None
    title: str
    format: str = "markdown"
    published_at: UtcTime
    notified: bool = False
    delivery_channels: list[str] = []
    metadata: dict[str, Any] = {}


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
