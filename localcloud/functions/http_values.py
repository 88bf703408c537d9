"""HTTP requests and responses to and from azure.functions' own converters."""

import functools
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import azure.functions as func
from azure.functions.meta import Datum, get_binding_registry

__all__ = ["WITHOUT_BODY", "HttpReply", "decode_request", "encode_response", "parse_query", "request_headers"]

WITHOUT_BODY = frozenset({204, 304})
_PLAIN_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_SET_BY_SERVER = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive"})
LARGEST_STATUS = 599


@dataclass(slots=True)
class HttpReply:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""


def decode_request(
    scope: dict[str, Any], headers: dict[str, str], body: bytes, route_values: dict[str, str]
) -> Any:
    """The HttpRequest, from an ASGI scope."""
    query = scope["query_string"].decode("latin-1")
    path = scope["raw_path"].decode("latin-1")
    host = headers.get("host", "localhost")
    value = {
        "method": Datum(scope["method"], "string"),
        "url": Datum(f"{scope['scheme']}://{host}{path}{'?' if query else ''}{query}", "string"),
        "headers": {name: Datum(text, "string") for name, text in headers.items()},
        "body": Datum(body, "bytes"),
        "params": {name: Datum(text, "string") for name, text in route_values.items()},
        "query": {name: Datum(text, "string") for name, text in parse_query(query).items()} if query else {},
    }
    return _REQUESTS.decode(Datum(value, "http"), trigger_metadata={})


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
        (name.lower().encode("latin-1"), _header_value(datum.value))
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


def _header_value(text: str) -> bytes:
    return text.encode("latin-1") if text.isascii() else text.encode()


_REQUESTS = get_binding_registry().get("httpTrigger")
_RESPONSES = get_binding_registry().get("http")
