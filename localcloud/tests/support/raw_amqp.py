"""A minimal AMQP client on a blocking socket, for frames that the SDKs would never send, and for speed."""

import base64
import hashlib
import hmac
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any, Self
from urllib.parse import quote_plus

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.decoding import Described
from localcloud.servicebus.amqp.performatives import (
    ACCEPTED,
    ATTACH,
    BEGIN,
    DISPOSITION,
    FLOW,
    OPEN,
    TRANSFER,
    encode_frame,
    encode_performative,
)
from localcloud.servicebus.auth import DEFAULT_KEY, DEFAULT_KEY_NAME

AMQP_HEADER = b"AMQP\x00\x01\x00\x00"
PLAIN_LOGIN = f"\0{DEFAULT_KEY_NAME}\0{DEFAULT_KEY}".encode()
SASL_HEADER = b"AMQP\x03\x01\x00\x00"
_HEAD = struct.Struct(">IBBH")


def sas_token(resource: str, *, key: str = DEFAULT_KEY, name: str = DEFAULT_KEY_NAME, expiry: int = 0) -> str:
    encoded = quote_plus(resource)
    expiry = expiry or int(time.time()) + 600
    digest = hmac.new(key.encode(), f"{encoded}\n{expiry}".encode(), hashlib.sha256).digest()
    signature = quote_plus(base64.b64encode(digest))
    return f"SharedAccessSignature sr={encoded}&sig={signature}&se={expiry}&skn={name}"


class RawClient:
    def __init__(self, port: int, *, timeout: float = 20.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self.transfers_seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    # frames

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send(self, descriptor: int, *fields: bytes, channel: int = 0, payload: bytes = b"") -> None:
        self.send_bytes(encode_frame(channel, encode_performative(descriptor, *fields) + payload))

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            data = self.socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._buffer += data

    def read_exactly(self, size: int) -> bytes:
        self._fill(size)
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def read_frame(self) -> bytes:
        """Return the body of the next frame."""
        self._fill(8)
        size, offset, _, _ = _HEAD.unpack_from(self._buffer)
        return self.read_exactly(size)[offset * 4 :]

    def performatives(self) -> Iterator[tuple[int, list[Any], bytes]]:
        """Yield descriptor, fields and payload of each frame, without heartbeats."""
        while True:
            body = self.read_frame()
            if body:
                value, end = decoding.decode(body)
                assert isinstance(value, Described)
                self.transfers_seen += value.descriptor == TRANSFER
                yield value.descriptor, value.value, body[end:]

    def expect(self, descriptor: int) -> tuple[list[Any], bytes]:
        """Return the next frame of this kind, and skip others."""
        for found, fields, payload in self.performatives():
            if found == descriptor:
                return fields, payload
        raise AssertionError("unreachable")

    # a session with the access rights of the namespace's key

    def login(
        self, response: bytes = PLAIN_LOGIN, *, max_frame: int = 65_536, window: int = 1_000_000
    ) -> None:
        self.send_bytes(SASL_HEADER)
        init = encode_performative(0x41, codec.symbol("PLAIN"), codec.binary(response))
        self.send_bytes(encode_frame(0, init, 1))
        assert self.read_exactly(8) == SASL_HEADER
        self.read_frame()
        outcome, _ = decoding.decode(self.read_frame())
        assert outcome.value == [0], "the key was refused"
        self.open(max_frame=max_frame, window=window)

    def open(self, *, max_frame: int = 65_536, window: int = 1_000_000) -> None:
        self.send_bytes(AMQP_HEADER)
        self.send(OPEN, codec.string("raw"), NULL, codec.uint(max_frame))
        self.send(BEGIN, NULL, codec.uint(0), codec.uint(window), codec.uint(5000))
        assert self.read_exactly(8) == AMQP_HEADER
        self.expect(BEGIN)

    def attach_sender(self, address: str, handle: int = 0) -> list[Any]:
        target = codec.described(0x29, codec.list_([codec.string(address)]))
        source = codec.described(0x28, codec.list_([codec.string("raw")]))
        fields = (codec.string(f"s{handle}"), codec.uint(handle), codec.FALSE, NULL, NULL, source, target)
        self.send(ATTACH, *fields, NULL, NULL, codec.uint(0))
        return self.expect(ATTACH)[0]

    def attach_receiver(self, address: str, handle: int = 1, *, presettled: bool = False) -> list[Any]:
        source = codec.described(0x28, codec.list_([codec.string(address)]))
        target = codec.described(0x29, codec.list_([codec.string("raw")]))
        modes = (codec.ubyte(int(presettled)), codec.ubyte(int(not presettled)))
        self.send(ATTACH, codec.string(f"r{handle}"), codec.uint(handle), codec.TRUE, *modes, source, target)
        return self.expect(ATTACH)[0]

    def flow(self, credit: int, *, handle: int = 1, delivery_count: int = 0) -> None:
        windows = (codec.uint(0), codec.uint(1_000_000), codec.uint(0), codec.uint(5000))
        self.send(FLOW, *windows, codec.uint(handle), codec.uint(delivery_count), codec.uint(credit))

    def drain(self, credit: int, *, handle: int = 1) -> None:
        """Request the messages that are available now. A flow with drain ends the delivery."""
        windows = (codec.uint(0), codec.uint(1_000_000), codec.uint(0), codec.uint(5000))
        counts = (codec.uint(handle), codec.uint(0), codec.uint(credit), NULL, codec.TRUE)
        self.send(FLOW, *windows, *counts)

    @staticmethod
    def transfer(number: int, payload: bytes, *, handle: int = 0, message_format: int = 0) -> bytes:
        fields = (
            codec.uint(handle),
            codec.uint(number),
            codec.binary(b"%d" % number),
            codec.uint(message_format),
        )
        return encode_frame(0, encode_performative(TRANSFER, *fields, codec.FALSE) + payload)

    def complete(self, first: int, last: int) -> None:
        self.send(DISPOSITION, codec.TRUE, codec.uint(first), codec.uint(last), codec.FALSE, ACCEPTED)


def message(body: bytes, message_id: str | None = None, **application: str) -> bytes:
    """Return an encoded message."""
    encoded = b""
    if message_id is not None:
        encoded += codec.described(0x73, codec.list_([codec.string(message_id)]))
    if application:
        pairs = ((codec.string(name), codec.string(value)) for name, value in application.items())
        encoded += codec.described(0x74, codec.map_(pairs))
    return encoded + codec.described(0x75, codec.binary(body))


def request(operation: str, **fields: bytes) -> bytes:
    """Return an encoded $management request."""
    name = codec.string(f"com.microsoft:{operation}")
    return (
        codec.described(0x73, codec.list_([codec.string("request")]))
        + codec.described(0x74, codec.map_([(codec.string("operation"), name)]))
        + codec.described(0x77, codec.map_((codec.string(key), value) for key, value in fields.items()))
    )
