"""The ASGI application: HTTP functions, the admin API, and the page at /."""

from collections.abc import Awaitable, Callable
from typing import Any

from localcloud.functions.admin import AdminApi
from localcloud.functions.context import Trace
from localcloud.functions.definitions import Function, HttpTrigger
from localcloud.functions.http_values import (
    WITHOUT_BODY,
    HttpReply,
    decode_request,
    encode_response,
    parse_query,
    request_headers,
)
from localcloud.functions.invocation import NO_TRACE, Call, Invoker
from localcloud.functions.keys import AccessKeys
from localcloud.functions.routes import Match, MethodNotAllowed, Router

__all__ = ["MAX_BODY_BYTES", "HttpApp"]

MAX_BODY_BYTES = 100 * 1024 * 1024  # as the real host
REASON = "This function was programmatically called via the host APIs."

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class _TooLarge(Exception):  # noqa: N818 - a refusal of the peer's, not an error of ours
    pass


class _Disconnected(Exception):  # noqa: N818 - likewise
    pass


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

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = request_headers(scope["headers"])
        try:
            body = await self._body(headers, receive)
        except _Disconnected:
            return
        except _TooLarge:
            message = f"the body may have at most {self._max_body_bytes} bytes"
            reply = HttpReply(413, [(b"connection", b"close")], message.encode())
        else:
            reply = await self._answer(scope, headers, body)
        await _send(send, reply)

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        length = headers.get("content-length")
        if length is None and "transfer-encoding" not in headers:
            return b""
        if length is not None and length.isdecimal() and int(length) > self._max_body_bytes:
            raise _TooLarge
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Disconnected
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self._max_body_bytes:
                raise _TooLarge
            chunks.append(chunk)
            if not message.get("more_body"):
                return b"".join(chunks)

    async def _answer(self, scope: dict[str, Any], headers: dict[str, str], body: bytes) -> HttpReply:
        method, path = scope["method"], scope["raw_path"].decode("latin-1")
        if path.lower().startswith("/admin/"):
            allowed = self._keys is None or self._keys.allow_admin(_key(scope, headers))
            return await self._admin.answer(method, path, body, allowed=allowed)
        found = self._router.find(method, path)
        if isinstance(found, Match):
            return await self._call(self._functions[found.function], found, scope, headers, body)
        if isinstance(found, MethodNotAllowed):
            return HttpReply(405, [(b"allow", ", ".join(sorted(found.allowed)).encode())])
        if path == "/" and method in {"GET", "HEAD"}:
            return HttpReply(200, [(b"content-type", b"text/plain")], b"The Functions dev host is running.\n")
        return HttpReply(404, [])

    async def _call(
        self, function: Function, match: Match, scope: dict[str, Any], headers: dict[str, str], body: bytes
    ) -> HttpReply:
        trigger = function.trigger
        assert isinstance(trigger, HttpTrigger)  # noqa: S101 - only these have routes
        if self._keys is not None and not self._keys.allow(
            _key(scope, headers), trigger.auth_level, function.name
        ):
            return HttpReply(401, [])
        try:
            request = decode_request(scope, headers, body, match.values)
        except ValueError as error:
            return HttpReply(400, [], str(error).encode())
        parent = headers.get("traceparent")
        trace = Trace(parent, headers.get("tracestate", "")) if parent else NO_TRACE
        encode = encode_response if function.plan.http_out_parameter is None else _encode_output
        outcome = await self._invoker.invoke(function, Call(request, REASON, trace, encode=encode))
        reply: HttpReply = outcome.value if outcome.succeeded else HttpReply(500, [])
        return reply


def _encode_output(value: Any) -> HttpReply:
    """A func.Out may be left alone, which a return value may not."""
    return HttpReply(204, []) if value is None else encode_response(value)


def _key(scope: dict[str, Any], headers: dict[str, str]) -> str | None:
    key = headers.get("x-functions-key")
    if key is not None or not scope["query_string"]:
        return key
    return parse_query(scope["query_string"].decode("latin-1")).get("code")


async def _send(send: Send, reply: HttpReply) -> None:
    headers = reply.headers
    if reply.status not in WITHOUT_BODY:
        headers = [*headers, (b"content-length", str(len(reply.body)).encode())]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
