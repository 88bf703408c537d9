"""What the host answers over HTTP: functions, the admin API, and the page at /."""

import functools
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from localcloud.functions.admin import AdminApi
from localcloud.functions.context import Trace
from localcloud.functions.definitions import Function, HttpTrigger
from localcloud.functions.http_values import (
    HttpReply,
    decode_request,
    encode_response,
    parse_query,
    request_headers,
)
from localcloud.functions.invocation import NO_TRACE, Call, Invoker, Outcome
from localcloud.functions.keys import AccessKeys
from localcloud.functions.routes import Match, Router

__all__ = ["MAX_BODY_BYTES", "HttpApp"]

MAX_BODY_BYTES = 100 * 1024 * 1024  # as the real host
REASON = "This function was programmatically called via the host APIs."
FROM_ELSEWHERE = b"Without keys this host answers to localhost alone, and to no page of another site.\n"
# A name without a dot is nobody's on the internet: a stranger's cannot lead here.
_OWN_HOST = re.compile(rb"(?:[a-z0-9_-]{0,63}|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_OWN_ORIGIN = re.compile(rb"https?://" + _OWN_HOST.pattern, re.IGNORECASE)

Receive = Callable[[], Awaitable[Any]]
Body = bytes | HttpReply | None
Reply = Callable[[HttpReply], None]


class HttpApp:
    def __init__(
        self,
        functions: dict[str, Function],
        router: Router,
        invoker: Invoker,
        keys: AccessKeys | None,
        admin: AdminApi,
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        """Without keys every request is let in, as `func start` does unless it is told --enableAuth."""
        self._functions = functions
        self._router = router
        self._invoker = invoker
        self._keys = keys
        self._admin = admin
        self._max_body_bytes = max_body_bytes

    def begin(self, scope: dict[str, Any], body: bytes, reply: Reply) -> HttpReply | None:
        """Answer a request that is here whole: at once, or by `reply` when its function has ended."""
        if self._keys is None and _is_from_elsewhere(scope["headers"]):
            return HttpReply(403, [(b"content-type", b"text/plain")], FROM_ELSEWHERE)
        method, path = scope["method"], scope["raw_path"].decode("latin-1")
        if path[:7].lower() == "/admin/":
            allowed = self._keys is None or self._keys.allow_admin(_key(scope))
            return self._admin.answer(method, path, body, allowed=allowed)
        found = self._router.find(method, path)
        if found is not None:
            return self._call(found, scope, body, reply)
        if path == "/" and method in {"GET", "HEAD"}:
            return HttpReply(200, [(b"content-type", b"text/plain")], b"The Functions dev host is running.\n")
        return HttpReply(404, [])

    def _call(self, match: Match, scope: dict[str, Any], body: bytes, reply: Reply) -> HttpReply | None:
        function = self._functions[match.function]
        if self._keys is not None and not self._keys.allow(_key(scope), _level(function), function.name):
            return HttpReply(401, [])
        try:
            request = decode_request(scope, body, match.values)
        except ValueError as error:
            return HttpReply(400, [], str(error).encode())
        encode = encode_response if function.plan.http_out_parameter is None else _encode_output
        call = Call(request, REASON, _trace(scope), encode=encode)
        self._invoker.start(function, call, functools.partial(_finish, reply))
        return None

    async def read_body(self, headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> Body:
        """The body; the refusal of one that is too large; None if the peer left before it had sent it."""
        too_large = HttpReply(413, [], f"the body may have at most {self._max_body_bytes} bytes".encode())
        length = dict(headers).get(b"content-length")
        if length is not None and length.isdigit() and int(length) > self._max_body_bytes:
            return too_large
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self._max_body_bytes:
                return too_large
            chunks.append(chunk)
            if not message.get("more_body"):
                return b"".join(chunks)


def _is_from_elsewhere(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a page of another site sent it, or its name leads here: a browser reaches this machine, too."""
    return any(
        (name == b"host" and not _OWN_HOST.fullmatch(value))
        or (name == b"origin" and not _OWN_ORIGIN.fullmatch(value))
        for name, value in headers
    )


def _encode_output(value: Any) -> HttpReply:
    """A func.Out may be left alone, which a return value may not."""
    return HttpReply(204, []) if value is None else encode_response(value)


def _finish(reply: Reply, outcome: Outcome) -> None:
    reply(outcome.value if outcome.error is None else HttpReply(500, []))


def _level(function: Function) -> str:
    assert isinstance(function.trigger, HttpTrigger)  # noqa: S101 - only these have routes
    return function.trigger.auth_level


def _trace(scope: dict[str, Any]) -> Trace:
    for name, _ in scope["headers"]:
        if name == b"traceparent":
            headers = request_headers(scope["headers"])
            return Trace(headers["traceparent"], headers.get("tracestate", ""))
    return NO_TRACE


def _key(scope: dict[str, Any]) -> str | None:
    key = request_headers(scope["headers"]).get("x-functions-key")
    if key is not None or not scope["query_string"]:
        return key
    try:
        return parse_query(scope["query_string"].decode("latin-1")).get("code")
    except ValueError:
        return None
