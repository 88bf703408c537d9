"""Reports: a published summary, and its deliveries."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from shared.documents.base import Document, Subdocument, UtcTime
from shared.documents.messages import Address
from shared.documents.readings import ShownOpenCall, ShownOutcome
from shared.documents.values import ConsensusType, Genre, SummaryType


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # there was a later report before this one got through


class ReportDelivery(Subdocument):
    """What became of a report on its way to one webhook."""

    channel: str
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
    container = "reports"
    partition_field = "scope"
    key_field = "report_id"

    report_id: str
    scope: str = Field(min_length=1)  # its summary's
    summary_id: str
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
    outdated: bool = False
    notified: bool = False  # all webhooks that there were have it
    delivery_channels: list[str] = []  # those that have it
    deliveries: list[ReportDelivery] = []
    next_delivery_at: UtcTime | None = None  # when the next attempt is due; None where nothing is pending
    metadata: dict[str, Any] = {}
