"""Frames between the app and its child processes: two lengths (32 bits), a JSON header, and a body."""

import json
import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio  # Only the parent process needs it.

_PREFIX = struct.Struct("<II")
MAX_BYTES = 1024 * 1024 * 1024


class FrameError(ValueError):
    """The stream does not contain a complete frame."""


@dataclass(frozen=True)
class Frame:
    header: dict[str, Any]
    body: bytes = b""

    @classmethod
    def decode(cls, header: bytes, body: bytes) -> "Frame":
        try:
            value = json.loads(header)
        except ValueError as error:
            raise FrameError("the header of a frame is not JSON") from error
        if not isinstance(value, dict):
            raise FrameError("the header of a frame is not an object")
        return cls(value, body)


def encode_frame(frame: Frame) -> bytes:
    header = json.dumps(frame.header, separators=(",", ":")).encode()
    return _PREFIX.pack(len(header), len(frame.body)) + header + frame.body


def read_frame(stream: IO[bytes]) -> Frame | None:
    """Return the next frame, or None at the end of the stream."""
    prefix = stream.read(_PREFIX.size)
    if not prefix:
        return None
    lengths = _lengths(prefix)
    header, body = (stream.read(length) for length in lengths)
    if (len(header), len(body)) != lengths:
        raise FrameError("the stream ended inside a frame")
    return Frame.decode(header, body)


async def receive_frame(stream: "asyncio.StreamReader") -> Frame:
    """Return the next frame. Raise asyncio.IncompleteReadError at the end of the stream."""
    header_bytes, body_bytes = _lengths(await stream.readexactly(_PREFIX.size))
    header = await stream.readexactly(header_bytes)
    return Frame.decode(header, await stream.readexactly(body_bytes))


def _lengths(prefix: bytes) -> tuple[int, int]:
    if len(prefix) < _PREFIX.size:
        raise FrameError("the stream ended inside a frame")
    header, body = _PREFIX.unpack(prefix)
    if header > MAX_BYTES or body > MAX_BYTES:
        raise FrameError(f"a frame announces {header} and {body} bytes: the stream is not ours")
    return header, body
