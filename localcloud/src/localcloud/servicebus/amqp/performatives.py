"""AMQP performatives: parsing with type checks, and encoding."""

import struct
from typing import Any, NamedTuple

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.codec import FALSE, NULL, TRUE
from localcloud.servicebus.amqp.decoding import DecodeError

AMQP_FRAME, SASL_FRAME = 0, 1  # frame types


class Open(NamedTuple):
    container_id: str
    hostname: str | None = None
    max_frame_size: int | None = None
    channel_max: int | None = None
    idle_time_out: int | None = None
    outgoing_locales: Any = None
    incoming_locales: Any = None
    offered_capabilities: Any = None
    desired_capabilities: Any = None
    properties: Any = None


class Begin(NamedTuple):
    remote_channel: int | None
    next_outgoing_id: int
    incoming_window: int
    outgoing_window: int
    handle_max: int | None = None
    offered_capabilities: Any = None
    desired_capabilities: Any = None
    properties: Any = None


class Attach(NamedTuple):
    name: str
    handle: int
    role: bool
    snd_settle_mode: int | None = None
    rcv_settle_mode: int | None = None
    source: Any = None
    target: Any = None
    unsettled: Any = None
    incomplete_unsettled: bool | None = None
    initial_delivery_count: int | None = None
    max_message_size: int | None = None
    offered_capabilities: Any = None
    desired_capabilities: Any = None
    properties: dict[Any, Any] | None = None


class Flow(NamedTuple):
    next_incoming_id: int | None
    incoming_window: int
    next_outgoing_id: int
    outgoing_window: int
    handle: int | None = None
    delivery_count: int | None = None
    link_credit: int | None = None
    available: int | None = None
    drain: bool | None = None
    echo: bool | None = None
    properties: Any = None


class Transfer(NamedTuple):
    handle: int
    delivery_id: int | None = None
    delivery_tag: bytes | None = None
    message_format: int | None = None
    settled: bool | None = None
    more: bool | None = None
    rcv_settle_mode: int | None = None
    state: Any = None
    resume: bool | None = None
    aborted: bool | None = None
    batchable: bool | None = None


class Disposition(NamedTuple):
    role: bool
    first: int
    last: int | None = None
    settled: bool | None = None
    state: Any = None
    batchable: bool | None = None


class Detach(NamedTuple):
    handle: int
    closed: bool | None = None
    error: Any = None


class End(NamedTuple):
    error: Any = None


class Close(NamedTuple):
    error: Any = None


class SaslInit(NamedTuple):
    mechanism: str
    initial_response: bytes | None = None
    hostname: str | None = None


Performative = Open | Begin | Attach | Flow | Transfer | Disposition | Detach | End | Close | SaslInit

OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
SASL_MECHANISMS, SASL_INIT, SASL_OUTCOME = 0x40, 0x41, 0x44

_AMQP_KINDS: dict[int, type[Any]] = dict(
    enumerate((Open, Begin, Attach, Flow, Transfer, Disposition, Detach, End, Close), OPEN)
)
_SASL_KINDS: dict[int, type[Any]] = {SASL_INIT: SaslInit}


def _allowed(annotation: Any) -> tuple[type, ...] | None:
    """Return the Python types that a field can have, or None if its user checks them."""
    if annotation is Any:
        return None
    parts = getattr(annotation, "__args__", (annotation,))
    return tuple(dict if getattr(part, "__origin__", None) is dict else part for part in parts)


_FIELD_TYPES = {
    kind: [_allowed(annotation) for annotation in kind.__annotations__.values()]
    for kind in (*_AMQP_KINDS.values(), *_SASL_KINDS.values())
}
_MISSING: dict[type[Any], list[None]] = {kind: [None] * len(types) for kind, types in _FIELD_TYPES.items()}
# Type signatures that passed `_check`. Clients send the same few signatures repeatedly.
_checked: dict[type[Any], set[tuple[type, ...]]] = {kind: set() for kind in _FIELD_TYPES}
MAX_CHECKED = 500


def parse_performative(frame: bytes, start: int, *, sasl: bool = False) -> tuple[Performative, int]:
    """Return the performative at `start` of a frame, and the start of its payload."""
    if not frame.startswith(b"\x00\x53", start):
        raise DecodeError("a frame holds a performative, described by a small ulong")
    fields, end = decoding.decode(frame, start + 3)
    kind = (_SASL_KINDS if sasl else _AMQP_KINDS).get(frame[start + 2])
    if kind is None or type(fields) is not list:
        raise DecodeError(f"0x{frame[start + 2]:02x} is not a performative that a server accepts")
    checked, missing = _checked[kind], _MISSING[kind][len(fields) :]
    signature = tuple(map(type, fields))
    if signature not in checked:
        _check(kind, fields)
        if len(checked) < MAX_CHECKED:  # peers choose the types, so the cache needs a limit
            checked.add(signature)
    # The same as kind(*fields), without its Python-level constructor, which is too slow for every frame.
    return tuple.__new__(kind, fields + missing), end


