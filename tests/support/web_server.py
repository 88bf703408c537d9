"""A web server inside the test's process. A handler gets each whole request and returns the answer."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from aiohttp import web

__all__ = ["Handler", "HttpServer", "Request", "Response", "json_response"]

LARGEST_BODY = 64 * 1024 * 1024


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def raw_path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def path(self) -> str:
        return unquote(self.raw_path)

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass
class Response:
    status: int
    body: bytes = b""
    headers: Iterable[tuple[str, str]] = ()
    drop: bool = False  # break the connection instead of answering


Handler = Callable[[Request], Response | Awaitable[Response]]


def json_response(status: int, value: Any, headers: Iterable[tuple[str, str]] = ()) -> Response:
    return Response(status, json.dumps(value).encode(), [("Content-Type", "application/json"), *headers])


class HttpServer:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.2)

    async def start(self, host: str, port: int) -> int:
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _answer(self, asked: web.BaseRequest) -> web.StreamResponse:
        asked._client_max_size = LARGEST_BODY
        headers = {name.lower(): value for name, value in asked.headers.items()}
        answer = self._handler(Request(asked.method, asked.raw_path, headers, await asked.read()))
        given = await answer if inspect.isawaitable(answer) else answer
        if given.drop:
            assert asked.transport is not None
            asked.transport.abort()
        return web.Response(status=given.status, body=given.body, headers=dict(given.headers))
