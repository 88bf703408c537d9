"""A small HTTP/1.1 server for the local services: asyncio and httptools, with one handler.

A handler takes a Request and returns a Response, or an awaitable of one if it must wait. Requests of a
connection are answered in order. All input of a peer is limited: header bytes, body bytes, pipelined
requests, idle time and time for a request.

An ASGI server costs a task and three messages for each request. With uvicorn 0.54 (httptools, uvloop) under
the local Cosmos DB, creates ran at 0.69 and point reads at 0.59 of this server's rate
(`benchmarks/cosmos.py`, medians of four runs), at 1.5 and 1.7 times its CPU. ASGI also cannot reset a
connection (injected faults) or hold back all answers until a commit (`hold`, `release`).
"""

import asyncio
import functools
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

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]  # names in lower case, repeated headers joined with commas
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


@dataclass(slots=True)
class Response:
    status: int
    body: bytes = b""
    headers: Iterable[tuple[str, str]] = ()
    drop: bool = False  # break the connection instead of answering: an injected fault


Handler = Callable[[Request], Response | Awaitable[Response]]
LargestBody = Callable[[str, str], int]  # of a request with this method and path


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
_BODY_HEADERS = frozenset({"content-length", "transfer-encoding"})


def encode_response(response: Response, *, head: bool, close: bool) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in response.headers]
    if response.status not in _BODILESS:
        lines.append(f"Content-Length: {len(response.body)}")
    if close:
        lines.append("Connection: close")
    text = "\r\n".join(lines)
    # A value from a request must not be able to inject a header.
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        raise ValueError("a response header contains a line break")
    encoded = text.encode("latin-1", "replace") + b"\r\n\r\n"
    return encoded if head or response.status in _BODILESS else encoded + response.body


class _Refused(Exception):  # noqa: N818 - the peer exceeded a limit
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.response = Response(status, message.encode(), [("Content-Type", "text/plain")])


@dataclass(slots=True)
class _Incoming:
    """The request being read."""

    started: float
    largest: int  # bytes of body
    target: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    head_bytes: int = 0
    head_complete: bool = False
    body: list[bytes] = field(default_factory=list)
    body_bytes: int = 0


