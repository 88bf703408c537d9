"""Archives: stored files of mail."""

from typing import Any

from pydantic import Field

from shared.documents.base import RetryableDocument, UtcTime, _Status


class ArchiveStatus(_Status):
    PENDING = "pending"
    PROCESSED = "processed"
    FAILED = "failed"
    FAILED_MAX_RETRIES = "failed_max_retries"


class Archive(RetryableDocument):
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
