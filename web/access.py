"""Authentication: the caller, the caller's roles, and the origin of forms.

The functions are anonymous to the Functions host, because a browser cannot send a function key with a link or
a form. The app authenticates callers itself, in this order:
- a client that sends OPERATOR_KEY in the header x-operator-key (a program: no other site can set a header):
  an operator
- an account, where Easy Auth is on: the platform then writes x-ms-client-principal with its roles and groups
- a browser with a session in a signed cookie, after the key was entered on the operator's page, or after
  sign-in at a development host with AUTH_MODE entra
- any browser at a development host on this machine without AUTH_MODE entra: an operator
- a reader of a public site

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
from contextvars import ContextVar
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlencode, urlsplit

import azure.functions as func

from shared.azure.access import OPERATOR, Caller
from shared.settings.app import Settings
from shared.settings.outgoing import LOOPBACK
from web.limits import LOCKS, client_address
from web.problems import Problem
from web.sessions import has_ended

COOKIE, ACCOUNT_COOKIE = "operator", "account"
ROLE, READER = OPERATOR, "reader"
ROLES = ("reader", "uploader", "corrector", "inspector", "requeuer", "operator")
OPEN: frozenset[str] = frozenset()  # any caller
READERS = frozenset(ROLES)  # every role may read the lists of its groups
ONLY_OPERATORS = frozenset({ROLE})
UPLOADERS = frozenset({ROLE, "uploader"})
CORRECTORS = frozenset({ROLE, "corrector"})
# The actions on dead letters and their roles. An action that no click can undo requires an operator.
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
GROUP_CLAIMS = frozenset({"groups", "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups"})
KEY, FORM, ACCOUNT = "key", "form", "account"
_PROCESS_SECRET = secrets.token_bytes(32)


_ended: ContextVar[str] = ContextVar("ended", default="")  # the ended session of this request


@dataclass(frozen=True)
class Identity:
    name: str
    roles: frozenset[str]
    groups: frozenset[str] = frozenset()
    session: str = ""  # the cookie with the session of this identity
    is_program: bool = False


@dataclass(frozen=True)
class Visitor:
    name: str
    cookie: str | None = None  # to be set if the browser has no cookie yet
    token: str | None = None  # for forms, None for a program
    leaves: bool = False  # whether there is a session to end


def identity(req: func.HttpRequest, settings: Settings) -> Identity | None:
    if _key_fits(req.headers.get(HEADER), settings):
        return Identity(OF_KEY, ONLY_OPERATORS, is_program=True)
    account = _principal(req.headers)
    if account is not None:
        return account
    cookie = cookie_of(req)
    if _session(cookie, KEY, settings):
        return Identity(OF_KEY, ONLY_OPERATORS, session=cookie)
    if not _development(req, settings):
        return None
    if settings.AUTH_MODE == "public":
        return Identity("developer", ONLY_OPERATORS)
    cookie = cookie_of(req, ACCOUNT_COOKIE)
    return _signed_in(cookie) if _session(cookie, ACCOUNT, settings) else None


async def caller_of(req: func.HttpRequest, settings: Settings, *, by_key: bool = False) -> Caller:
    """Return the caller. Each wrong key counts toward a lockout, during which no key is compared."""
    _ended.set("")
    if HEADER in req.headers:
        check_key(req.headers.get(HEADER, ""), req, settings)
    found = identity(req, settings)
    if found is not None and found.session and await has_ended(found.session):
        _ended.set(found.session)
        found = identity(req, settings)
    if found is None:
        named = "a function key" if by_key and settings.AUTH_MODE == "public" else ""
        return Caller(name=named, reads_all=bool(named), sees_addresses=settings.SHOW_ADDRESSES)
    return Caller.of_account(settings, found.name, found.roles, found.groups)


def check_admitted(caller: Caller, settings: Settings, roles: frozenset[str]) -> None:
    """Raise a problem if the caller has none of the roles. A public site admits all readers."""
    if caller.roles & roles or (settings.AUTH_MODE == "public" and (caller.reads_all or READER in roles)):
        return
    if caller.name or settings.AUTH_MODE == "public":
        raise Problem(403, "Your account has no role for this.")
    problem = Problem(401, "Sign in to read this site.")
    problem.headers["WWW-Authenticate"] = "Bearer"
    raise problem


def check_key(given: str, req: func.HttpRequest, settings: Settings) -> bool:
    """Return whether this is the operator's key. Wrong keys lock the client out for a time."""
    client = client_address(req.headers)
    LOCKS.check(client)
    if _key_fits(given, settings):
        LOCKS.passed(client)
        return True
    if settings.OPERATOR_KEY is not None:
        LOCKS.failed(client)
    return False


