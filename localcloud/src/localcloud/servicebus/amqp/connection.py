"""Connections: protocol headers, SASL, framing, and the sessions of a peer.

Frames are buffered. The host calls `flush` to write them after the journal has stored what they acknowledge.
"""

import asyncio
import logging
from typing import Protocol, cast

from localcloud.servicebus.amqp import codec
from localcloud.servicebus.amqp import performatives as frames
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.decoding import DecodeError
from localcloud.servicebus.amqp.links import IncomingLink, Link, OutgoingLink
from localcloud.servicebus.amqp.session import Session
from localcloud.servicebus.auth import AccessKey
from localcloud.servicebus.errors import BrokerError, DecodeFailed, NotAllowed, QuotaExceeded

log = logging.getLogger(__name__)

AMQP_HEADER = b"AMQP\x00\x01\x00\x00"
SASL_HEADER = b"AMQP\x03\x01\x00\x00"
EMPTY_FRAME = b"\x00\x00\x00\x08\x02\x00\x00\x00"  # a heartbeat
MAX_FRAME = 65_536
MIN_MAX_FRAME = 512  # the smallest value that AMQP allows a peer to announce
CHANNEL_MAX = 255
# Limits of the memory that a peer can use in the server.
MAX_LINKS = 1024
MAX_PARTIAL_BYTES = 16 * 1024 * 1024
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
HANDSHAKE_SECONDS = 20.0
IDLE_SECONDS = 120.0  # announced as idle-time-out
MECHANISMS = ("MSSBCBS", "PLAIN", "ANONYMOUS", "EXTERNAL")


class FramingError(BrokerError, condition="amqp:connection:framing-error"):
    """The peer broke the AMQP framing."""


class Host(Protocol):
    """The broker's interface for a connection."""

    access_key: AccessKey

    def connection_opened(self, connection: "Connection") -> None: ...

    def connection_closed(self, connection: "Connection") -> None: ...

    def wake(self, connection: "Connection") -> None:
        """Flush this connection after the next commit of the journal."""

    def open_link(self, link: Link) -> None:
        """Attach an endpoint to the link. A BrokerError refuses the link."""


