"""uvicorn under the dev host: on a socket of ours, without signals of its own, with bounded headers."""

import asyncio
import contextlib
import functools
import logging
import socket
from collections.abc import Coroutine, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from localcloud.functions.http_app import HttpApp
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
    """Answers without the messages that ASGI takes for it, and without a task where there is no body.

    Functions answer whole and run elsewhere, so there is nothing more that a task would wait for here.
    """

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if any(name in _TELLS_OF_BODY for name, _ in cycle.scope["headers"]):
            self._keep(self._read_body(cycle, app))
        else:
            self._begin(cycle, app, b"")

    async def _read_body(self, cycle: RequestResponseCycle, app: HttpApp) -> None:
        body = await app.read_body(cycle.scope["headers"], cycle.receive)
        if isinstance(body, HttpReply):
            cycle.keep_alive = False  # what is left of the request is not read
            self._reply(cycle, body)
        elif body is not None:
            self._begin(cycle, app, body)

    def _begin(self, cycle: RequestResponseCycle, app: HttpApp, body: bytes) -> None:
        scope: Any = cycle.scope
        try:
            reply = app.begin(scope, body, functools.partial(self._reply, cycle))
        except Exception:
            log.exception("a request failed in the host")
            reply = HttpReply(500, [])
        if reply is not None:  # not from here: each of a thousand pipelined requests would call the next
            self.loop.call_soon(self._reply, cycle, reply)

    def _reply(self, cycle: RequestResponseCycle, reply: HttpReply) -> None:
        if self.flow.write_paused:
            self._keep(self._reply_later(cycle, reply))
            return
        if self.transport.is_closing():
            return
        cycle.response_started = cycle.response_complete = True
        with_body = cycle.scope["method"] != "HEAD"
        own, keep_alive = cycle.default_headers, cycle.keep_alive
        self.transport.write(encode_reply(reply, own, keep_alive=keep_alive, with_body=with_body))
        if not keep_alive:
            self.transport.close()
        cycle.on_response()

    async def _reply_later(self, cycle: RequestResponseCycle, reply: HttpReply) -> None:
        """To a peer that reads slowly: when it has caught up, or is gone."""
        await self.flow.drain()
        self._reply(cycle, reply)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


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

    async def start(self, app: HttpApp) -> None:
        config = uvicorn.Config(
            app,  # type: ignore[arg-type] # no ASGI app: only the protocol below calls it
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