def visitor(
    req: func.HttpRequest, settings: Settings, roles: frozenset[str] = ONLY_OPERATORS
) -> Visitor | None:
    who = identity(req, settings)
    if who is None or not who.roles & roles:
        return None
    if who.is_program:
        return Visitor(who.name)
    cookie, made = cookie_of(req), None
    if who.session and who.session == cookie:
        return Visitor(who.name, token=_token(cookie, who.name, settings), leaves=True)
    if not _session(cookie, FORM, settings):
        cookie = made = _signed(FORM, settings)
    return Visitor(who.name, cookie=made, token=_token(cookie, who.name, settings))


def permissions(req: func.HttpRequest, settings: Settings) -> dict[str, bool]:
    """Return the permitted actions on dead letters, so that a page shows only usable buttons."""
    return {action: visitor(req, settings, roles) is not None for action, roles in MAY.items()}


def is_operator(req: func.HttpRequest, settings: Settings) -> bool:
    """Return whether to show an operator's view. The cookie is sent only to the operator pages."""
    return visitor(req, settings) is not None


def people_shown(req: func.HttpRequest, settings: Settings) -> bool:
    """Return whether pages about people are shown. A site must enable them."""
    return settings.PEOPLE_PAGES or is_operator(req, settings)


def check_people_shown(req: func.HttpRequest, settings: Settings) -> None:
    if not people_shown(req, settings):
        raise Problem(404, "Pages about people are turned off.")


def enter(given: str, settings: Settings) -> str | None:
    return _signed(KEY, settings) if _key_fits(given, settings) else None


def signed_account(name: str, roles: list[str], groups: list[str], settings: Settings) -> str:
    content = json.dumps({"name": name, "roles": roles, "groups": groups}).encode()
    return _signed(ACCOUNT, settings, base64.urlsafe_b64encode(content).decode().rstrip("="))


def _signed_in(cookie: str) -> Identity:
    account = json.loads(base64.urlsafe_b64decode(cookie.split(".")[3] + "=="))
    return Identity(
        account["name"], frozenset(account["roles"]) & READERS, frozenset(account["groups"]), cookie
    )


def allowed_form(req: func.HttpRequest, who: Visitor, given: str) -> bool:
    if who.token is None:
        return True
    return from_this_site(req.headers) and hmac.compare_digest(given.encode(), who.token.encode())


def cookie_header(
    req: func.HttpRequest, value: str, *, seconds: int = SESSION_SECONDS, name: str = COOKIE
) -> dict[str, str]:
    """Return the header that sets the cookie. `seconds=0` deletes the cookie."""
    secure = "; Secure" if is_secure(req) else ""
    path, same = ("/operator", "Strict") if name == COOKIE else ("/", "Lax")
    attributes = f"Path={path}; Max-Age={seconds}; HttpOnly; SameSite={same}{secure}"
    return {"Set-Cookie": f"{name}={value}; {attributes}"}


def _key_fits(given: str | None, settings: Settings) -> bool:
    wanted = settings.OPERATOR_KEY
    if not given or wanted is None:
        return False
    digests = [hashlib.sha256(key.encode()).digest() for key in (given, wanted.get_secret_value())]
    return hmac.compare_digest(*digests)


