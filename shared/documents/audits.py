"""Audits: what an operator did."""

from enum import StrEnum
from typing import Any

from shared.documents.base import Document, UtcTime


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
