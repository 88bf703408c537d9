"""Runs: what a sweep or a check did."""

from enum import StrEnum
from typing import Any

from shared.documents.base import Document, UtcTime


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
