"""HTTP requests and responses to and from azure.functions' own converters."""

import functools
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import parse_qsl

import azure.functions as func
from azure.functions.http import HttpRequest
from azure.functions.meta import Datum, get_binding_registry

__all__ = ["WITHOUT_BODY", "HttpReply", "decode_request", "encode_response", "parse_query", "request_headers"]

WITHOUT_BODY = frozenset({204, 304})
_PLAIN_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_SET_BY_SERVER = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive"})
LARGEST_STATUS = 599
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(slots=True)
class HttpReply:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""


class _Request(HttpRequest):
    """A request as the converter makes it, made when the function first looks at it."""

    def __init__(
        self, scope: dict[str, Any], body: bytes, route_values: dict[str, str], query: dict[str, str]
    ) -> None:
        self._source = (scope, body, route_values, query)  # in place of what the base class would set

    def __getattr__(self, name: str) -> Any:
        """What is not there yet: read by the converter, and then at hand like any attribute."""
        source = self.__dict__.get("_source")
        if source is not None:
            self.__dict__.update(vars(_convert(*source)))
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"'HttpRequest' object has no attribute {name!r}") from None


def decode_request(scope: dict[str, Any], body: bytes, route_values: dict[str, str]) -> HttpRequest:
    """The HttpRequest, from an ASGI scope. ValueError if its query cannot be read."""
    query = scope["query_string"]
    return _Request(scope, body, route_values, parse_query(query.decode("latin-1")) if query else {})


def _convert(
    scope: dict[str, Any], body: bytes, route_values: dict[str, str], query: dict[str, str]
) -> HttpRequest:
    headers = request_headers(scope["headers"])
    target = scope["raw_path"].decode("latin-1")
    if scope["query_string"]:
        target += "?" + scope["query_string"].decode("latin-1")
    value = {
        "method": Datum(scope["method"], "string"),
        "url": Datum(f"{scope['scheme']}://{headers.get('host', 'localhost')}{target}", "string"),
        "headers": _strings(headers),
        "body": Datum(body, "bytes"),
        "params": _strings(route_values),
        "query": _strings(query),
    }
    return cast("HttpRequest", _REQUESTS.decode(Datum(value, "http"), trigger_metadata={}))


def _strings(values: dict[str, str]) -> dict[str, Datum]:
    return {name: Datum(text, "string") for name, text in values.items()}


def parse_query(query: str) -> dict[str, str]:
    """As the real host hands it over: a repeated name is joined with commas, an empty value is dropped."""
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    for name, value in parse_qsl(query, max_num_fields=10_000):
        first = names.setdefault(name.lower(), name)
        found[first] = f"{found[first]},{value}" if first in found else value
    return found


def request_headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def encode_reply(
    reply: HttpReply, servers_own: list[tuple[bytes, bytes]], *, keep_alive: bool, with_body: bool
) -> bytes:
    """The whole reply as HTTP/1.1 has it."""
    parts = [_STATUS_LINES[reply.status]]
    for name, value in (*servers_own, *reply.headers):
        parts += (name, b": ", value, b"\r\n")
    if reply.status not in WITHOUT_BODY:
        parts.append(b"content-length: %d\r\n" % len(reply.body))
    if not keep_alive:
        parts.append(b"connection: close\r\n")
    parts.append(b"\r\n")
    if with_body:
        parts.append(reply.body)
    return b"".join(parts)


def encode_response(value: Any) -> HttpReply:
    """The reply for what a function returned. TypeError if it is nothing that HTTP can carry."""
    if type(value) is func.HttpResponse and not value.headers:
        return _encode_plain(value)
    return encode_by_converter(value)


def _encode_plain(response: func.HttpResponse) -> HttpReply:
    """A response without headers of its own, as the converter has it, in a fraction of the time."""
    status = _checked_status(response.status_code)
    return HttpReply(
        status, [_content_type(response.mimetype, response.charset)], _body(status, response.get_body())
    )


@functools.lru_cache(maxsize=256)
def _content_type(mimetype: str, charset: str) -> tuple[bytes, bytes]:
    text = f"{mimetype}; charset={charset}" if mimetype.startswith("text/") else mimetype
    return (b"content-type", _header_value(text))


def encode_by_converter(value: Any) -> HttpReply:
    try:
        datum = _RESPONSES.encode(value, expected_type=None)
    except NotImplementedError:
        kind = type(value).__name__
        message = f'unable to encode outgoing TypedData: unsupported type "http" for Python type "{kind}"'
        raise TypeError(message) from None
    if datum.type == "string":
        return HttpReply(200, [_PLAIN_TEXT], datum.value.encode())
    return _reply(datum.value)


def _reply(value: dict[str, Any]) -> HttpReply:
    status = _checked_status(int(value["status_code"].value))
    headers = [
        (_header_name(name), _header_value(datum.value))
        for name, datum in value["headers"].items()
        if name.lower() not in _SET_BY_SERVER
    ]
    for cookie in value["cookies"] or ():
        headers += [(b"set-cookie", _header_value(morsel.OutputString())) for morsel in cookie.values()]
    return HttpReply(status, headers, _body(status, value["body"].value))


def _checked_status(status: int) -> int:
    if not 100 <= status <= LARGEST_STATUS:  # noqa: PLR2004 - HTTP's own range
        raise ValueError(f"{status} is not an HTTP status")
    return status


def _body(status: int, body: bytes) -> bytes:
    return b"" if status in WITHOUT_BODY else body


def _header_name(text: str) -> bytes:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of an HTTP header")
    return text.lower().encode()


def _header_value(text: str) -> bytes:
    if _CONTROL.search(text):
        raise ValueError(f"{text!r} cannot be an HTTP header's value: it holds control characters")
    return text.encode()


def _status_line(status: int) -> bytes:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


_STATUS_LINES = {status: _status_line(status) for status in range(100, LARGEST_STATUS + 1)}
_REQUESTS = get_binding_registry().get("httpTrigger")
_RESPONSES = get_binding_registry().get("http")
