"""The definition of a source by a user. Each field is checked, and each error names its field."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    model_validator,
)

from shared.azure.outbound import AddressPolicy, ForbiddenAddressError, SourceError, check_http_url
from shared.core.schedule import ScheduleError, parse_cron
from shared.ingestion.fetch_files import check_local_allowed, local_path, rsync_address
from shared.ingestion.fetch_imap import imap_address
from shared.ingestion.fetcher import SECRET_PREFIX
from shared.mail.archive_addresses import LONGEST_TEMPLATE, check_template
from shared.models.sources import NAME_PATTERN, Source, SourceRole, SourceType
from shared.models.values import Preset
from shared.settings.app import Settings

GROUP_PATTERN = r"^(\*|[A-Za-z0-9][A-Za-z0-9 ._@-]{0,127})$"  # The id of a group, or * for every reader.
LOGIN_SETTINGS = ("username_setting", "password_setting")
_Address = Annotated[str, Field(pattern=r"^[^@\s]{1,64}@[^@\s]{1,255}$")]
MAX_GROUPS, MAX_ADDRESSES = 500, 20
_AddressGroups = Annotated[
    list[Annotated[list[_Address], Field(min_length=2, max_length=MAX_ADDRESSES)]],
    Field(max_length=MAX_GROUPS),
]


class SourceSettings(BaseModel):
    """The settings of a source type. Secrets are app settings, which are named here and never stored."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    username_setting: str | None = Field(default=None, pattern=rf"^{SECRET_PREFIX}[A-Z0-9_]{{1,80}}$")
    password_setting: str | None = Field(default=None, pattern=rf"^{SECRET_PREFIX}[A-Z0-9_]{{1,80}}$")
    plaintext: StrictBool = False
    since: Annotated[str, Field(pattern=r"^(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d)$")] | None = None
    chairs: Annotated[list[_Address], Field(max_length=50)] = []
    aliases: _AddressGroups = []  # Addresses of one person each.
    namesakes: _AddressGroups = []  # Addresses of different people with the same name.
    # The server whose Authentication-Results fields are trusted.
    authserv_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,200}$")] = ""
    require_authenticated: StrictBool = False  # Count only mail whose sender is authenticated.
    gateways: Annotated[list[_Address], Field(max_length=50)] = []  # Addresses that send mail for many people
    list_address: _Address | None = None  # The posting address of the list.
    list_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,200}$")] = ""


def _no_number(value: Any) -> Any:
    if isinstance(value, int | float):
        raise ValueError("must be a day such as 2024-03-31")  # noqa: TRY004 - pydantic reports it with its place
    return value


_Day = Annotated[date, BeforeValidator(_no_number)]


