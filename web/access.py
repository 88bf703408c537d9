"""Who is an operator, and whether a form was really sent from the operator's page.

The functions are anonymous to the Functions host, because a browser cannot send a function key with a link or
a form; so the app checks by itself. An operator is, in this order:

- a client that sends OPERATOR_KEY in the header x-operator-key (a program: no other site can set a header)
- an account with the role `operator`, where Easy Auth is on: the platform then writes x-ms-client-principal.
  An account with the role `corrector` may correct what is said of threads, and nothing else; `inspector` may
  look at the operator's page and at dead letters, and `requeuer` may send those again as well
- a browser with a session in a signed cookie, after the key was entered on the operator's page
- anybody at a development host on this machine, where everything else is open, too

A form needs a token that is bound to the cookie, and must come from this site (CSRF protection).
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

import azure.functions as func

from shared.settings.app import Settings
from shared.settings.outgoing import LOOPBACK
from web.problems import Problem

COOKIE = "operator"
ROLE = "operator"
ONLY_OPERATORS = frozenset({ROLE})
CORRECTORS = frozenset({ROLE, "corrector"})
# What may be done with dead letters, and by which roles. What cannot be undone by a click is the operator's.
MAY = {
    "inspect": frozenset({ROLE, "requeuer", "inspector"}),
    "requeue": frozenset({ROLE, "requeuer"}),
    "restore": frozenset({ROLE, "requeuer"}),
    "purge": ONLY_OPERATORS,
}
HEADER, OF_KEY = "x-operator-key", "the operator's key"
SESSION_SECONDS = 8 * 3600
PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-original-host", "x-real-ip")
ROLE_CLAIMS = frozenset({"roles", "role", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role"})
KEY, FORM = "key", "form"
_PROCESS_SECRET = secrets.token_bytes(32)


@dataclass(frozen=True)
class Visitor:
    name: str
    cookie: str | None = None  # to be set, if the browser has none of ours
    token: str | None = None  # for forms; None for a program, which needs none
    leaves: bool = False  # whether there is a session to end


def visitor(
    req: func.HttpRequest, settings: Settings, roles: frozenset[str] = ONLY_OPERATORS
) -> Visitor | None:
    """The operator who sent the request, or an account with one of the roles; None for a reader."""
    if _key_fits(req.headers.get(HEADER), settings):
        return Visitor(OF_KEY)
    cookie = _cookie(req)
    name = _principal(req.headers, roles)
    if name is None and _session(cookie, KEY, settings):
        return Visitor(OF_KEY, token=_token(cookie, OF_KEY, settings), leaves=True)
    if name is None and _development(req, settings):
        name = "developer"
    if name is None:
        return None
    made = None
    if not _session(cookie, FORM, settings):
        cookie = made = _signed(FORM, settings)
    return Visitor(name, cookie=made, token=_token(cookie, name, settings))


def permissions(req: func.HttpRequest, settings: Settings) -> dict[str, bool]:
    """What this visitor may do with dead letters, so that a page shows no button in vain."""
    return {action: visitor(req, settings, roles) is not None for action, roles in MAY.items()}


def is_operator(req: func.HttpRequest, settings: Settings) -> bool:
    """For answers that show an operator more than a reader. The page's cookie is not sent outside of it."""
    return visitor(req, settings) is not None


def people_shown(req: func.HttpRequest, settings: Settings) -> bool:
    """Whether there are pages about people: they gather what a person said, so a site chooses them."""
    return settings.PEOPLE_PAGES or is_operator(req, settings)


def check_people_shown(req: func.HttpRequest, settings: Settings) -> None:
    if not people_shown(req, settings):
        raise Problem(404, "Pages about people are turned off.")


def enter(given: str, settings: Settings) -> str | None:
    return _signed(KEY, settings) if _key_fits(given, settings) else None


def allowed_form(req: func.HttpRequest, who: Visitor, given: str) -> bool:
    """Whether the form was sent by this visitor, from a page of this site."""
    if who.token is None:
        return True
    return from_this_site(req.headers) and hmac.compare_digest(given.encode(), who.token.encode())


