"""uvicorn under the dev host: on a socket of ours, without signals of its own, with bounded headers."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["HttpServer"]

MAX_HEADER_BYTES = 64 * 1024
REQUEST_HEAD_SECONDS = 60.0


class _BoundedProtocol(HttpToolsProtocol):
    """uvicorn bounds neither the size of a request's head nor the time it takes to arrive."""

    _in_head = False
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEADER_BYTES:
            self._leave_head()
            self.send_400_response(f"The request line and headers may have {MAX_HEADER_BYTES} bytes.")
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(REQUEST_HEAD_SECONDS, self.transport.abort)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._leave_head()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave_head()
        super().connection_lost(exc)

    def _leave_head(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the service's own handlers decide when to stop


class HttpServer:
    def __init__(self, host: str, port: int) -> None:
        """Takes the port at once, so that its number is known; serves from start() on."""
        self._socket = socket.create_server((host, port), backlog=512)
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    async def start(self, app: Any) -> None:
        config = uvicorn.Config(
            app,
            interface="asgi3",
            http=_BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started:
            if self._serving.done():
                await self._serving
            await asyncio.sleep(0.005)

    def stop_listening(self) -> None:
        """Take no new connections; requests under way go on."""
        for server in self._server.servers if self._server else ():
            server.close()

    async def stop(self, *, grace_seconds: float) -> None:
        if self._server is not None and self._serving is not None:
            self._server.config.timeout_graceful_shutdown = max(1, round(grace_seconds))
            self._server.should_exit = True
            await self._serving
        self._socket.close()
