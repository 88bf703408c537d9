"""uvicorn under the dev host: on a socket of ours, without signals of its own, with bounded headers."""

import asyncio
import contextlib
import functools
import logging
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from localcloud.functions.http_app import send_reply
from localcloud.functions.http_values import HttpReply, encode_reply

__all__ = ["HttpServer"]

log = logging.getLogger(__name__)

MAX_HEADER_BYTES = 64 * 1024
REQUEST_HEAD_SECONDS = 60.0
_TELLS_OF_BODY = frozenset({b"content-length", b"transfer-encoding"})


class _BoundedProtocol(HttpToolsProtocol):
    """uvicorn bounds neither the size of a request's head nor the time it takes to arrive."""

    _head: object = None  # the scope of the request whose head has not arrived whole
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        scope: Any = self.scope  # none before the first request
        if scope is not None and "method" not in scope:  # set when the head is there
            self._wait_for_head(len(data))
        elif self._head is not None:
            self._leave_head()

    def _wait_for_head(self, received: int) -> None:
        if self._head is not self.scope:
            self._leave_head()
            self._head = self.scope
            self._head_timer = self.loop.call_later(REQUEST_HEAD_SECONDS, self.transport.abort)
        self._head_bytes += received
        if self._head_bytes > MAX_HEADER_BYTES:
            self._leave_head()
            self.send_400_response(f"The request line and headers may have {MAX_HEADER_BYTES} bytes.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave_head()
        super().connection_lost(exc)

    def _leave_head(self) -> None:
        self._head = None
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class _Protocol(_BoundedProtocol):
    """Answers a request without a body with neither the task nor the messages that ASGI takes for one.

    Functions answer whole and run elsewhere, so there is nothing that a task would wait for here.
    """

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        headers = cycle.scope["headers"]
        if any(name in _TELLS_OF_BODY for name, _ in headers):
            super()._start_asgi_task(cycle, app)
            return
        try:
            reply = app.begin(cycle.scope, b"", functools.partial(self._reply, cycle))
        except Exception:
            log.exception("a request failed in the host")
            reply = HttpReply(500, [])
        if reply is not None:  # not from here: each of a thousand pipelined requests would call the next
            self.loop.call_soon(self._reply, cycle, reply)

    def _reply(self, cycle: RequestResponseCycle, reply: HttpReply) -> None:
        if cycle.disconnected or cycle.response_started:
            return
        if self.flow.write_paused:  # the peer reads slowly: ASGI's way waits for it
            task = self.loop.create_task(send_reply(cycle.send, reply))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            return
        cycle.response_started = cycle.response_complete = True
        with_body = cycle.scope["method"] != "HEAD"
        own, keep_alive = cycle.default_headers, cycle.keep_alive
        self.transport.write(encode_reply(reply, own, keep_alive=keep_alive, with_body=with_body))
        if not keep_alive:
            self.transport.close()
        cycle.on_response()


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
            http=_Protocol,
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
