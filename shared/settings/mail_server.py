"""The mail server of the digests: the setting SMTP_URL, one address for host, port, security and login."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

_PORTS = {"smtp": 587, "smtps": 465}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class InvalidMailServerError(ValueError):
    """The setting is no address of a mail server. The message repeats nothing of it."""


@dataclass(frozen=True)
class MailServer:
    """`smtp` upgrades the connection by STARTTLS, except to this machine. `smtps` is TLS from the start."""

    host: str
    port: int
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def starttls(self) -> bool:
        return not self.tls and self.host not in _LOOPBACK


def parse_mail_server(url: str) -> MailServer:
    """From `smtp://user:password@host:port`, where user and password are percent-encoded."""
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
    return MailServer(
        parts.hostname,
        port or _PORTS[parts.scheme],
        tls=parts.scheme == "smtps",
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )
