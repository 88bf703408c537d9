"""What passes between the encoder's process and its owner: a header in JSON, and vectors as raw floats.

header length | body length | header | body        lengths are 32 bits, little-endian
"""

import json
import struct
from dataclasses import dataclass
from typing import Any

__all__ = ["PREFIX", "Frame", "FrameError", "body_lengths", "encode_frame"]

PREFIX = struct.Struct("<II")
MAX_BYTES = 256 * 1024 * 1024


class FrameError(ValueError):
    """What came is not a frame."""


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
    return PREFIX.pack(len(header), len(frame.body)) + header + frame.body


def body_lengths(prefix: bytes) -> tuple[int, int]:
    """The lengths that a frame's prefix announces, if they are believable."""
    header, body = PREFIX.unpack(prefix)
    if header > MAX_BYTES or body > MAX_BYTES:
        raise FrameError(f"a frame announces {header} and {body} bytes: the stream is not ours")
    return header, body
