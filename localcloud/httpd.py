"""A small HTTP/1.1 server for the local services: asyncio and httptools, one handler a server.

A handler takes a Request and returns a Response, or an awaitable of one where it has to wait. Requests of a
connection are answered in order. Everything a peer sends is bounded: header bytes, body bytes, pipelined
requests, and the time that a connection may stay idle or take for one request.
"""

import asyncio
import json
import logging
import socket
import ssl
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import unquote

import httptools

__all__ = ["Handler", "HttpServer", "Limits", "Request", "Response", "json_response"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]  # names in lower case; a repeated header is joined with a comma
    body: bytes
    peer: str = ""

    @property
    def raw_path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def path(self) -> str:
        return unquote(self.raw_path)

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(slots=True)
class Response:
    status: int
    body: bytes = b""
    headers: Iterable[tuple[str, str]] = ()
    drop: bool = False  # break the connection instead of answering: an injected fault


Handler = Callable[[Request], Response | Awaitable[Response]]


@dataclass(frozen=True)
class Limits:
    header_bytes: int = 64 * 1024
    body_bytes: int = 64 * 1024 * 1024
    pipelined: int = 64
    idle_seconds: float = 120.0
    request_seconds: float = 60.0


def json_response(status: int, value: Any, headers: Iterable[tuple[str, str]] = ()) -> Response:
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return Response(status, body, [("Content-Type", "application/json"), *headers])


_REASONS = {status.value: status.phrase for status in HTTPStatus}
_BODILESS = frozenset({204, 304})


def encode_response(response: Response, *, head: bool, close: bool) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in response.headers]
    if response.status not in _BODILESS:
        lines.append(f"Content-Length: {len(response.body)}")
    if close:
        lines.append("Connection: close")
    text = "\r\n".join(lines)
    # A value taken from a request must not be able to start a header of its own.
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        raise ValueError("a response header holds a line break")
    encoded = text.encode("latin-1", "replace") + b"\r\n\r\n"
    return encoded if head or response.status in _BODILESS else encoded + response.body


class _Refused(Exception):  # noqa: N818 - not an error of ours: the peer broke a limit
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.response = json_response(status, {"error": message})


@dataclass
class _Incoming:
    """The request being read."""

    started: float
    target: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    header_bytes: int = 0
    body: list[bytes] = field(default_factory=list)
    body_bytes: int = 0