class RoleDefinition(BaseModel):
    """A person who decides on the list, such as a chair or a maintainer, and the period of the role."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, populate_by_name=True)

    person: _Address
    name: Annotated[str, Field(max_length=200)] = ""
    role: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z -]{0,39}$")]
    from_: _Day | None = Field(default=None, alias="from")
    until: _Day | None = None

    @model_validator(mode="before")
    @classmethod
    def _names_its_end(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "to" in given:
            raise ValueError("the last day of a role is named `until`, not `to`")
        return given

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> Self:
        if self.from_ and self.until and self.until < self.from_:
            raise ValueError(f"until: {self.until} is before from: {self.from_}")
        return self


def _checked_schedule(value: str) -> str:
    try:
        parse_cron(value)
    except ScheduleError as error:
        raise ValueError(f"not an NCRONTAB expression such as '0 30 4 * * *': {error}") from None
    return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be printable")
    return value


def _checked_template(value: str) -> str:
    if value:
        check_template(value)
    return value


class SourceDefinition(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    source_type: SourceType
    url: Annotated[str, Field(max_length=2000), AfterValidator(_printable)] = ""
    enabled: StrictBool = True
    schedule: Annotated[str, Field(max_length=200), AfterValidator(_checked_schedule)] | None = None
    settings: SourceSettings = Field(default_factory=SourceSettings)
    preset: Preset = Preset.FREE
    roles: Annotated[list[RoleDefinition], Field(max_length=200)] = []
    readers: Annotated[list[Annotated[str, Field(pattern=GROUP_PATTERN)]], Field(max_length=50)] = []
    keep_days: Annotated[int, Field(strict=True, ge=1, le=36500)] | None = None
    archive_template: Annotated[
        str, Field(max_length=LONGEST_TEMPLATE), AfterValidator(_checked_template)
    ] = ""

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.source_type is not SourceType.UPLOAD and not self.url:
            raise ValueError("url: is needed for this type of source")
        if self.source_type is SourceType.UPLOAD and self.schedule:
            raise ValueError("schedule: a source of type upload has no schedule")
        has_login = self.settings.username_setting and self.settings.password_setting
        if self.source_type is SourceType.IMAP and not has_login:
            raise ValueError("settings: an IMAP source names a username_setting and a password_setting")
        return self


def check_reachable(definition: SourceDefinition, settings: Settings) -> None:
    """Raise ValueError if the address is malformed or not allowed. No request is sent."""
    if definition.readers and settings.AUTH_MODE == "public":
        raise ValueError("readers: only a site with AUTH_MODE entra knows its readers' groups")
    policy = AddressPolicy.parse(settings.SOURCE_ALLOWED_HOSTS)
    try:
        match definition.source_type:
            case SourceType.HTTP | SourceType.INDEX | SourceType.PUBLIC_INBOX:
                check_http_url(definition.url, policy)
            case SourceType.RSYNC:
                rsync_address(definition.url, policy)
            case SourceType.IMAP:
                imap_address(definition.url, definition.settings.model_dump(exclude_defaults=True), policy)
            case SourceType.LOCAL:
                check_local_allowed(settings)
                local_path(definition.url)
            case SourceType.UPLOAD:
                pass
    except (SourceError, ForbiddenAddressError) as error:
        raise ValueError(f"url: {error}") from None


def check_login_given(source: Source, definition: SourceDefinition, given: Any) -> None:
    """Raise ValueError if a stored login would go to another server, port or user, or unencrypted.

    Such a change needs the login in the same request (`given`: its settings).
    """
    stored = {name for name in LOGIN_SETTINGS if source.settings.get(name)}
    defined = definition.settings.model_dump(exclude_defaults=True)

    def server(url: str, settings: Mapping[str, Any]) -> tuple[object, ...]:
        parts = urlsplit(url)
        port = parts.port or {"imap": 143, "imaps": 993}.get(parts.scheme)
        user = (parts.username, settings.get("username_setting"))
        return parts.scheme, parts.hostname, port, user, bool(settings.get("plaintext"))

    same_server = server(source.url, source.settings) == server(definition.url, defined)
    missing = stored - set(given if isinstance(given, dict) else ())
    if stored and missing and not same_server:
        raise ValueError(f"settings: name {' and '.join(LOGIN_SETTINGS)} again for the new server or user")


def next_fetch(source: Source, after: datetime) -> datetime | None:
    if not source.enabled or source.schedule is None:
        return None
    return parse_cron(source.schedule).next_after(after)


def definition_of(source: Source) -> dict[str, Any]:
    return source.model_dump(include=set(SourceDefinition.model_fields))


def source_of(definition: SourceDefinition, now: datetime) -> Source:
    given = {name: getattr(definition, name) for name in SourceDefinition.model_fields}
    given |= {
        "settings": definition.settings.model_dump(exclude_defaults=True),
        "roles": [SourceRole(**role.model_dump()) for role in definition.roles],
    }
    source = Source(id=definition.name, created_at=now, **given)
    return source.model_copy(update={"next_fetch_at": next_fetch(source, now)})


def updated_source(source: Source, definition: SourceDefinition, now: datetime) -> Source:
    """Return the source with the new definition. Drop the cursor if the address changed."""
    defined = source_of(definition, now)
    is_same = (source.url, source.source_type) == (defined.url, defined.source_type)
    changes = {name: getattr(defined, name) for name in (*SourceDefinition.model_fields, "next_fetch_at")}
    return source.model_copy(update={**changes, "cursor": source.cursor if is_same else {}})
