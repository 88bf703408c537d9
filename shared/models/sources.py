"""Sources and their archives, and the operations that fetch and delete them."""

from datetime import date
from enum import StrEnum
from typing import Any

from pydantic import Field

from shared.models.base import Document, RetryableDocument, Subdocument, UtcTime, _Status
from shared.models.values import Preset, RoleHolder, SourceProfile


class SourceRole(Subdocument):
    """A person who decides on this list, and the period. Both days are included, and either may be open."""

    person: str  # an address
    name: str = ""
    role: str
    from_: date | None = Field(default=None, alias="from")
    until: date | None = None


class Source(Document):
    container = "sources"
    key_field = "name"

    name: str
    source_type: str
    url: str
    enabled: bool = True
    schedule: str | None = None
    settings: dict[str, Any] = {}
    preset: Preset = Preset.FREE  # the customs for reading decisions
    roles: list[SourceRole] = []
    readers: list[str] = []  # the groups that may read it, or "*" (shared/azure/access.py)
    keep_days: int | None = None  # older mails are deleted, a month at a time
    archive_template: str = ""  # the template of the URLs of its mails in the list's own archive
    cursor: dict[str, Any] = {}
    last_fetch_at: UtcTime | None = None
    last_fetch_error: str | None = None
    last_success_at: UtcTime | None = None
    next_fetch_at: UtcTime | None = None
    lease_owner: str | None = None  # the operation that fetches, until the expiry
    lease_until: UtcTime | None = None

    @property
    def profile(self) -> SourceProfile:
        """Return the profile for reading its threads. `settings.chairs` names chairs without a period."""
        holders = [
            RoleHolder(holder.person.lower(), holder.role.lower(), holder.from_, holder.until)
            for holder in self.roles
        ]
        chairs = [RoleHolder(address.lower(), "chair") for address in self.settings.get("chairs", [])]
        settings = self.settings
        return SourceProfile(
            self.preset,
            (*holders, *chairs),
            tuple(tuple(addresses) for addresses in settings.get("aliases", [])),
            tuple(tuple(addresses) for addresses in settings.get("namesakes", [])),
            settings.get("authserv_id", ""),
            bool(settings.get("require_authenticated")),
            tuple(address.lower() for address in settings.get("gateways", [])),
            (settings.get("list_address") or "").lower(),
            settings.get("list_id", "").lower(),
        )


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"


class SourceType(StrEnum):
    UPLOAD = "upload"
    LOCAL = "local"
    HTTP = "http"
    RSYNC = "rsync"
    IMAP = "imap"
    INDEX = "index"  # a page that lists archives, such as a pipermail page
    PUBLIC_INBOX = "public-inbox"


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
    skipped: list[dict[str, Any]] = []  # the first skipped mails, with place and reason
    thread_count: int = Field(default=0, ge=0)
    file_path: str
    status: ArchiveStatus = ArchiveStatus.PENDING
    removing: bool = False  # it is being deleted with all derived data, so the stages stop


class OperationStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


class FetchedArchive(Subdocument):
    archive_id: str
    filename: str
    duplicate: bool


class RefusedFile(Subdocument):
    filename: str
    reason: str


class JoinedUpload(Subdocument):
    """A file that was uploaded in parts and joined, and is stored until it is ingested."""

    path: str
    filename: str
    size: int


class Operation(Document):
    """One fetch of a source, for the user who follows it. It expires after a while."""

    container = "operations"

    source: str
    requested_by: str
    status: OperationStatus = OperationStatus.PENDING
    started_at: UtcTime | None = None
    finished_at: UtcTime | None = None
    archives: list[FetchedArchive] = []  # the last 100
    refused: list[RefusedFile] = []  # files that are not mail archives
    upload: JoinedUpload | None = None  # the upload, if no source is fetched
    error: str | None = None


class Removal(Document):
    """The deletion of an archive or a source with all derived data, and its receipt.

    It stays as a tombstone, which tells a late event why its documents are gone.
    """

    container = "removals"

    target_kind: str
    target: str
    requested_by: str
    replaced: bool = False  # its mails were stored again without the erased mails
    status: OperationStatus = OperationStatus.PENDING
    started_at: UtcTime | None = None
    updated_at: UtcTime
    finished_at: UtcTime | None = None
    looked_again_at: UtcTime | None = None  # when the second check for late writes ran
    archives: list[str] = []  # the deleted archives of a source
    source_of: dict[str, str] = {}  # by archive: determines where its messages are stored
    blobs: list[str] = []  # their paths, because a late upload would leave a blob
    unit: str | None = None  # the thread, or the failures, whose removal is already counted
    counts: dict[str, int] = {}  # removed documents by kind
    left: dict[str, int] = {}  # documents that the last check still found
    rounds: int = 0
    letters: list[str] = []  # the operations that delete its dead letters
    error: str | None = None