class Connection(asyncio.Protocol):
    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._input = b""
        self._expects_header = True
        self._is_open = False
        self._is_closing = False
        self._is_writable = True
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._sessions: dict[int, Session] = {}
        self.acknowledging: set[Session] = set()
        self.peer_max_frame = MAX_FRAME
        self.tokens: dict[str, float] = {}  # from $cbs: expiry by audience
        self.is_trusted = False  # SASL PLAIN with the namespace's key: no tokens needed
        self.pending_delays = 0  # injected faults: output waits until all delays end
        self.discard_output = False  # an injected fault: acknowledgements are lost with the connection
        self._heartbeat_seconds = 0.0
        self._last_read = self._last_write = self._loop.time()

    # transport callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's, so this is a cast without a check.
        self._transport = cast("asyncio.Transport", transport)
        self._host.connection_opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        self._is_closing = True
        for session in self._sessions.values():
            session.end()
        self._sessions.clear()
        self._host.connection_closed(self)

    def pause_writing(self) -> None:
        self._is_writable = False
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_writable = True
        if self._transport is not None:
            self._transport.resume_reading()
        self._resume_deliveries()
        self._host.wake(self)

    def _resume_deliveries(self) -> None:
        """Deliver to receivers that were skipped while the output was full."""
        for session in self._sessions.values():
            for link in session.links.values():
                if (
                    isinstance(link, OutgoingLink)
                    and (link.credit > 0 or link.drain)
                    and link.endpoint is not None
                ):
                    link.endpoint.credited(link)

    def data_received(self, data: bytes) -> None:
        self._last_read = self._loop.time()
        self._input = self._input + data if self._input else data
        self._process()

    # input

    def _process(self) -> None:
        """Handle frames until the output buffer is full. `flush` continues with the rest."""
        if not self._is_closing:
            try:
                if self._expects_header:
                    self._read_header()
                if not self._expects_header:
                    self._read_frames()
            except DecodeError as error:
                self._fail(DecodeFailed(f"The frame is malformed: {error}."))
            except BrokerError as error:
                self._fail(error)
            except Exception:
                log.exception("a connection failed")
                self._fail(BrokerError())
        if self._output or self.acknowledging or self._is_closing:
            self._host.wake(self)

    def _read_header(self) -> None:
        if len(self._input) < len(AMQP_HEADER):
            if not AMQP_HEADER.startswith(self._input[:4]):
                self._reject_protocol()
            return
        header, self._input = self._input[:8], self._input[8:]
        if header == SASL_HEADER and not self._sessions and not self._is_open:
            self.send(SASL_HEADER)
            offered = codec.array(0xB3, (len(name).to_bytes(4, "big") + name.encode() for name in MECHANISMS))
            self.send(
                frames.encode_frame(
                    0, frames.encode_performative(frames.SASL_MECHANISMS, offered), frames.SASL_FRAME
                )
            )
        elif header == AMQP_HEADER:
            self.send(AMQP_HEADER)
        else:
            self._reject_protocol()
            return
        self._expects_header = False

    def _reject_protocol(self) -> None:
        """Answer an unknown protocol with the supported header and close (AMQP 1.0, 2.2)."""
        self.send(AMQP_HEADER)
        self._input = b""
        self._is_closing = True

    def _read_frames(self) -> None:
        data, position, end = self._input, 0, len(self._input)
        try:
            while end - position >= 8 and not self._is_closing and not self._expects_header:  # noqa: PLR2004
                size, offset, kind, channel = frames.FRAME_HEADER.unpack_from(data, position)
                if size > MAX_FRAME or size < 8 or not 2 <= offset <= size // 4:  # noqa: PLR2004
                    raise FramingError(f"A frame has 8 to {MAX_FRAME} bytes, not {size}.")
                if end - position < size or self._output_bytes > MAX_OUTPUT_BYTES:
                    break
                frame = data[position : position + size]
                position += size
                self._on_frame(frame, offset * 4, kind, channel)
        finally:
            self._input = data[position:]
        if self._expects_header and self._input:
            self._read_header()

    def _on_frame(self, frame: bytes, start: int, kind: int, channel: int) -> None:
        if kind == frames.AMQP_FRAME:
            if start < len(frame):  # otherwise a heartbeat
                performative, end = frames.parse_plain_transfer(frame, start) or frames.parse_performative(
                    frame, start
                )
                if type(performative) is frames.Transfer:
                    self._session(channel).on_transfer(performative, frame[end:])
                else:
                    self._on_performative(performative, channel)
        elif kind == frames.SASL_FRAME:
            self._on_sasl(frame, start)
        else:
            raise FramingError(f"There is no frame type {kind}.")

    def _on_sasl(self, frame: bytes, start: int) -> None:
        init, _ = frames.parse_performative(frame, start, sasl=True)
        if self._is_open or not isinstance(init, frames.SaslInit):
            raise FramingError("SASL has already ended.")
        if init.mechanism == "PLAIN":
            parts = (init.initial_response or b"").decode("utf-8", "replace").split("\0")
            self.is_trusted = len(parts) == 3 and self._host.access_key.check_plain(*parts[1:])  # noqa: PLR2004
        refused = init.mechanism not in MECHANISMS or (init.mechanism == "PLAIN" and not self.is_trusted)
        self.send(
            frames.encode_frame(
                0,
                frames.encode_performative(frames.SASL_OUTCOME, codec.ubyte(int(refused))),
                frames.SASL_FRAME,
            )
        )
        self._expects_header = True
        self._is_closing = refused

    def _on_performative(self, performative: frames.Performative, channel: int) -> None:
        match performative:
            case frames.Disposition() | frames.Flow() | frames.Detach() | frames.End():
                self._on_session_performative(channel, performative)
            case frames.Attach():
                self._session(channel).on_attach(performative)
            case frames.Begin():
                self._on_begin(channel, performative)
            case frames.Open():
                self._on_open(performative)
            case frames.Close():
                self._close(None)

    def _on_session_performative(
        self, channel: int, performative: frames.Disposition | frames.Flow | frames.Detach | frames.End
    ) -> None:
        """Handle a performative of a session.

        Ignore it if the session has ended: the Python client sends some late.
        """
        session = self._sessions.get(channel)
        if session is None:
            return
        if isinstance(performative, frames.Disposition):
            session.on_disposition(performative)
        elif isinstance(performative, frames.Flow):
            session.on_flow(performative)
        elif isinstance(performative, frames.Detach):
            session.on_detach(performative)
        else:
            session.acknowledge()
            session.end()
            del self._sessions[channel]
            self.acknowledging.discard(session)
            self.send(frames.encode_frame(channel, frames.encode_performative(frames.END)))

    def _session(self, channel: int) -> Session:
        session = self._sessions.get(channel)
        if session is None:
            raise NotAllowed(f"There is no session on channel {channel}.")
        return session

    def _on_begin(self, channel: int, begin: frames.Begin) -> None:
        if not self._is_open or channel > CHANNEL_MAX or channel in self._sessions:
            raise NotAllowed(f"A session cannot begin on channel {channel} now.")
        self._sessions[channel] = Session(self, channel, begin)

    def _on_open(self, peer: frames.Open) -> None:
        if self._is_open:
            raise NotAllowed("The connection is open already.")
        if peer.max_frame_size is not None:
            if peer.max_frame_size < MIN_MAX_FRAME:
                raise NotAllowed(f"The maximum frame size is at least {MIN_MAX_FRAME}.")
            self.peer_max_frame = min(peer.max_frame_size, MAX_FRAME)
        if peer.idle_time_out:
            self._heartbeat_seconds = max(peer.idle_time_out, 0) / 2000  # half of it, in seconds
        self._send_open()

    def _send_open(self) -> None:
        self._is_open = True
        self._frame(
            frames.OPEN,
            codec.string("localcloud"),
            NULL,
            codec.uint(MAX_FRAME),
            codec.ushort(CHANNEL_MAX),
            codec.uint(int(IDLE_SECONDS * 1000)),
        )

    def _frame(self, descriptor: int, *fields: bytes) -> None:
        self.send(frames.encode_frame(0, frames.encode_performative(descriptor, *fields)))

    def _fail(self, error: BrokerError) -> None:
        """Close the connection with an error."""
        log.debug("closing a connection: %s", error.description)
        if self._expects_header and not self._is_open:
            self._reject_protocol()
            return
        if not self._is_open:
            self._send_open()
        self._close(error)

    def _close(self, error: BrokerError | None) -> None:
        for session in self._sessions.values():
            session.acknowledge()
        reason = frames.encode_error(error.condition, error.description) if error is not None else NULL
        self._frame(frames.CLOSE, reason)
        self._is_closing = True
        self._input = b""

    # methods for sessions

    def open_link(self, link: Link) -> None:
        if sum(len(session.links) for session in self._sessions.values()) >= MAX_LINKS:
            raise QuotaExceeded(f"A connection has at most {MAX_LINKS} links.")
        self._host.open_link(link)

    def check_partial(self) -> None:
        """Limit unfinished deliveries over all links, because a limit per link would not limit memory."""
        partial = (
            other.partial_bytes
            for session in self._sessions.values()
            for other in session.links.values()
            if isinstance(other, IncomingLink)
        )
        if sum(partial) > MAX_PARTIAL_BYTES:
            raise QuotaExceeded(f"Unfinished deliveries have more than {MAX_PARTIAL_BYTES} bytes.")

    def send(self, data: bytes) -> None:
        self._output.append(data)
        self._output_bytes += len(data)

    @property
    def can_write(self) -> bool:
        return self._is_writable and not self._is_closing and self._output_bytes <= MAX_OUTPUT_BYTES

    # methods for the host

    def flush(self) -> None:
        """Write the buffered frames, once the journal has stored what they acknowledge."""
        for session in self.acknowledging:
            session.acknowledge()
        self.acknowledging.clear()
        if self._transport is None:
            return
        # Injected faults: a lost acknowledgement closes the connection, and a delay holds back all output.
        if self.discard_output:
            self._transport.abort()
            return
        if self.pending_delays:
            return
        if self._output:
            self._write_out(self._transport)
        if self._is_closing:
            self._transport.close()
        elif self._input and self._is_writable:
            self._process()

    def _write_out(self, transport: asyncio.Transport) -> None:
        was_full = self._output_bytes > MAX_OUTPUT_BYTES
        data = b"".join(self._output)
        self._output.clear()
        self._output_bytes = 0
        self._last_write = self._loop.time()
        transport.write(data)  # can call pause_writing
        if was_full and self._is_writable:
            self._resume_deliveries()

    def abort(self) -> None:
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    def shut_down(self) -> None:
        """Close the connection with an error that makes clients reconnect."""
        if self._is_open and not self._is_closing:
            self._close(_ShutDownError())
        self._is_closing = True
        self.flush()

    def keep_alive(self) -> None:
        """Send heartbeats, and abort a peer that is silent for too long. Called every second."""
        now = self._loop.time()
        silent = now - self._last_read
        if silent > (2 * IDLE_SECONDS if self._is_open else HANDSHAKE_SECONDS):
            self.abort()
        elif self._heartbeat_seconds and now - self._last_write >= min(self._heartbeat_seconds, IDLE_SECONDS):
            self.send(EMPTY_FRAME)
            self._host.wake(self)


class _ShutDownError(BrokerError, condition="amqp:connection:forced"):
    """The local Service Bus is shutting down."""