def _secret(settings: Settings) -> bytes:
    """Return the signing secret. If the settings contain one, it is the same on all instances."""
    if settings.OPERATOR_KEY is not None:
        return settings.OPERATOR_KEY.get_secret_value().encode()
    return os.environ.get("WEBSITE_AUTH_ENCRYPTION_KEY", "").encode() or _PROCESS_SECRET


def _mac(settings: Settings, *parts: str) -> str:
    message = json.dumps(["operator's page", *parts]).encode()
    return hmac.new(_secret(settings), message, hashlib.sha256).hexdigest()


def _signed(kind: str, settings: Settings, content: str = "") -> str:
    text = f"{kind}.{int(time.time()) + SESSION_SECONDS}.{secrets.token_hex(16)}.{content}"
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
        and cookie != _ended.get()
    )


def _token(cookie: str, name: str, settings: Settings) -> str:
    return _mac(settings, "form", cookie, name)


def cookie_of(req: func.HttpRequest, name: str = COOKIE) -> str:
    try:
        found = SimpleCookie(req.headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None and found.value.isascii() else ""


def is_secure(req: func.HttpRequest) -> bool:
    return _in_azure() or req.url.startswith("https:")


def client_of(req: func.HttpRequest, caller: Caller) -> str:
    """Return the name for rate limits: the account, or the address of the client."""
    return caller.name if caller.roles else client_address(req.headers)


def sign_in_address(req: func.HttpRequest, settings: Settings, back: str) -> str | None:
    """Return the sign-in page, or None if there is no sign-in."""
    if _development(req, settings):
        return f"/sign-in?{urlencode({'to': back})}"
    return f"/.auth/login/aad?{urlencode({'post_login_redirect_uri': back})}" if _in_azure() else None


def _in_azure() -> bool:
    return bool(os.environ.get("WEBSITE_INSTANCE_ID") or os.environ.get("WEBSITE_SITE_NAME"))


def _development(req: func.HttpRequest, settings: Settings) -> bool:
    """Return whether this is a development host without a key, called from this machine.

    A remote Host header means DNS rebinding. A proxy header means that the caller may be remote.
    """
    local = _host_of(f"//{req.headers.get('host', '')}")[0] in LOOPBACK
    local = local and not any(name in req.headers for name in PROXY_HEADERS)
    chosen = os.environ.get("AZURE_FUNCTIONS_ENVIRONMENT") == "Development"
    open_to_all = settings.OPERATOR_KEY is None or settings.AUTH_MODE != "public"
    return chosen and local and not _in_azure() and open_to_all


def _principal(headers: Mapping[str, str]) -> Identity | None:
    """Return the signed-in user. The header is trusted only where the platform overwrites it."""
    if os.environ.get("WEBSITE_AUTH_ENABLED", "").lower() != "true" or not _in_azure():
        return None
    try:
        principal = json.loads(base64.b64decode(headers.get("x-ms-client-principal", ""), validate=True))
        claims = [(str(claim["typ"]), str(claim["val"])) for claim in principal["claims"]]
    except (ValueError, KeyError, TypeError):
        return None
    kinds = ROLE_CLAIMS | {str(principal.get("role_typ"))}
    roles = frozenset(value for kind, value in claims if kind in kinds) & READERS
    groups = frozenset(value for kind, value in claims if kind in GROUP_CLAIMS)
    named = next((value for kind, value in claims if kind == "name"), None)
    name = str(headers.get("x-ms-client-principal-name") or named or "signed in")[:200]
    return Identity(name, roles, groups)


def from_this_site(headers: Mapping[str, str]) -> bool:
    """Return whether the request comes from this site, by headers that other pages cannot forge."""
    fetched = headers.get("sec-fetch-site")
    if fetched is not None and fetched != "same-origin":
        return False
    origin = headers.get("origin")
    if origin is None:
        return fetched == "same-origin"
    return _host_of(origin)[1].lower() == headers.get("host", "").lower() != ""


def _host_of(address: str) -> tuple[str | None, str]:
    """Return the host name, and the host with its port. Both are empty if the address is malformed."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None, ""
    return parts.hostname, parts.netloc
