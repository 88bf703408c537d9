"""Sources: where archives come from."""

from datetime import date
from enum import StrEnum
from typing import Any

from pydantic import Field

from shared.documents.base import Document, Subdocument, UtcTime
from shared.documents.values import Preset, RoleHolder, SourceProfile


class SourceRole(Subdocument):
    """Who decides on this list, and when: both days are part of the period, and either may be open."""

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
    preset: Preset = Preset.FREE  # in whose words decisions are read
    roles: list[SourceRole] = []
    archive_template: str = ""  # of the addresses of its mails in its own archive
    cursor: dict[str, Any] = {}
    last_fetch_at: UtcTime | None = None
    last_fetch_error: str | None = None
    last_success_at: UtcTime | None = None
    next_fetch_at: UtcTime | None = None
    lease_owner: str | None = None  # the operation that fetches, until then
    lease_until: UtcTime | None = None

    @property
    def profile(self) -> SourceProfile:
        """What its threads are read with. `settings.chairs` names chairs without a period."""
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
        )


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
# Of the archives that go through to show that the pipeline works. No name that users give can be this one.
CANARY_SOURCE = "_canary"


class SourceType(StrEnum):
    UPLOAD = "upload"
    LOCAL = "local"
    HTTP = "http"
    RSYNC = "rsync"
    IMAP = "imap"
    INDEX = "index"  # a page that lists archives, such as pipermail's
    PUBLIC_INBOX = "public-inbox"
