"""Records of operators' actions, of runs and of failed events, and the locks of workers."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from shared.models.base import Document, UtcTime


class AuditStatus(StrEnum):
    ASKED = "asked"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INCOMPLETE = "incomplete"  # it ended, but some selected items are left
    INTERRUPTED = "interrupted"  # it was stopped and can be resumed
    FAILED = "failed"


class Audit(Document):
    """One operation of an operator, with its target, time and outcome. It is kept permanently."""

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
    ENDED = "ended"  # a session that was ended before its expiry
    FEED = "feed"  # the secret address of an account's feeds


class AccessRecord(Document):
    """The server's record of a session or feed address. It expires by its ttl."""

    container = "access"

    kind: AccessKind
    name: str = ""  # the name of the account
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
    """One run of the sweep or of the consistency checks, with its findings and actions."""

    container = "runs"
    partition_field = "kind"

    kind: str
    requested_by: str
    dry_run: bool = False
    status: RunStatus = RunStatus.RUNNING
    started_at: UtcTime
    finished_at: UtcTime | None = None
    counts: dict[str, dict[str, int]] = {}  # by collection or by kind of damage
    circuits: dict[str, str] = {}  # collections whose stage always fails, with the error
    cursor: dict[str, str] = {}  # where the next run continues
    examples: list[dict[str, Any]] = []  # the first findings
    errors: list[str] = []


class FailureRecord(Document):
    """One failed attempt of a stage: the payload of a dead letter (R-802), with fields to sort it by."""

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
    """A lock that one worker holds until it is released or expires."""

    container = "locks"

    owner: str = ""
    expires: float = 0.0
    session: dict[
        str, str
    ] = {}  # the session tokens of the last holder, whose writes the next holder has to see
