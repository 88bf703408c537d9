"""Failures: the record of a failed event."""

from typing import Any

from pydantic import Field

from shared.documents.base import Document, UtcTime


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
