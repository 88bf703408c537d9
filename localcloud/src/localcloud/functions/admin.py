"""The part of the host's admin API that developers use: list, inspect and call functions, and host status."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

from localcloud.functions.definitions import Function, HttpTrigger
from localcloud.httpd import Response, json_response

NOT_REPRODUCED = ("scale-out", "dynamic concurrency", "Easy Auth", "worker recycling")
VERSION = "4.0-localcloud"

CallFunction = Callable[[Function, Any], Awaitable[None]]


class AdminApi:
    def __init__(
        self, functions: Mapping[str, Function], route_prefix: str, call: CallFunction, base_url: str
    ) -> None:
        self._functions = {name.lower(): function for name, function in functions.items()}
        self._route_prefix = route_prefix
        self._call = call
        self._base_url = base_url
        self._started = time.monotonic()
        self._calls: set[asyncio.Future[None]] = set()
        self.state = "Running"

    def answer(self, method: str, path: str, body: bytes, *, allowed: bool) -> Response:
        parts = unquote(path).strip("/").split("/")[1:]
        if parts == ["host", "ping"]:
            return _only(method, ("GET", "POST", "HEAD")) or Response(200)
        if not allowed:
            return Response(401)
        if parts == ["host", "status"]:
            return _only(method, ("GET",)) or json_response(200, self.status())
        if parts == ["functions"]:
            return _only(method, ("GET",)) or json_response(
                200, [self._describe(f) for f in self._functions.values()]
            )
        if len(parts) == 2 and parts[0] == "functions":  # noqa: PLR2004 - functions/{name}
            return self._function(method, parts[1], body)
        return Response(404)

    def status(self) -> dict[str, Any]:
        return {
            "id": "localcloud-dev-host",
            "state": self.state,
            "version": VERSION,
            "versionDetails": "localcloud Functions dev host: not the real host",
            "processUptime": round((time.monotonic() - self._started) * 1000),
            "isDevHost": True,
            "notReproduced": list(NOT_REPRODUCED),
        }

    def _function(self, method: str, name: str, body: bytes) -> Response:
        function = self._functions.get(name.lower())
        if refusal := _only(method, ("GET", "POST")):
            return refusal
        if function is None:
            return Response(404)
        if method == "GET":
            return json_response(200, self._describe(function))
        return self._invoke(function, body)

    def _invoke(self, function: Function, body: bytes) -> Response:
        try:
            wanted = json.loads(body)
        except ValueError:
            wanted = None
        if not isinstance(wanted, dict):
            return json_response(400, {"error": 'send a JSON object such as {"input": "..."}'})
        if self.state != "Running":
            return json_response(503, {"error": "the host is stopping"})
        call = asyncio.ensure_future(self._call(function, wanted.get("input")))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return Response(202)

    def _describe(self, function: Function) -> dict[str, Any]:
        href = f"{self._base_url}/admin/functions/{function.name}"
        description: dict[str, Any] = {
            "name": function.name,
            "href": href,
            "language": "python",
            "isDisabled": function.disabled,
            "isDirect": True,
            "config": {"name": function.name, "bindings": list(function.bindings)},
        }
        if isinstance(function.trigger, HttpTrigger):
            route = function.trigger.route.strip("/")
            path = f"{self._route_prefix}/{route}".strip("/")
            description["invoke_url_template"] = f"{self._base_url}/{path}"
        return description


def _only(method: str, methods: tuple[str, ...]) -> Response | None:
    return None if method in methods else Response(405, headers=[("allow", ", ".join(methods))])
