"""Effective partition keys of version 1, as old clients and old containers have them.

A 32-bit hash written as a number, and behind it the value itself: order-preserving binary, in hexadecimal.
"""

import struct
from typing import Any

import mmh3

MAX_HASHED = 100  # characters of a text that count
MAX_APPENDED = 100  # bytes of a text that follow the hash
_NUMBER, _STRING = b"\x05", b"\x08"
_SIGN = 1 << 63
_WORD = (1 << 64) - 1


def effective_key_v1(value: Any, marker: bytes) -> str:
    """`marker` is the byte of a value that is neither number nor text: its type says it all."""
    if isinstance(value, str):
        value = value[:MAX_HASHED]
        hashed = _STRING + value.encode() + b"\x00"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        hashed = _NUMBER + struct.pack("<d", float(value))
    else:
        hashed = marker
    number = float(mmh3.hash(hashed, 0, signed=False))
    return (_binary(number, marker) + _binary(value, marker)).hex().upper()


def _binary(value: Any, marker: bytes) -> bytes:
    if isinstance(value, str):
        text = value.encode()
        end = b"\x00" if len(text) <= MAX_APPENDED else b""
        return _STRING + bytes(byte + 1 for byte in text[: MAX_APPENDED + 1]) + end
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _NUMBER + _number(float(value))
    return marker


def _number(value: float) -> bytes:
    """A double whose bytes sort as the numbers do, without its trailing zeros.

    The first byte holds 8 bits, each further one 7 and a flag: whether another follows.
    """
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    bits = bits ^ _SIGN if bits < _SIGN else (-bits) & _WORD
    chunks = bytearray([bits >> 56])
    bits = bits << 8 & _WORD
    while bits:
        chunks.append(bits >> 56 | 1)
        bits = bits << 7 & _WORD
    if len(chunks) == 1:
        chunks.append(0)
    chunks[-1] &= 0xFE
    return bytes(chunks)
