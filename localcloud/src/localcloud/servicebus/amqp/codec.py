"""Encoding of Python values as AMQP 1.0 bytes, by explicit type.

A Python int does not determine which of AMQP's ten integer types it is, so callers write `uint(5)` or
`long(5)`. Each function returns a complete encoded value, so that values can be concatenated.
"""

import struct
from collections.abc import Iterable
from uuid import UUID

NULL = b"\x40"
TRUE = b"\x41"
FALSE = b"\x42"
_pack_u32 = struct.Struct(">I").pack
_pack_i64 = struct.Struct(">q").pack
_ONE_BYTE = 256


def boolean(value: bool) -> bytes:  # noqa: FBT001
    return TRUE if value else FALSE


def ubyte(value: int) -> bytes:
    return bytes((0x50, value))


def ushort(value: int) -> bytes:
    return b"\x60" + value.to_bytes(2, "big")


def uint(value: int) -> bytes:
    return bytes((0x52, value)) if value < _ONE_BYTE else b"\x70" + _pack_u32(value)


def ulong(value: int) -> bytes:
    return b"\x80" + value.to_bytes(8, "big")


def int_(value: int) -> bytes:
    return b"\x71" + value.to_bytes(4, "big", signed=True)


def long(value: int) -> bytes:
    return b"\x81" + _pack_i64(value)


def double(value: float) -> bytes:
    return b"\x82" + struct.pack(">d", value)


def timestamp(milliseconds: int) -> bytes:
    return b"\x83" + _pack_i64(milliseconds)


def uuid_(value: UUID) -> bytes:
    return b"\x98" + value.bytes


def _sized(code: int, raw: bytes) -> bytes:
    size = len(raw)
    return bytes((code, size)) + raw if size < _ONE_BYTE else bytes((code | 0x10,)) + _pack_u32(size) + raw


def binary(value: bytes) -> bytes:
    return _sized(0xA0, value)


def string(value: str) -> bytes:
    return _sized(0xA1, value.encode())


def symbol(value: str) -> bytes:
    return _sized(0xA3, value.encode("ascii"))


def _compound(code: int, count: int, content: bytes) -> bytes:
    if len(content) < _ONE_BYTE - 1 and count < _ONE_BYTE:
        return bytes((code, len(content) + 1, count)) + content
    return bytes((code | 0x10,)) + _pack_u32(len(content) + 4) + _pack_u32(count) + content


def list_(values: Iterable[bytes]) -> bytes:
    items = list(values)
    return _compound(0xC0, len(items), b"".join(items)) if items else b"\x45"


def map_(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    items = [part for pair in pairs for part in pair]
    return _compound(0xC1, len(items), b"".join(items))


def array(constructor: int, elements: Iterable[bytes]) -> bytes:
    """Encode an array of fixed-width elements, which come without their constructors."""
    items = list(elements)
    return _compound(0xE0, len(items), bytes((constructor,)) + b"".join(items))


def described(descriptor: int, value: bytes) -> bytes:
    """Encode a described value.

    A small descriptor must be `00 53 xx`, the only form that the Python client reads.
    """
    code = bytes((0x53, descriptor)) if descriptor < _ONE_BYTE else ulong(descriptor)
    return b"\x00" + code + value
