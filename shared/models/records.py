"""Records of operators' actions, of runs and of failed events; and leases that workers hold."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from shared.models.base import Document, UtcTime


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


class AccessKind(StrEnum):
    ENDED = "ended"  # a session that was left before its time
    FEED = "feed"  # the secret address of an account's feeds


class AccessRecord(Document):
    """What the server keeps about access. It goes by itself when it is worth nothing any more."""

    container = "access"

    kind: AccessKind
    name: str = ""  # the account's
    roles: list[str] = []
    groups: list[str] = []
    secret_hash: str = ""
    expires_at: UtcTime | None = None
    ttl: int = Field(gt=0)


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


class FailureRecord(Document):
    """One failed attempt of a stage: the payload of a dead letter (R-802), and what helps to sort it."""

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


class Lock(Document):
    """Held by one worker at a time, until it is released or its time is over."""

    container = "locks"

    owner: str = ""
    expires: float = 0.0
    session: dict[str, str] = {}  # what its last holder wrote: the next one has to see it
