"""Encoding of a stored message for a receiver: the broker's header and annotations, then the rest."""

import struct

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.messages import DEAD_LETTER_SOURCE, MAX_TTL, Message

_SEQUENCE_KEY = codec.symbol("x-opt-sequence-number") + b"\x81"
_ORIGINAL_KEY = codec.symbol("x-opt-enqueue-sequence-number") + b"\x81"
_ENQUEUED_KEY = codec.symbol("x-opt-enqueued-time") + b"\x83"
_STATE_KEY = codec.symbol("x-opt-message-state") + b"\x71"
_LOCKED_KEY = codec.symbol("x-opt-locked-until") + b"\x83"
_SOURCE_KEY = codec.symbol(DEAD_LETTER_SOURCE)
_FACTS = struct.Struct(
    f">{len(_SEQUENCE_KEY)}sq{len(_ORIGINAL_KEY)}sq{len(_ENQUEUED_KEY)}sq{len(_STATE_KEY)}si"
)
_FACTS_COUNT = 8
# The start of a header section, a list of five fields, by the size of the fields.
_HEADER_STARTS = [b"\x00\x53\x70\xc0" + bytes((size + 1, 5)) for size in range(20)]
_TTL_AND_COUNT = struct.Struct(">BI2sI")
_COUNT = struct.Struct(">3sI")
_ANNOTATIONS = struct.Struct(">4sII")
_SECTION = b"\x00\x53\x72\xd1"
_LOCKED = struct.Struct(f">{len(_LOCKED_KEY)}sq")


def _header(message: Message) -> bytes:
    """Encode durable, priority, time to live, first-acquirer (null) and delivery count."""
    if message.ttl:
        ttl = min(message.ttl, MAX_TTL)
        fields = message.header + _TTL_AND_COUNT.pack(0x70, ttl, b"\x40\x70", message.delivery_count)
    else:
        fields = message.header + _COUNT.pack(b"\x40\x40\x70", message.delivery_count)
    return _HEADER_STARTS[len(fields)] + fields


def _annotated(message: Message, extra: bytes, extra_count: int) -> bytes:
    facts = _FACTS.pack(
        _SEQUENCE_KEY,
        message.sequence,
        _ORIGINAL_KEY,
        message.original_sequence,
        _ENQUEUED_KEY,
        message.enqueued_at,
        _STATE_KEY,
        message.state,
    )
    if message.source is not None:
        extra += _SOURCE_KEY + codec.string(message.source)
        extra_count += 2
    if message.annotations:
        extra += message.annotations
        extra_count += _count_values(message.annotations)
    size = 4 + len(facts) + len(extra)
    return _ANNOTATIONS.pack(_SECTION, size, _FACTS_COUNT + extra_count) + facts + extra


def _count_values(encoded: bytes) -> int:
    count = position = 0
    while position < len(encoded):
        position = decoding.skip(encoded, position)
        count += 1
    return count


def encode_delivery(message: Message, *, is_peeked: bool = False) -> bytes:
    """Encode the message for a receiver.

    Peeking does not show the lock, which belongs to another receiver.
    """
    is_locked = message.lock is not None and not is_peeked
    locked = _LOCKED.pack(_LOCKED_KEY, message.locked_until) if is_locked else b""
    return _header(message) + _annotated(message, locked, 2 if locked else 0) + message.bare
