"""The host's HTTP application: functions, the admin API, and the page at /."""

import asyncio
import functools
import re
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from email.utils import formatdate

from localcloud.functions.admin import AdminApi
from localcloud.functions.context import Trace
from localcloud.functions.definitions import Function, HttpTrigger
from localcloud.functions.http_values import decode_request, encode_response, parse_query
from localcloud.functions.invocation import NO_TRACE, Call, Invoker, Outcome
from localcloud.functions.keys import AccessKeys
from localcloud.functions.mcp import PATH, McpEndpoint
from localcloud.functions.routes import Match, Router
from localcloud.httpd import Limits, Request, Response

LIMITS = Limits(body_bytes=100 * 1024 * 1024)  # as in the real host
REASON = "This function was programmatically called via the host APIs."
FROM_ELSEWHERE = (
    b"Without keys, this host accepts only requests to localhost, and none from pages of other sites.\n"
)
# Names without a dot do not exist on the internet, so an attacker's name cannot resolve to this host.
_OWN_HOST = re.compile(r"(?:[a-z0-9_-]{0,63}|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_OWN_ORIGIN = re.compile("https?://" + _OWN_HOST.pattern, re.IGNORECASE)


@dataclass
class HttpApp:
    """Routes requests. Without keys, all requests are allowed, as in `func start` without --enableAuth."""

    functions: dict[str, Function]
    router: Router
    invoker: Invoker
    keys: AccessKeys | None
    admin: AdminApi
    mcp: McpEndpoint | None = None

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        """Answer immediately, or with a future that ends with the function."""
        response = self._begin(request)
        return _dated(response) if isinstance(response, Response) else response

    def largest_body(self, method: str, path: str) -> int:
        """Return the most bytes that the body may have, before the body is read."""
        found = self.router.find(method, path)
        trigger = self.functions[found.function].trigger if found is not None else None
        declared = trigger.largest_body if isinstance(trigger, HttpTrigger) else None
        return declared if declared is not None else LIMITS.body_bytes

    def _begin(self, request: Request) -> Response | Awaitable[Response]:
        if self.keys is None and _is_from_elsewhere(request.headers):
            return Response(403, FROM_ELSEWHERE, [("content-type", "text/plain")])
        method, path = request.method, request.raw_path
        if path[:7].lower() == "/admin/":
            allowed = self.keys is None or self.keys.allow(_key(request), "admin")
            return self.admin.answer(method, path, request.body, allowed=allowed)
        if path == PATH and self.mcp is not None and self.mcp.is_there:
            level = "anonymous" if self.keys is None or self.mcp.info.is_anonymous else "admin"
            allowed = self.keys is None or self.keys.allow(_key(request), level)
            return self.mcp.answer(request) if allowed else Response(401)
        return self._answer_route(method, path, request)

    def _answer_route(self, method: str, path: str, request: Request) -> Response | Awaitable[Response]:
        found = self.router.find(method, path)
        if found is not None:
            return self._call(found, request)
        if path == "/" and method in {"GET", "HEAD"}:
            return Response(200, b"The Functions dev host is running.\n", [("content-type", "text/plain")])
        return Response(404)

    def _call(self, match: Match, request: Request) -> Response | Awaitable[Response]:
        function = self.functions[match.function]
        if self.keys is not None and not self.keys.allow(_key(request), _level(function), function.name):
            return Response(401)
        try:
            argument = decode_request(request, match.values)
        except ValueError as error:
            return Response(400, str(error).encode())
        call = Call(argument, REASON, _trace(request), encode=encode_response)
        done: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.invoker.start(function, call, functools.partial(_finish, done))
        return done


def _is_from_elsewhere(headers: dict[str, str]) -> bool:
    """Return whether the request comes from another site's page or uses a foreign host name."""
    host, origin = headers.get("host"), headers.get("origin")
    return (host is not None and not _OWN_HOST.fullmatch(host)) or (
        origin is not None and not _OWN_ORIGIN.fullmatch(origin)
    )


def _dated(response: Response) -> Response:
    response.headers = [_date(int(time.time())), *response.headers]
    return response


@functools.lru_cache(maxsize=1)
def _date(second: int) -> tuple[str, str]:
    return ("date", formatdate(second, usegmt=True))


def _finish(done: asyncio.Future[Response], outcome: Outcome) -> None:
    if not done.done():  # the peer may have closed
        done.set_result(_dated(outcome.value if outcome.error is None else Response(500)))


def _level(function: Function) -> str:
    assert isinstance(function.trigger, HttpTrigger)  # noqa: S101 - only these have routes
    return function.trigger.auth_level


def _trace(request: Request) -> Trace:
    parent = request.headers.get("traceparent")
    return NO_TRACE if parent is None else Trace(parent, request.headers.get("tracestate", ""))


def _key(request: Request) -> str | None:
    key = request.headers.get("x-functions-key")
    if key is not None or not request.query:
        return key
    try:
        return parse_query(request.query).get("code")
    except ValueError:
        return None