_PLAIN_TRANSFER = b"\x00\x53\x14\xc0"
_BINARY8 = 0xA0
_BOOLEANS = {0x40: None, 0x41: True, 0x42: False}
_AFTER_MORE = (None,) * 5
_unpack_u32 = struct.Struct(">I").unpack_from


def parse_plain_transfer(frame: bytes, start: int) -> tuple[Transfer, int] | None:
    """Parse a transfer in the form that all known senders use. Return None for any other frame.

    This fast path handles most frames of a busy sender. `parse_performative` costs several times as much.
    """
    if not frame.startswith(_PLAIN_TRANSFER, start):
        return None
    try:
        end, count = start + 5 + frame[start + 4], frame[start + 5]
        handle, position = _small_number(frame, start + 6)
        delivery_id, position = _small_number(frame, position)
        if frame[position] != _BINARY8:
            return None
        after_tag = position + 2 + frame[position + 1]
        message_format, after = _small_number(frame, after_tag)
        settled = _BOOLEANS[frame[after]]
        more = _BOOLEANS[frame[after + 1]] if count == _FIELDS_TO_MORE else None
    except (IndexError, KeyError, struct.error):
        return None
    if _FIELDS_AFTER_FORMAT.get(count) != end - after or end > len(frame):
        return None
    tag = frame[position + 2 : after_tag]
    fields = (handle, delivery_id, tag, message_format, settled, more, *_AFTER_MORE)
    return tuple.__new__(Transfer, fields), end


_FIELDS_TO_MORE = 6
_FIELDS_AFTER_FORMAT = {5: 1, 6: 2}  # by the total number of fields: `settled`, or `settled` and `more`


def _small_number(frame: bytes, position: int) -> tuple[int, int]:
    code = frame[position]
    if code == 0x43:  # noqa: PLR2004 - uint 0
        return 0, position + 1
    if code == 0x52:  # noqa: PLR2004 - a uint of one byte
        return frame[position + 1], position + 2
    if code == 0x70:  # noqa: PLR2004 - a uint of four bytes
        return _unpack_u32(frame, position + 1)[0], position + 5
    raise KeyError(code)


def _check(kind: type[Any], fields: list[Any]) -> None:
    types = _FIELD_TYPES[kind]
    if len(fields) > len(types):
        raise DecodeError(f"{kind.__name__.lower()} has {len(fields)} fields, more than {len(types)}")
    padded = fields + [None] * (len(types) - len(fields))
    for name, value, allowed in zip(kind._fields, padded, types, strict=True):
        fits = allowed is None or type(value) in allowed or (isinstance(value, str) and str in allowed)
        if not fits:
            raise DecodeError(f"{kind.__name__.lower()}: {name} is missing or of the wrong type")


# encoding

FRAME_HEADER = struct.Struct(">IBBH")  # size, data offset in four-byte words, type, channel


def encode_frame(channel: int, body: bytes, kind: int = AMQP_FRAME) -> bytes:
    return FRAME_HEADER.pack(len(body) + 8, 2, kind, channel) + body


def encode_performative(descriptor: int, *fields: bytes) -> bytes:
    return codec.described(descriptor, codec.list_(fields))


def encode_error(condition: str, description: str) -> bytes:
    """Encode an error with its third field, although null: the Python client reads it unconditionally."""
    return encode_performative(0x1D, codec.symbol(condition), codec.string(description), NULL)


ACCEPTED = codec.described(0x24, b"\x45")


# handle, delivery-id, delivery-tag of 16 bytes, message-format 0, settled, more
_TRANSFER = struct.Struct(">IBBH6sBIBI2s16s3s")
_TRANSFER_LIST = b"\x00\x53\x14\xc0\x20\x06"
_TRANSFER_FLAGS = {
    (settled, more): b"\x43" + codec.boolean(settled) + codec.boolean(more)
    for settled in (True, False)
    for more in (True, False)
}
TRANSFER_OVERHEAD = _TRANSFER.size


def encode_transfer(
    channel: int, handle: int, delivery_id: int, tag: bytes, *, settled: bool, more: bool, payload: bytes
) -> bytes:
    """Encode the first frame of a delivery."""
    size = _TRANSFER.size + len(payload)
    flags = _TRANSFER_FLAGS[settled, more]
    return (
        _TRANSFER.pack(
            size, 2, 0, channel, _TRANSFER_LIST, 0x70, handle, 0x70, delivery_id, b"\xa0\x10", tag, flags
        )
        + payload
    )


def encode_continuation(channel: int, handle: int, *, more: bool, payload: bytes) -> bytes:
    fields = (codec.uint(handle), NULL, NULL, NULL, NULL, TRUE if more else FALSE)
    return encode_frame(channel, encode_performative(TRANSFER, *fields) + payload)


def encode_disposition(channel: int, first: int, last: int, state: bytes, *, role: bool) -> bytes:
    fields = (codec.boolean(role), codec.uint(first), codec.uint(last), TRUE, state)
    return encode_frame(channel, encode_performative(DISPOSITION, *fields))
