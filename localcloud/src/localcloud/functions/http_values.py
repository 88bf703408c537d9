"""Conversion of HTTP requests and responses with azure.functions' own converters."""

import functools
import re
from typing import Any, cast
from urllib.parse import parse_qsl

import azure.functions as func
from azure.functions.http import HttpRequest
from azure.functions.meta import Datum, get_binding_registry

from localcloud.httpd import Request, Response

WITHOUT_BODY = frozenset({204, 304})
_PLAIN_TEXT = ("content-type", "text/plain; charset=utf-8")
_SET_BY_SERVER = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive"})
LARGEST_STATUS = 599
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class _Request(HttpRequest):
    """A request that calls the converter when the function first reads an attribute."""

    def __init__(self, request: Request, route_values: dict[str, str], query: dict[str, str]) -> None:
        self._source = (request, route_values, query)  # instead of the base class's attributes

    def __getattr__(self, name: str) -> Any:
        """Convert the request at the first access to an attribute."""
        source = self.__dict__.get("_source")
        if source is not None:
            self.__dict__.update(vars(_convert(*source)))
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"'HttpRequest' object has no attribute {name!r}") from None


def decode_request(request: Request, route_values: dict[str, str]) -> HttpRequest:
    """Return the HttpRequest. Raise ValueError if its query cannot be parsed."""
    query = request.query
    return _Request(request, route_values, parse_query(query) if query else {})


def _convert(request: Request, route_values: dict[str, str], query: dict[str, str]) -> HttpRequest:
    host = request.headers.get("host", "localhost")
    value = {
        "method": Datum(request.method, "string"),
        "url": Datum(f"http://{host}{request.target}", "string"),
        "headers": _strings(request.headers),
        "body": Datum(request.body, "bytes"),
        "params": _strings(route_values),
        "query": _strings(query),
    }
    return cast("HttpRequest", _REQUESTS.decode(Datum(value, "http"), trigger_metadata={}))


def _strings(values: dict[str, str]) -> dict[str, Datum]:
    return {name: Datum(text, "string") for name, text in values.items()}


def parse_query(query: str) -> dict[str, str]:
    """Parse a query as the real host does: join repeated names with commas, drop empty values."""
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    for name, value in parse_qsl(query, max_num_fields=10_000):
        first = names.setdefault(name.lower(), name)
        found[first] = f"{found[first]},{value}" if first in found else value
    return found


def encode_response(value: Any) -> Response:
    """Encode the return value of a function. Raise TypeError if it cannot become a response."""
    if type(value) is func.HttpResponse and not value.headers:
        return _encode_plain(value)
    return encode_by_converter(value)


def _encode_plain(response: func.HttpResponse) -> Response:
    """Encode a response without headers like the converter, in a fraction of the time."""
    status = _checked_status(response.status_code)
    return Response(
        status, _body(status, response.get_body()), [_content_type(response.mimetype, response.charset)]
    )


@functools.lru_cache(maxsize=256)
def _content_type(mimetype: str, charset: str) -> tuple[str, str]:
    text = f"{mimetype}; charset={charset}" if mimetype.startswith("text/") else mimetype
    return ("content-type", _header_value(text))


def encode_by_converter(value: Any) -> Response:
    try:
        datum = _RESPONSES.encode(value, expected_type=None)
    except NotImplementedError:
        kind = type(value).__name__
        message = f'unable to encode outgoing TypedData: unsupported type "http" for Python type "{kind}"'
        raise TypeError(message) from None
    if datum.type == "string":
        return Response(200, datum.value.encode(), [_PLAIN_TEXT])
    return _reply(datum.value)


def _reply(value: dict[str, Any]) -> Response:
    status = _checked_status(int(value["status_code"].value))
    headers = [
        (_header_name(name), _header_value(datum.value))
        for name, datum in value["headers"].items()
        if name.lower() not in _SET_BY_SERVER
    ]
    for cookie in value["cookies"] or ():
        headers += [("set-cookie", _header_value(morsel.OutputString())) for morsel in cookie.values()]
    return Response(status, _body(status, value["body"].value), headers)


def _checked_status(status: int) -> int:
    if not 100 <= status <= LARGEST_STATUS:  # noqa: PLR2004 - the range of HTTP
        raise ValueError(f"{status} is not an HTTP status")
    return status


def _body(status: int, body: bytes) -> bytes:
    return b"" if status in WITHOUT_BODY else body


def _header_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of an HTTP header")
    return text.lower()


def _header_value(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError(f"{text!r} cannot be an HTTP header's value: it contains control characters")
    return text if text.isascii() else text.encode().decode("latin-1")  # UTF-8 on the wire


_REQUESTS = get_binding_registry().get("httpTrigger")
_RESPONSES = get_binding_registry().get("http")