class _Connection(asyncio.Protocol):
    """One peer: parses into `_pending`, answers in order, and stops reading while it is behind."""

    def __init__(self, server: "HttpServer") -> None:
        self._server = server
        self._limits = server.limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._incoming: _Incoming | None = None
        self._pending: deque[tuple[Request, bool]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._peer = ""
        self.last_active = self._loop.time()

    # transport callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peer = str(transport.get_extra_info("peername"))
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._server.connections.discard(self)
        self._transport = None
        self._writable.set()
        if self._worker is not None:
            self._worker.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self.last_active = self._loop.time()
        if self._incoming is not None and not self._incoming.body_bytes:
            self._count_header_bytes(len(data))
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(_Refused(400, "this server does not upgrade connections"))
        except httptools.HttpParserCallbackError as error:
            self._refuse(error.__context__ if isinstance(error.__context__, _Refused) else _MALFORMED)
        except httptools.HttpParserError:
            self._refuse(_MALFORMED)
        else:
            self._answer_pending()

    # parser callbacks

    def on_message_begin(self) -> None:
        self._incoming = _Incoming(self._loop.time())

    def on_url(self, url: bytes) -> None:
        incoming = self._current()
        incoming.target += url
        self._check_header_bytes(incoming, len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        incoming = self._current()
        self._check_header_bytes(incoming, len(name) + len(value) + 4)
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = incoming.headers.get(key)
        incoming.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        incoming = self._current()
        length = incoming.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._limits.body_bytes:
            raise _Refused(413, f"the body may have at most {self._limits.body_bytes} bytes")
        if incoming.headers.get("expect", "").lower() == "100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        incoming = self._current()
        incoming.body_bytes += len(body)
        if incoming.body_bytes > self._limits.body_bytes:
            raise _Refused(413, f"the body may have at most {self._limits.body_bytes} bytes")
        incoming.body.append(body)

    def on_message_complete(self) -> None:
        incoming = self._current()
        request = Request(
            self._parser.get_method().decode("ascii"),
            incoming.target.decode("latin-1"),
            incoming.headers,
            b"".join(incoming.body),
            self._peer,
        )
        self._incoming = None
        self._pending.append((request, self._parser.should_keep_alive()))
        if len(self._pending) >= self._limits.pipelined and self._transport is not None:
            self._transport.pause_reading()

    def _current(self) -> _Incoming:
        if self._incoming is None:
            raise _MALFORMED
        return self._incoming

    def _count_header_bytes(self, received: int) -> None:
        """A header that never ends reaches no callback, so what arrives for it is counted as well."""
        if self._incoming is not None and not self._incoming.headers:
            self._incoming.header_bytes += received

    def _check_header_bytes(self, incoming: _Incoming, received: int) -> None:
        incoming.header_bytes += received
        if incoming.header_bytes > self._limits.header_bytes:
            raise _Refused(431, f"the request line and headers may have {self._limits.header_bytes} bytes")

    # answering

    def _answer_pending(self) -> None:
        """Answer at once what needs no waiting; the first request that waits gets a task for the rest."""
        while self._pending and self._worker is None and self._writable.is_set():
            request, keep_alive = self._pending.popleft()
            response = self._server.respond(request)
            if isinstance(response, Response):
                self._write(request, response, keep_alive=keep_alive)
            else:
                self._worker = self._loop.create_task(
                    self._answer_waiting(request, response, keep_alive=keep_alive)
                )
        if self._pending and self._worker is None:
            self._worker = self._loop.create_task(self._answer_rest())

    async def _answer_waiting(
        self, request: Request, response: Awaitable[Response], *, keep_alive: bool
    ) -> None:
        self._write(request, await self._server.finish(response), keep_alive=keep_alive)
        await self._answer_rest()

    async def _answer_rest(self) -> None:
        while self._pending and self._transport is not None:
            await self._writable.wait()
            request, keep_alive = self._pending.popleft()
            response = self._server.respond(request)
            finished = response if isinstance(response, Response) else await self._server.finish(response)
            self._write(request, finished, keep_alive=keep_alive)
        self._worker = None
        if self._transport is not None:
            self._transport.resume_reading()

    def _write(self, request: Request, response: Response, *, keep_alive: bool) -> None:
        if self._transport is None:
            return
        data = None
        if not response.drop:
            data = encode_response(response, head=request.method == "HEAD", close=not keep_alive)
        self._send_in_turn(data, keep_alive=keep_alive)

    def _send_in_turn(self, data: bytes | None, *, keep_alive: bool) -> None:
        if self._server.held is None:
            self.send(data, keep_alive=keep_alive)
        else:
            self._server.held.append((self, data, keep_alive))

    def send(self, data: bytes | None, *, keep_alive: bool) -> None:
        """Send an answer, or break the connection where there is none."""
        if self._transport is None or self._transport.is_closing():
            return
        if data is None:
            _reset(self._transport)
            return
        self._transport.write(data)
        self.last_active = self._loop.time()
        if not keep_alive:
            self._pending.clear()
            self._transport.close()

    def _refuse(self, refused: _Refused) -> None:
        self._send_in_turn(encode_response(refused.response, head=False, close=True), keep_alive=False)

    def is_overdue(self, now: float) -> bool:
        if self._worker is not None:
            return False
        if self._incoming is not None:
            return now - self._incoming.started > self._limits.request_seconds
        return now - self.last_active > self._limits.idle_seconds

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close_when_idle(self) -> None:
        if self._transport is None or self._worker is not None or self._pending:
            return
        if self._transport.get_write_buffer_size():
            self._transport.close()
        else:
            # Over TLS, close() would wait for the peer's farewell, which an idle client never sends.
            self._transport.abort()


def _reset(transport: asyncio.Transport) -> None:
    """Close so that the peer sees a reset, not an orderly end."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


_MALFORMED = _Refused(400, "malformed HTTP request")


TLS_HANDSHAKE = b"\x16"


async def _peek(accepted: socket.socket) -> bytes:
    """The first byte that a peer sends, left where it is."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(accepted.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(accepted.fileno())
    return accepted.recv(1, socket.MSG_PEEK)


class HttpServer:
    """Serves one handler on one address."""

    def __init__(self, handler: Handler, *, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.connections: set[_Connection] = set()
        self.held: list[tuple[_Connection, bytes | None, bool]] | None = None
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._reaper: asyncio.Task[None] | None = None
        self._listener: socket.socket | None = None
        self._acceptor: asyncio.Task[None] | None = None
        self._welcoming: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> int:
        """Listen, and return the port (the one the system chose, for port 0)."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), host, port, ssl=tls, backlog=512)
        self._reaper = loop.create_task(self._reap())
        return int(self._server.sockets[0].getsockname()[1])

    async def start_mixed(self, host: str, port: int, *, tls: ssl.SSLContext) -> int:
        """Listen for HTTP and HTTPS on one port: a TLS client's first byte tells it."""
        loop = asyncio.get_running_loop()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=512)
        self._listener.setblocking(False)  # noqa: FBT003 - the socket module's signature
        self._acceptor = loop.create_task(self._accept(self._listener, tls))
        self._reaper = loop.create_task(self._reap())
        return int(self._listener.getsockname()[1])

    async def _accept(self, listener: socket.socket, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError:
                log.warning("a connection could not be accepted", exc_info=True)
                await asyncio.sleep(0.1)
                continue
            accepted.setblocking(False)  # noqa: FBT003 - the socket module's signature
            task = loop.create_task(self._welcome(accepted, tls))
            self._welcoming.add(task)
            task.add_done_callback(self._welcoming.discard)

    async def _welcome(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.limits.request_seconds):
                first = await _peek(accepted)
                context = tls if first == TLS_HANDSHAKE else None
                await loop.connect_accepted_socket(lambda: _Connection(self), accepted, ssl=context)
        except (OSError, TimeoutError) as error:
            log.debug("a peer left before its first request: %r", error)
            accepted.close()

    async def stop(self, *, grace_seconds: float = 5.0) -> None:
        """Stop listening, let requests under way end, then close what is left."""
        if self._reaper is None:
            return
        self._reaper.cancel()
        if self._server is not None:
            self._server.close()
        if self._acceptor is not None and self._listener is not None:
            for task in (self._acceptor, *self._welcoming):
                task.cancel()
            self._listener.close()
        for connection in list(self.connections):
            connection.close_when_idle()
        deadline = asyncio.get_running_loop().time() + grace_seconds
        while self.connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
            for connection in list(self.connections):
                connection.close_when_idle()
        for connection in list(self.connections):
            connection.abort()
        if self._server is not None:
            await self._server.wait_closed()

    def hold(self) -> None:
        """Keep all answers back until `release`: for a handler whose work is not yet safe."""
        if self.held is None:
            self.held = []

    def release(self, *, failed: bool = False) -> None:
        """Send what was kept back, or, where the work failed after all, an error in place of each."""
        held, self.held = self.held or [], None
        error = encode_response(_internal_error(), head=False, close=True) if failed else b""
        for connection, data, keep_alive in held:
            if failed and data is not None:
                connection.send(error, keep_alive=False)
            else:
                connection.send(data, keep_alive=keep_alive)

    def respond(self, request: Request) -> Response | Awaitable[Response]:
        try:
            response = self._handler(request)
        except Exception:
            log.exception("%s %s failed", request.method, request.target)
            return _internal_error()
        return response

    async def finish(self, response: Awaitable[Response]) -> Response:
        try:
            return await response
        except Exception:
            log.exception("a request failed")
            return _internal_error()

    async def _reap(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self.limits.request_seconds / 4))
            for connection in list(self.connections):
                if connection.is_overdue(loop.time()):
                    connection.abort()


def _internal_error() -> Response:
    return json_response(500, {"error": "the local service failed on this request: see its log"})
