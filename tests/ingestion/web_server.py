"""A web server for fetchers: ETags, ranges, redirects, and interrupted transfers."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Site:
    """The server's content, its faults, and its recorded requests."""

    content: bytes = b""
    etag: str | None = '"1"'
    last_modified: str | None = None
    break_after: list[int] = field(default_factory=list)
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    # By address. If there are any, all other addresses are missing.
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    wrong_range: bool = False
    endless: bool = False
    asked: list[web.Request] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "/list.mbox") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def asked_for(self, header: str) -> list[str | None]:
        return [request.headers.get(header) for request in self.asked]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        if self.files:
            return self._file(request)
        if self.statuses:
            status, headers = self.statuses.pop(0)
            return web.Response(status=status, headers=headers)
        if request.path in self.redirects:
            return web.Response(status=302, headers={"Location": self.redirects[request.path]})
        if self._is_known(request):
            return web.Response(status=304)
        return await self._send(request)

    def _file(self, request: web.Request) -> web.Response:
        content = self.files.get(request.path_qs)
        if content is None:
            return web.Response(status=404)
        etag = f'"{zlib.crc32(content)}"'
        known = request.headers.get("If-None-Match") == etag
        return web.Response(status=304) if known else web.Response(body=content, headers={"ETag": etag})

    def _is_known(self, request: web.Request) -> bool:
        etag, date = request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since")
        return bool((self.etag and etag == self.etag) or (self.last_modified and date == self.last_modified))

    def _headers(self) -> dict[str, str]:
        named = {"ETag": self.etag, "Last-Modified": self.last_modified}
        return {name: value for name, value in named.items() if value}

    async def _send(self, request: web.Request) -> web.StreamResponse:
        headers, start, status = self._headers(), 0, 200
        asked, condition = request.headers.get("Range"), request.headers.get("If-Range")
        if self.ranges and asked and condition in {self.etag, self.last_modified}:
            start, status = int(asked.removeprefix("bytes=").removesuffix("-")), 206
            shown = start + 1 if self.wrong_range else start
            headers["Content-Range"] = f"bytes {shown}-{len(self.content) - 1}/{len(self.content)}"
        response = web.StreamResponse(status=status, headers=headers)
        if not self.endless:
            response.content_length = len(self.content) - start
        await response.prepare(request)
        return await self._stream(request, response, start)

    async def _stream(
        self, request: web.Request, response: web.StreamResponse, start: int
    ) -> web.StreamResponse:
        if self.break_after:
            await response.write(self.content[start : start + self.break_after.pop(0)])
            await asyncio.sleep(0)
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write(self.content[start:])
        while self.endless:
            await response.write(bytes(65536))
        return response


@asynccontextmanager
async def a_site(**fields: object) -> AsyncIterator[Site]:
    site = Site(**fields)  # type: ignore[arg-type]
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()
