"""Requests and responses of the REST API: helpers for all handlers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from localcloud.cosmos.container import Container
from localcloud.cosmos.documents import MAX_NESTING, Conditions, parse_document
from localcloud.cosmos.errors import bad_request, parse_json
from localcloud.cosmos.positions import ResumeFilter
from localcloud.cosmos.sessions import session_token
from localcloud.httpd import Request, Response

_JSON = ("Content-Type", "application/json")


@dataclass
class Call:
    """A request in progress."""

    request: Request
    parts: list[str]
    operation: str = ""
    run: Callable[["Call"], Response | Awaitable[Response]] | None = None
    container: Container | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    charge: float = 0.0
    session: tuple[int, int] | None = None  # the call's range, and the last write that it has seen

    def header(self, name: str) -> str | None:
        return self.request.headers.get(name)

    def is_set(self, name: str) -> bool:
        return (self.request.headers.get(name) or "").lower() == "true"

    def json(self) -> Any:
        return parse_json(self.request.body)


def session_headers(call: Call) -> list[tuple[str, str]]:
    """Return the headers that clients read session tokens from. Errors have them too."""
    if call.container is None or call.session is None:
        return []
    number, lsn = call.session
    return [
        *call.container.owner_headers,
        ("x-ms-documentdb-partitionkeyrangeid", str(number)),
        ("x-ms-session-token", session_token(number, lsn)),
        ("lsn", str(lsn)),
    ]


def answer(call: Call, status: int, body: bytes, *, charge: float) -> Response:
    call.charge = charge
    call.headers.append(("x-ms-request-charge", f"{charge:g}"))
    call.headers.append(_JSON)
    call.headers += session_headers(call)
    return Response(status, body, call.headers)


def is_query(call: Call) -> bool:
    return call.is_set("x-ms-documentdb-isquery") or "query+json" in (call.header("content-type") or "")


class QuerySpec(NamedTuple):
    text: str
    parameters: dict[str, Any]
    resume: ResumeFilter | None


def query_in(call: Call) -> QuerySpec:
    spec = call.json()
    text = spec.get("query") if isinstance(spec, dict) else None
    if not isinstance(text, str):
        raise bad_request("a query's body is an object with the query's text")
    parameters = spec.get("parameters") or []
    if not isinstance(parameters, list):
        raise bad_request("a query's parameters are a list of {'name', 'value'}")
    values: dict[str, Any] = {}
    for parameter in parameters:
        name = parameter.get("name") if isinstance(parameter, dict) else None
        if not isinstance(name, str) or not name.startswith("@"):
            raise bad_request(
                "a query's parameters are a list of {'name', 'value'}, with names that start with @"
            )
        values[name] = parameter.get("value")
    if call.request.body.count(b"[") + call.request.body.count(b"{") > MAX_NESTING:
        parse_document(call.request.body)
    resume = spec.get("resumeFilter")
    return QuerySpec(text, values, None if resume is None else ResumeFilter.parse(resume))


def small_number(text: str | None, default: int) -> int:
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:  # noqa: PLR2004 - fits every integer type
        raise bad_request(f"{text[:40]!r} is not a number in range")
    return int(text)


def page_size(call: Call) -> int | None:
    """Return the requested page size. None, like -1, leaves it to the service."""
    text = call.header("x-ms-max-item-count")
    return None if text in (None, "", "-1") else small_number(text, 0) or None


def feed_body(rid: str, name: str, texts: list[str]) -> bytes:
    return f'{{"_rid":"{rid}","{name}":[{",".join(texts)}],"_count":{len(texts)}}}'.encode()


def all_tokens(lsns: list[int]) -> str:
    return ",".join(session_token(number, lsn) for number, lsn in enumerate(lsns))


def conditions_in(call: Call) -> Conditions:
    return Conditions(call.header("if-match"), call.header("if-none-match"))


def http_date(text: str | None) -> int | None:
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        raise bad_request(f"If-Modified-Since is not a date: {text[:60]!r}") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
