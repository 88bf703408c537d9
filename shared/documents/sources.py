"""Sources: where archives come from."""

from enum import StrEnum
from typing import Any

from shared.documents.base import Document, UtcTime


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


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"


class SourceType(StrEnum):
    UPLOAD = "upload"
    LOCAL = "local"
    HTTP = "http"
    RSYNC = "rsync"
    IMAP = "imap"
