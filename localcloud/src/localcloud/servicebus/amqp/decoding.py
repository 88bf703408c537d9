"""Decoding of AMQP 1.0 bytes to Python values.

Decoding is bounded. Input that is truncated, nested too deeply or has wrong sizes raises DecodeError.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

MAX_DEPTH = 24
# Elements of a zero-width type have no bytes, so an array's size does not limit their number.
MAX_EMPTY_ELEMENTS = 1024


class DecodeError(ValueError):
    """The bytes are not a well-formed AMQP value."""


class Symbol(str):
    """An AMQP symbol, as opposed to an AMQP string."""

    __slots__ = ()


class Described(NamedTuple):
    descriptor: Any
    value: Any
    encoded: bytes = b""  # the value's bytes as sent, empty for elements of an array


Decoder = Callable[[bytes, int, int], tuple[Any, int]]


def decode(buffer: bytes, position: int = 0, depth: int = 0) -> tuple[Any, int]:
    """Return the value that starts at `position`, and its end."""
    try:
        return _DECODERS[buffer[position]](buffer, position + 1, depth)
    except (IndexError, struct.error):
        raise DecodeError("truncated AMQP value") from None


def skip(buffer: bytes, position: int, depth: int = 0) -> int:
    """Return the end of the value that starts at `position`, without decoding it."""
    try:
        code = buffer[position]
        position += 1
        if code == 0:
            if depth > MAX_DEPTH:
                raise DecodeError("AMQP value nested too deeply")
            return skip(buffer, skip(buffer, position, depth + 1), depth + 1)
        width = code >> 4
        if width in _FIXED_WIDTHS:
            position += _FIXED_WIDTHS[width]
        elif width in _ONE_BYTE_SIZES:
            position += 1 + buffer[position]
        elif width in _FOUR_BYTE_SIZES:
            position += 4 + int(_U32.unpack_from(buffer, position)[0])
        else:
            raise DecodeError(f"unknown AMQP constructor 0x{code:02x}")
    except (IndexError, struct.error):
        raise DecodeError("truncated AMQP value") from None
    if position > len(buffer):
        raise DecodeError("truncated AMQP value")
    return position


def encoded_items(buffer: bytes, start: int = 0) -> list[bytes]:
    """Return the elements of the list or map at `start`, still encoded.

    A decoded value has lost its AMQP type.
    """
    code = buffer[start] if start < len(buffer) else None
    if code == _EMPTY_LIST:
        return []
    if code not in _HEAD_SIZES:
        raise DecodeError("expected an AMQP list or map")
    position, end = start + _HEAD_SIZES[code], skip(buffer, start)
    items = []
    while position < end:
        after = skip(buffer, position)
        items.append(buffer[position:after])
        position = after
    return items


def encoded_map(buffer: bytes, start: int = 0) -> dict[Any, bytes]:
    """Return the map at `start` with its values still encoded."""
    items = encoded_items(buffer, start)
    return {decode(key)[0]: value for key, value in zip(items[::2], items[1::2], strict=True)}


def is_simple(encoded: bytes) -> bool:
    """Return whether a value, described or not, is neither a list, a map nor an array."""
    position = 0
    while encoded[position] == 0:
        position = skip(encoded, position + 1)  # past a descriptor
    return encoded[position] != _EMPTY_LIST and encoded[position] < _FIRST_COMPOUND


_EMPTY_LIST, _FIRST_COMPOUND = 0x45, 0xC0
_HEAD_SIZES = {0xC0: 3, 0xC1: 3, 0xD0: 9, 0xD1: 9}  # of lists and maps: constructor, size and count

_CONSTANTS = {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0}
_ONE_BYTE_NUMBERS = frozenset({0x50, 0x52, 0x53})
_FIXED_WIDTHS = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
_ONE_BYTE_SIZES = frozenset({0xA, 0xC, 0xE})
_FOUR_BYTE_SIZES = frozenset({0xB, 0xD, 0xF})
_UINT = 0x70
_SHORT_BINARY, _SHORT_STRING = 0xA0, 0xA1
_SHORT_VALUES = frozenset({_SHORT_BINARY, _SHORT_STRING})
_U32 = struct.Struct(">I")
_unpack_u32 = _U32.unpack_from
_DECODERS: list[Decoder] = []


def _unknown(buffer: bytes, position: int, depth: int) -> tuple[Any, int]:  # noqa: ARG001
    raise DecodeError(f"unknown AMQP constructor 0x{buffer[position - 1]:02x}")


def _constant(value: Any) -> Decoder:
    return lambda _buffer, position, _depth: (value, position)


def _one_byte(buffer: bytes, position: int, _depth: int) -> tuple[int, int]:
    return buffer[position], position + 1


def _signed_byte(buffer: bytes, position: int, _depth: int) -> tuple[int, int]:
    value = buffer[position]
    return value - 256 if value > 127 else value, position + 1  # noqa: PLR2004 - two's complement


def _byte_boolean(buffer: bytes, position: int, _depth: int) -> tuple[bool, int]:
    if buffer[position] > 1:
        raise DecodeError("a boolean is 0 or 1")
    return buffer[position] == 1, position + 1


def _packed(form: str) -> Decoder:
    packing = struct.Struct(form)
    unpack, width = packing.unpack_from, packing.size
    return lambda buffer, position, _depth: (unpack(buffer, position)[0], position + width)


def _opaque(width: int) -> Decoder:
    """Return a decoder that keeps decimals as bytes, because no code here computes with them."""
    return lambda buffer, position, _depth: (_slice(buffer, position, width), position + width)


def _slice(buffer: bytes, position: int, size: int) -> bytes:
    end = position + size
    if end > len(buffer):
        raise DecodeError("truncated AMQP value")
    return buffer[position:end]


def _char(buffer: bytes, position: int, _depth: int) -> tuple[str, int]:
    code = _U32.unpack_from(buffer, position)[0]
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 - limits of Unicode
        raise DecodeError("a char is a Unicode scalar value")
    return chr(code), position + 4


def _uuid(buffer: bytes, position: int, _depth: int) -> tuple[UUID, int]:
    return UUID(bytes=_slice(buffer, position, 16)), position + 16


def _variable(*, wide: bool, convert: Callable[[bytes], Any] | None = None) -> Decoder:
    def read(buffer: bytes, position: int, _depth: int) -> tuple[Any, int]:
        if wide:
            size, start = _U32.unpack_from(buffer, position)[0], position + 4
        else:
            size, start = buffer[position], position + 1
        end = start + size
        if end > len(buffer):
            raise DecodeError("truncated AMQP value")
        raw = buffer[start:end]
        return (raw if convert is None else convert(raw)), end

    return read


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise DecodeError("an AMQP string is not UTF-8") from None


def _symbol(raw: bytes) -> Symbol:
    try:
        return Symbol(raw, "ascii")
    except UnicodeDecodeError:
        raise DecodeError("an AMQP symbol is not ASCII") from None


def _bounds(buffer: bytes, position: int, depth: int, *, wide: bool) -> tuple[int, int, int]:
    """Return the element count, and the start and end of the elements."""
    if depth > MAX_DEPTH:
        raise DecodeError("AMQP value nested too deeply")
    if wide:
        size, count = _U32.unpack_from(buffer, position)[0], _U32.unpack_from(buffer, position + 4)[0]
        start, end = position + 8, position + 4 + size
    else:
        size, count = buffer[position], buffer[position + 1]
        start, end = position + 2, position + 1 + size
    if end > len(buffer) or start > end:
        raise DecodeError("the size of an AMQP list, map or array does not fit its content")
    return count, start, end


def _list32(buffer: bytes, position: int, depth: int) -> tuple[list[Any], int]:
    count, position, end = _bounds(buffer, position, depth, wide=True)
    return _list_elements(buffer, position, depth + 1, count, end), end


def _list8(buffer: bytes, position: int, depth: int) -> tuple[list[Any], int]:
    """Decode a short list. Its bounds are read inline for speed, because most lists are short."""
    count, end = buffer[position + 1], position + 1 + buffer[position]
    if end > len(buffer) or count > end - position - 2 or depth > MAX_DEPTH:
        raise DecodeError("the size of an AMQP list does not fit its content")
    return _list_elements(buffer, position + 2, depth + 1, count, end), end


def _list_elements(buffer: bytes, position: int, depth: int, count: int, end: int) -> list[Any]:
    """Decode list elements. The most frequent types are read inline for speed."""
    values: list[Any] = []
    append = values.append
    for _ in range(count):
        code = buffer[position]
        if code in _CONSTANTS:
            append(_CONSTANTS[code])
            position += 1
        elif code in _ONE_BYTE_NUMBERS:
            append(buffer[position + 1])
            position += 2
        elif code == _UINT:
            append(_unpack_u32(buffer, position + 1)[0])
            position += 5
        elif code in _SHORT_VALUES:
            after = position + 2 + buffer[position + 1]
            raw = buffer[position + 2 : after]
            append(raw if code == _SHORT_BINARY else _utf8(raw))
            position = after
        else:
            value, position = _DECODERS[code](buffer, position + 1, depth)
            append(value)
    if position != end:
        raise DecodeError("an AMQP list does not end where its size says")
    return values


def _map(*, wide: bool) -> Decoder:
    def read(buffer: bytes, position: int, depth: int) -> tuple[dict[Any, Any], int]:
        count, position, end = _bounds(buffer, position, depth, wide=wide)
        if count % 2:
            raise DecodeError("an AMQP map has a key without a value")
        values: dict[Any, Any] = {}
        for _ in range(count // 2):
            key, position = _DECODERS[buffer[position]](buffer, position + 1, depth + 1)
            value, position = _DECODERS[buffer[position]](buffer, position + 1, depth + 1)
            try:
                values[key] = value
            except TypeError:
                raise DecodeError("an AMQP map key is a list or a map") from None
        if position != end:
            raise DecodeError("an AMQP map does not end where its size says")
        return values, end

    return read


def _array(*, wide: bool) -> Decoder:
    def read(buffer: bytes, position: int, depth: int) -> tuple[list[Any], int]:
        count, position, end = _bounds(buffer, position, depth, wide=wide)
        return _array_elements(buffer, position, depth, count, end), end

    return read


def _array_elements(buffer: bytes, position: int, depth: int, count: int, end: int) -> list[Any]:
    descriptor: Any = None
    is_described = buffer[position] == 0
    if is_described:
        descriptor, position = decode(buffer, position + 1, depth + 1)
    read, position = _DECODERS[buffer[position]], position + 1
    if count > (MAX_EMPTY_ELEMENTS if position == end else end - position):
        raise DecodeError("an AMQP array counts more elements than it has bytes")
    values = []
    for _ in range(count):
        value, position = read(buffer, position, depth + 1)
        values.append(Described(descriptor, value) if is_described else value)
    if position != end:
        raise DecodeError("an AMQP array does not end where its size says")
    return values


def _described(buffer: bytes, position: int, depth: int) -> tuple[Described, int]:
    if depth > MAX_DEPTH:
        raise DecodeError("AMQP value nested too deeply")
    descriptor, start = decode(buffer, position, depth + 1)
    value, end = decode(buffer, start, depth + 1)
    return Described(descriptor, value, buffer[start:end]), end


_KNOWN: dict[int, Decoder] = {
    0x00: _described,
    **{code: _constant(value) for code, value in _CONSTANTS.items()},
    0x45: lambda _buffer, position, _depth: ([], position),
    0x50: _one_byte,
    0x51: _signed_byte,
    0x52: _one_byte,
    0x53: _one_byte,
    0x54: _signed_byte,
    0x55: _signed_byte,
    0x56: _byte_boolean,
    0x60: _packed(">H"),
    0x61: _packed(">h"),
    0x70: _packed(">I"),
    0x71: _packed(">i"),
    0x72: _packed(">f"),
    0x73: _char,
    0x74: _opaque(4),
    0x80: _packed(">Q"),
    0x81: _packed(">q"),
    0x82: _packed(">d"),
    0x83: _packed(">q"),
    0x84: _opaque(8),
    0x94: _opaque(16),
    0x98: _uuid,
    0xA0: _variable(wide=False),
    0xB0: _variable(wide=True),
    0xA1: _variable(wide=False, convert=_utf8),
    0xB1: _variable(wide=True, convert=_utf8),
    0xA3: _variable(wide=False, convert=_symbol),
    0xB3: _variable(wide=True, convert=_symbol),
    0xC0: _list8,
    0xD0: _list32,
    0xC1: _map(wide=False),
    0xD1: _map(wide=True),
    0xE0: _array(wide=False),
    0xF0: _array(wide=True),
}
_DECODERS.extend(_KNOWN.get(code, _unknown) for code in range(256))