class _Connection(asyncio.Protocol):
    """A connection: parses requests, answers them in order, and stops reading while too many wait."""

    def __init__(self, server: "HttpServer") -> None:
        self._server = server
        self._limits = server.limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._incoming: _Incoming | None = None
        self._pending: deque[tuple[Request, bool]] = deque()
        self._waiting: asyncio.Future[Response] | None = None  # the response that pending requests wait for
        self._writable = True
        self._reading = True
        self._last_active = self._loop.time()

    # transport callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._server.connections.discard(self)
        self._transport = None
        if self._waiting is not None:
            self._waiting.cancel()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._answer()

    def data_received(self, data: bytes) -> None:
        self._last_active = self._loop.time()
        try:
            self._parser.feed_data(data)
            if self._incoming is not None and not self._incoming.head_complete:
                self._count_head(self._incoming, len(data))  # an unfinished header reaches no callback
        except httptools.HttpParserUpgrade:
            self._refuse(_Refused(400, "this server does not upgrade connections"))
        except _Refused as refused:
            self._refuse(refused)
        except httptools.HttpParserCallbackError as error:
            self._refuse(error.__context__ if isinstance(error.__context__, _Refused) else _MALFORMED)
        except httptools.HttpParserError:
            self._refuse(_MALFORMED)
        else:
            self._answer()

    # parser callbacks

    def on_message_begin(self) -> None:
        self._incoming = _Incoming(self._loop.time(), self._limits.body_bytes)

    def on_url(self, url: bytes) -> None:
        incoming = self._current()
        incoming.target += url
        self._count_head(incoming, len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        incoming = self._current()
        self._count_head(incoming, len(name) + len(value) + 4)
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = incoming.headers.get(key)
        incoming.headers[key] = text if known is None else f"{known},{text}"

    def on_headers_complete(self) -> None:
        incoming = self._current()
        incoming.head_complete = True
        if self._server.largest_body is not None and not _BODY_HEADERS.isdisjoint(incoming.headers):
            path = incoming.target.decode("latin-1").partition("?")[0]
            incoming.largest = self._server.largest_body(self._parser.get_method().decode("ascii"), path)
        length = incoming.headers.get("content-length", "0")
        self._check_body(int(length) if length.isdigit() else 0)
        if incoming.headers.get("expect", "").lower() == "100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        incoming = self._current()
        incoming.body_bytes += len(body)
        self._check_body(incoming.body_bytes)
        incoming.body.append(body)

    def on_message_complete(self) -> None:
        incoming = self._current()
        request = Request(
            self._parser.get_method().decode("ascii"),
            incoming.target.decode("latin-1"),
            incoming.headers,
            b"".join(incoming.body),
        )
        self._incoming = None
        self._pending.append((request, self._parser.should_keep_alive()))
        if len(self._pending) >= self._limits.pipelined and self._reading and self._transport is not None:
            self._reading = False
            self._transport.pause_reading()

    def _current(self) -> _Incoming:
        if self._incoming is None:
            raise _MALFORMED
        return self._incoming

    def _count_head(self, incoming: _Incoming, received: int) -> None:
        incoming.head_bytes += received
        if incoming.head_bytes > self._limits.header_bytes:
            raise _Refused(431, f"the request line and headers may have {self._limits.header_bytes} bytes")

    def _check_body(self, size: int) -> None:
        largest = self._current().largest
        if size > largest:
            raise _Refused(413, f"the body may have at most {largest} bytes")

    # responses

    def _answer(self) -> None:
        """Answer the pending requests in order, up to the first that must wait."""
        while self._pending and self._waiting is None and self._writable and self._transport is not None:
            request, keep_alive = self._pending.popleft()
            response = self._server.respond(request)
            if isinstance(response, Response):
                self._write(request, response, keep_alive=keep_alive)
            else:
                self._waiting = asyncio.ensure_future(response)
                self._waiting.add_done_callback(functools.partial(self._answered, request, keep_alive))
        if not self._reading and not self._pending and self._transport is not None:
            self._reading = True
            self._transport.resume_reading()

    def _answered(self, request: Request, keep_alive: bool, done: "asyncio.Future[Response]") -> None:  # noqa: FBT001 - a callback
        self._waiting = None
        if done.cancelled():  # the peer has closed
            return
        error = done.exception()
        if error is not None:
            log.error("%s %s failed", request.method, request.target, exc_info=error)
        response = _internal_error() if error is not None else done.result()
        self._write(request, response, keep_alive=keep_alive)
        self._answer()

    def _write(self, request: Request, response: Response, *, keep_alive: bool) -> None:
        data = None
        if not response.drop:
            data = encode_response(response, head=request.method == "HEAD", close=not keep_alive)
        self._send_in_turn(data, keep_alive=keep_alive)

    def _refuse(self, refused: _Refused) -> None:
        self._send_in_turn(encode_response(refused.response, head=False, close=True), keep_alive=False)

    def _send_in_turn(self, data: bytes | None, *, keep_alive: bool) -> None:
        if self._server.held is None:
            self.send(data, keep_alive=keep_alive)
        else:
            self._server.held.append((self, data, keep_alive))

    def send(self, data: bytes | None, *, keep_alive: bool) -> None:
        """Send a response, or break the connection if there is none."""
        if self._transport is None or self._transport.is_closing():
            return
        if data is None:
            _reset(self._transport)
            return
        self._transport.write(data)
        self._last_active = self._loop.time()
        if not keep_alive:
            self._pending.clear()
            self._transport.close()

    def is_overdue(self, now: float) -> bool:
        if self._waiting is not None or self._pending:
            return False
        if self._incoming is not None:
            return now - self._incoming.started > self._limits.request_seconds
        return now - self._last_active > self._limits.idle_seconds

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close_when_idle(self) -> None:
        if self._transport is None or self._waiting is not None or self._pending:
            return
        if self._transport.get_write_buffer_size():
            self._transport.close()
        else:
            # With TLS, close() waits for the peer's close_notify, which an idle client never sends.
            self._transport.abort()


def _reset(transport: asyncio.Transport) -> None:
    """Close the connection with a reset instead of an orderly shutdown."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


_MALFORMED = _Refused(400, "malformed HTTP request")
_TLS_HANDSHAKE = b"\x16"


def listen(host: str, port: int) -> socket.socket:
    """Listen on the port. Port 0 means any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=512)
    listener.setblocking(False)  # noqa: FBT003 - the socket module's signature
    return listener


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


