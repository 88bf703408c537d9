"""Schemas of sources, archives and fetches."""

from typing import Any

from pydantic import Field, RootModel

from shared.models.base import UtcTime
from shared.models.sources import ArchiveStatus, FetchedArchive, OperationStatus, RefusedFile, SourceRole
from shared.models.values import Preset
from shared.views.read_models import ReadModel


class ArchiveItem(ReadModel):
    archive_id: str
    file_hash: str
    file_size_bytes: int
    source: str
    source_type: str
    source_url: str
    format: str
    ingestion_date: UtcTime
    message_count: int
    skipped_count: int
    skipped: list[dict[str, Any]]
    thread_count: int
    file_path: str
    status: ArchiveStatus
    created_at: UtcTime
    attemptCount: int  # noqa: N815 - the requirements' names
    lastAttemptTime: UtcTime | None  # noqa: N815
    lastError: str | None  # noqa: N815
    links: dict[str, str]


class ArchiveUploaded(ArchiveItem):
    duplicate: bool
    announced: bool
    note: str | None  # what to configure for a better reading


class ProgressOfStage(ReadModel):
    name: str
    unit: str
    done: int
    total: int
    failed: int


class ArchiveProgressDetail(ReadModel):
    complete: bool
    failed: bool
    percent: int = Field(ge=0, le=100)
    messages: int
    chunks: int
    threads: int
    stages: list[ProgressOfStage]
    gaps: list[str]


class ArchiveDetail(ArchiveItem):
    progress: ArchiveProgressDetail


class ArchiveList(ReadModel):
    items: list[ArchiveItem]
    next: str | None


class SourceItem(ReadModel):
    name: str
    schema_version: str
    created_at: UtcTime
    source_type: str
    url: str
    enabled: bool
    schedule: str | None
    settings: dict[str, Any]
    preset: Preset
    roles: list[SourceRole]
    readers: list[str]
    keep_days: int | None
    archive_template: str
    cursor: dict[str, Any]
    last_fetch_at: UtcTime | None
    last_fetch_error: str | None
    last_success_at: UtcTime | None
    next_fetch_at: UtcTime | None
    lease_owner: str | None
    lease_until: UtcTime | None
    links: dict[str, str]


class PublicSource(ReadModel):
    """The public fields of a source."""

    name: str
    source_type: str
    url: str
    enabled: bool
    schedule: str | None
    archive_template: str
    last_success_at: UtcTime | None
    links: dict[str, str]


class SourceShown(RootModel[SourceItem | PublicSource]):
    """All fields for an operator, otherwise the public fields."""


class SourceList(ReadModel):
    items: list[SourceItem | PublicSource]
    next: str | None


class SourceDeleted(ReadModel):
    name: str
    deleted: bool
    cascade: bool
    detail: str


class OperationAccepted(ReadModel):
    operation_id: str
    already_running: bool
    links: dict[str, str]


class OperationDetail(ReadModel):
    id: str
    created_at: UtcTime
    source: str
    requested_by: str
    status: OperationStatus
    started_at: UtcTime | None
    finished_at: UtcTime | None
    archives: list[FetchedArchive]
    refused: list[RefusedFile]
    error: str | None
    links: dict[str, str]


class RemovalDetail(ReadModel):
    """A deletion. `counts` is the receipt of a completed deletion."""

    id: str
    created_at: UtcTime
    target_kind: str
    target: str
    requested_by: str
    status: OperationStatus
    started_at: UtcTime | None
    updated_at: UtcTime
    finished_at: UtcTime | None
    archives: list[str]
    counts: dict[str, int]
    left: dict[str, int]
    error: str | None
    links: dict[str, str]


class OperationShown(RootModel[OperationDetail | RemovalDetail]):
    """A fetch or a deletion."""


class Alive(ReadModel):
    status: str


class DependencyHealth(ReadModel):
    ok: bool
    seconds: float  # duration of the response
    says: str | None = None


class Health(ReadModel):
    status: str
    dependencies: dict[str, DependencyHealth]
    problems: list[str] | None = None
