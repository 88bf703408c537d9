"""Effective partition keys of version 1, which old clients and containers use.

A key is a 32-bit hash followed by the value itself, both in order-preserving binary written as hexadecimal.
"""

import struct
from typing import Any

import mmh3

MAX_HASHED = 100  # hashed characters of a text
MAX_APPENDED = 100  # bytes of a text that follow the hash
_NUMBER, _STRING = b"\x05", b"\x08"
_SIGN = 1 << 63
_WORD = (1 << 64) - 1


def effective_key_v1(value: Any, marker: bytes) -> str:
    """Return the effective partition key.

    `marker` is the type byte of a value that is neither a number nor text.
    """
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
    """Return a double as bytes that sort in numeric order, without trailing zeros.

    The first byte has 8 bits of the number. Each further byte has 7 bits and a flag that another byte
    follows.
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