class HttpServer:
    """Serves one handler on one address."""

    def __init__(
        self, handler: Handler, *, limits: Limits | None = None, largest_body: LargestBody | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.largest_body = largest_body
        self.connections: set[_Connection] = set()
        self.held: list[tuple[_Connection, bytes | None, bool]] | None = None
        self._handler = handler
        self._listener: socket.socket
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> int:
        """Listen and serve. Return the port, which the system chooses for port 0."""
        listener = listen(host, port)
        await self.serve(listener, tls=tls)
        return port_of(listener)

    async def serve(self, listener: socket.socket, *, tls: ssl.SSLContext | None = None) -> None:
        self._listener = listener
        self._keep(self._reap())
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), sock=listener, ssl=tls, backlog=512
        )

    async def start_mixed(self, host: str, port: int, *, tls: ssl.SSLContext) -> int:
        """Listen for HTTP and HTTPS on one port. The first byte identifies a TLS client."""
        self._listener = listen(host, port)
        self._keep(self._reap())
        self._keep(self._accept(tls))
        return port_of(self._listener)

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listener)
            except OSError:
                log.warning("a connection could not be accepted", exc_info=True)
                await asyncio.sleep(0.1)
                continue
            accepted.setblocking(False)  # noqa: FBT003 - the socket module's signature
            self._keep(self._admit(accepted, tls))

    async def _admit(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.limits.request_seconds):
                context = tls if await _peek(accepted) == _TLS_HANDSHAKE else None
                await loop.connect_accepted_socket(lambda: _Connection(self), accepted, ssl=context)
        except (OSError, TimeoutError) as error:
            log.debug("a peer left before its first request: %r", error)
            accepted.close()

    def stop_listening(self) -> None:
        """Stop accepting connections. Current requests continue."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        self._listener.close()

    async def stop(self, *, grace_seconds: float = 5.0) -> None:
        """Stop listening, let current requests end, then close the other connections."""
        self.stop_listening()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace_seconds
        while self.connections:
            for connection in list(self.connections):
                connection.close_when_idle() if loop.time() < deadline else connection.abort()
            await asyncio.sleep(0.02 if self.connections else 0)
        if self._server is not None:
            await self._server.wait_closed()

    def hold(self) -> None:
        """Hold back all responses until `release`, for a handler whose work is not yet durable."""
        if self.held is None:
            self.held = []

    def release(self, *, failed: bool = False) -> None:
        """Send the held responses, or an error for each if the work failed."""
        held, self.held = self.held or [], None
        error = encode_response(_internal_error(), head=False, close=True) if failed else b""
        for connection, data, keep_alive in held:
            if failed and data is not None:
                connection.send(error, keep_alive=False)
            else:
                connection.send(data, keep_alive=keep_alive)

    def respond(self, request: Request) -> Response | Awaitable[Response]:
        try:
            return self._handler(request)
        except Exception:
            log.exception("%s %s failed", request.method, request.target)
            return _internal_error()

    async def _reap(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self.limits.request_seconds / 4))
            for connection in list(self.connections):
                if connection.is_overdue(loop.time()):
                    connection.abort()


async def _peek(accepted: socket.socket) -> bytes:
    """Return a peer's first byte without consuming it."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(accepted.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(accepted.fileno())
    return accepted.recv(1, socket.MSG_PEEK)


def _internal_error() -> Response:
    return json_response(500, {"error": "the local service failed on this request: see its log"})