def cookie_header(req: func.HttpRequest, value: str, *, seconds: int = SESSION_SECONDS) -> dict[str, str]:
    """The header that sets the cookie; `seconds=0` deletes it."""
    secure = "; Secure" if _in_azure() or req.url.startswith("https:") else ""
    kept = f"Path=/operator; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    return {"Set-Cookie": f"{COOKIE}={value}; {kept}"}


# keys and cookies


def _key_fits(given: str | None, settings: Settings) -> bool:
    wanted = settings.OPERATOR_KEY
    if not given or wanted is None:
        return False
    digests = [hashlib.sha256(key.encode()).digest() for key in (given, wanted.get_secret_value())]
    return hmac.compare_digest(*digests)


def _secret(settings: Settings) -> bytes:
    """The signing secret, the same on every instance of the app if the settings give one."""
    if settings.OPERATOR_KEY is not None:
        return settings.OPERATOR_KEY.get_secret_value().encode()
    return os.environ.get("WEBSITE_AUTH_ENCRYPTION_KEY", "").encode() or _PROCESS_SECRET


def _mac(settings: Settings, *parts: str) -> str:
    message = json.dumps(["operator's page", *parts]).encode()
    return hmac.new(_secret(settings), message, hashlib.sha256).hexdigest()


def _signed(kind: str, settings: Settings) -> str:
    text = f"{kind}.{int(time.time()) + SESSION_SECONDS}.{secrets.token_hex(16)}"
    return f"{text}.{_mac(settings, 'cookie', text)}"


def _session(cookie: str, kind: str, settings: Settings) -> bool:
    text, _, mac = cookie.rpartition(".")
    given, _, rest = text.partition(".")
    until = rest.partition(".")[0]
    return (
        hmac.compare_digest(mac.encode(), _mac(settings, "cookie", text).encode())
        and given == kind
        and until.isdecimal()
        and int(until) > time.time()
    )


def _token(cookie: str, name: str, settings: Settings) -> str:
    return _mac(settings, "form", cookie, name)


def _cookie(req: func.HttpRequest) -> str:
    try:
        found = SimpleCookie(req.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None and found.value.isascii() else ""


# where the app runs


def _in_azure() -> bool:
    return bool(os.environ.get("WEBSITE_INSTANCE_ID") or os.environ.get("WEBSITE_SITE_NAME"))


def _development(req: func.HttpRequest, settings: Settings) -> bool:
    """A development host on this machine without a key. The Host header must be local: DNS rebinding fails.

    A request that a proxy or a tunnel passed on can come from anywhere, and often has the name localhost.
    """
    local = _host_of(f"//{req.headers.get('host', '')}")[0] in LOOPBACK
    local = local and not any(name in req.headers for name in PROXY_HEADERS)
    chosen = os.environ.get("AZURE_FUNCTIONS_ENVIRONMENT") == "Development"
    return chosen and local and not _in_azure() and settings.OPERATOR_KEY is None


def _principal(headers: Mapping[str, str], roles: frozenset[str]) -> str | None:
    """The name of a signed-in user with one of the roles.

    The header is trusted only where the platform overwrites it.
    """
    if os.environ.get("WEBSITE_AUTH_ENABLED", "").lower() != "true" or not _in_azure():
        return None
    try:
        principal = json.loads(base64.b64decode(headers.get("x-ms-client-principal", ""), validate=True))
        claims = [(str(claim["typ"]), str(claim["val"])) for claim in principal["claims"]]
    except (ValueError, KeyError, TypeError):
        return None
    kinds = ROLE_CLAIMS | {str(principal.get("role_typ"))}
    if not any(kind in kinds and value in roles for kind, value in claims):
        return None
    named = next((value for kind, value in claims if kind == "name"), None)
    return str(headers.get("x-ms-client-principal-name") or named or "signed in")[:200]


def from_this_site(headers: Mapping[str, str]) -> bool:
    """Browsers set these headers themselves: a page of another site cannot forge them."""
    fetched = headers.get("sec-fetch-site")
    if fetched is not None and fetched != "same-origin":
        return False
    origin = headers.get("origin")
    if origin is None:
        return fetched == "same-origin"
    return _host_of(origin)[1].lower() == headers.get("host", "").lower() != ""


def _host_of(address: str) -> tuple[str | None, str]:
    """The host's name, and the same with its port; None and empty if the address is malformed."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None, ""
    return parts.hostname, parts.netloc
