"""The destinations of the app: mail addresses, the mail server (SMTP_URL) and webhooks (WEBHOOKS)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError, field_validator

LONGEST = 254
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"{_LOCAL}@({_LABEL}\.)+{_LABEL}")


def is_address(text: str) -> bool:
    """Return whether the text is a plain address, without forms that servers read in different ways."""
    return len(text) <= LONGEST and _ADDRESS.fullmatch(text) is not None


_PORTS = {"smtp": 587, "smtps": 465}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def connection_fields(text: str) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in text.split(";") if part)


class InvalidMailServerError(ValueError):
    """The setting is not the URL of a mail server. The message contains nothing of it."""


@dataclass(frozen=True)
class MailServer:
    """A mail server. `smtp` uses STARTTLS, except to localhost, and `smtps` uses TLS from the start."""

    host: str
    port: int
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def starttls(self) -> bool:
        return not self.tls and self.host not in LOOPBACK


def parse_mail_server(url: str) -> MailServer:
    """Parse `smtp://user:password@host:port` with percent-encoded user and password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidMailServerError("no valid address") from None
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InvalidMailServerError(
            "must be smtp:// or smtps:// with a host, and a user and password where needed"
        )
    if (parts.username is None) != (parts.password is None):
        raise InvalidMailServerError("must have both a user and a password, or neither")
    user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
    return MailServer(parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "smtps", user, password)


MAX_WEBHOOKS = 20
SHORTEST_SECRET = 16
ReportType = Literal["thread", "weekly", "consensus", "draft-focused"]  # The values of SummaryType.


class InvalidWebhooksError(ValueError):
    """The setting is not a list of webhooks."""


class Webhook(BaseModel):
    """A webhook with filters: report `types`, and `sources` (empty for all)."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    url: str
    secret: SecretStr
    types: tuple[ReportType, ...] = ("thread",)
    sources: tuple[str, ...] = ()

    @field_validator("url")
    @classmethod
    def _is_web_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"https", "http"} or not parts.hostname or parts.username is not None:
            raise ValueError("must start with https:// or http://, name a host and hold no password")
        return url

    @field_validator("secret")
    @classmethod
    def _is_long_enough(cls, secret: SecretStr) -> SecretStr:
        if len(secret.get_secret_value()) < SHORTEST_SECRET:
            raise ValueError(f"must have at least {SHORTEST_SECRET} characters")
        return secret

    def wants(self, summary_type: str, source: str | None) -> bool:
        return summary_type in self.types and (not self.sources or source in self.sources)


_LIST = TypeAdapter(Annotated[list[Webhook], Field(max_length=MAX_WEBHOOKS)])


@lru_cache(maxsize=4)
def parse_webhooks(text: str) -> Sequence[Webhook]:
    """Parse the setting. An error names the position and never the value."""
    try:
        hooks = _LIST.validate_python(json.loads(text) if text.strip() else [])
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidWebhooksError(f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    except (ValueError, RecursionError):
        raise InvalidWebhooksError("not JSON") from None
    names = [hook.name for hook in hooks]
    if len(set(names)) != len(names):
        raise InvalidWebhooksError("two webhooks have the same name")
    return tuple(hooks)
