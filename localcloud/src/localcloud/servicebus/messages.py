"""Stored messages: the sender's bytes, and the broker's facts about them.

The sender's bytes, from `properties` on, are encoded again only if the broker must change them (a dead-letter
reason, properties modified on abandon). Header and message annotations are rebuilt for each delivery from the
broker's facts and the sender's fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from uuid import uuid4

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.decoding import DecodeError
from localcloud.servicebus.amqp.links import MAX_TRANSFER_BYTES
from localcloud.servicebus.errors import DecodeFailed, MessageTooLarge

MAX_PROPERTIES_BYTES = 64 * 1024  # of application properties, as in Azure
BATCH_FORMAT = 0x80013700  # the message-format of Service Bus batches
MAX_TTL = 2**32 - 1
MAX_PRIORITY = 255
EMPTY_HEADER = NULL + NULL  # neither durable nor priority
END_OF_TIME = 253_402_300_799_999  # the last millisecond that clients can represent

# Descriptors of message sections (AMQP 1.0, 3.2).
HEADER, MESSAGE_ANNOTATIONS, PROPERTIES, APPLICATION_PROPERTIES = 0x70, 0x72, 0x73, 0x74
DATA, SEQUENCE, VALUE, FOOTER = 0x75, 0x76, 0x77, 0x78
_BODIES = frozenset({DATA, SEQUENCE, VALUE})

SCHEDULED_TIME = "x-opt-scheduled-enqueue-time"
DEAD_LETTER_SOURCE = "x-opt-deadletter-source"
# Annotations that the broker removes from sent messages. A resent message still has those of its last
# delivery.
_BROKER_OWNED = frozenset(
    {
        "x-opt-sequence-number",
        "x-opt-enqueue-sequence-number",
        "x-opt-enqueued-time",
        "x-opt-locked-until",
        "x-opt-lock-token",
        "x-opt-message-state",
        DEAD_LETTER_SOURCE,
    }
)


class MessageState(IntEnum):
    """The values of `x-opt-message-state`."""

    ACTIVE = 0
    DEFERRED = 1
    SCHEDULED = 2


@dataclass(slots=True, eq=False)
class Message:
    """A stored message. Times are milliseconds since the epoch, and 0 means none."""

    bare: bytes  # the sender's properties, application properties, body and footer
    annotations: bytes = b""  # the sender's own annotations, as encoded keys and values
    header: bytes = EMPTY_HEADER  # durable and priority, encoded: the broker has the other fields
    ttl: int = 0
    due_at: int = 0
    original_sequence: int = 0
    source: str | None = None  # the entity that dead-lettered a forwarded message
    hops: int = 0
    sequence: int = 0
    enqueued_at: int = 0
    expires_at: int = 0
    state: int = MessageState.ACTIVE
    delivery_count: int = 0
    lock: bytes | None = None
    locked_until: int = 0

    def copy(self) -> "Message":
        """Return a copy for another entity, without sequence number, lock and delivery count."""
        kept = (self.bare, self.annotations, self.header, self.ttl, self.due_at)
        return Message(*kept, self.original_sequence, self.source, self.hops)

    @property
    def size(self) -> int:
        return len(self.bare) + len(self.annotations)


# parsing of sent messages


def parse_message(payload: bytes) -> Message:
    _check_size(payload)
    try:
        return _parse(payload)
    except DecodeError as error:
        raise DecodeFailed(f"The message is malformed: {error}.") from error


def parse_batch(payload: bytes) -> list[Message]:
    """Return the messages of a batch. Each data section of the envelope is an encoded message."""
    _check_size(payload)
    try:
        bodies = [
            decoding.decode(payload, start)[0] for code, _, start, _ in _sections(payload) if code == DATA
        ]
    except DecodeError as error:
        raise DecodeFailed(f"The batch is malformed: {error}.") from error
    if not all(isinstance(body, bytes) for body in bodies):
        raise DecodeFailed("A batch must have its messages as binary data sections.")
    return [parse_message(body) for body in bodies]


def _check_size(payload: bytes) -> None:
    if len(payload) > MAX_TRANSFER_BYTES:
        raise MessageTooLarge(f"A message or batch can have at most {MAX_TRANSFER_BYTES} bytes.")


def _sections(payload: bytes) -> list[tuple[int, int, int, int]]:
    """Return (descriptor, start of the section, start of its value, end) of each section."""
    found = []
    position, end = 0, len(payload)
    while position < end:
        section = position
        if payload.startswith(b"\x00\x53", position) and position + 2 < end:
            code, start = payload[position + 2], position + 3
        elif payload[position] == 0:
            code, start = decoding.decode(payload, position + 1)
        else:
            raise DecodeError("a message is a series of described sections")
        if type(code) is not int or not HEADER <= code <= FOOTER:
            raise DecodeError(f"{code!r} is not a section of a message")
        position = decoding.skip(payload, start)
        found.append((code, section, start, position))
    return found


def _parse(payload: bytes) -> Message:
    """Parse a message.

    Clients order sections differently, so they are collected and stored in AMQP's order.
    """
    ttl = due_at = 0
    header = EMPTY_HEADER
    annotations = properties = application = footer = b""
    bodies: list[bytes] = []
    for code, section, start, end in _sections(payload):
        if code in _BODIES:
            bodies.append(payload[section:end])
        elif code == PROPERTIES:
            properties = _checked_properties(payload, section, start, end)
        elif code == APPLICATION_PROPERTIES:
            application = _checked_application_properties(payload, section, start, end)
        elif code == HEADER:
            header, ttl = _kept_header(payload, start)
        elif code == MESSAGE_ANNOTATIONS:
            annotations, due_at = _kept_annotations(payload, start)
        elif code == FOOTER:
            footer = payload[section:end]
    if not bodies:
        raise DecodeError("a message has a body section")
    if not properties:
        properties = _with_message_id([])
    bare = b"".join((properties, application, *bodies, footer))
    return Message(bare, annotations=annotations, header=header, ttl=ttl, due_at=due_at)


def _kept_header(payload: bytes, start: int) -> tuple[bytes, int]:
    """Return the encoded durable and priority, and the time to live."""
    fields = decoding.decode(payload, start)[0]
    if not isinstance(fields, list):
        raise DecodeError("a header is a list")
    durable, priority, ttl = (*fields, None, None, None)[:3]
    if ttl is not None and (type(ttl) is not int or not 0 <= ttl <= MAX_TTL):
        raise DecodeError("the time to live is a number of milliseconds, an AMQP uint")
    if durable is not None and type(durable) is not bool:
        raise DecodeError("durable is a boolean")
    if priority is not None and (type(priority) is not int or not 0 <= priority <= MAX_PRIORITY):
        raise DecodeError("priority is a number from 0 to 255, an AMQP ubyte")
    header = (
        NULL if durable is None else codec.boolean(durable),
        NULL if priority is None else codec.ubyte(priority),
    )
    return b"".join(header), ttl or 0


def _checked_properties(payload: bytes, section: int, start: int, end: int) -> bytes:
    fields = decoding.decode(payload, start)[0]
    if not isinstance(fields, list) or len(fields) > len(_PROPERTY_NAMES):
        raise DecodeError("message properties are a list of at most 13 fields")
    if fields and fields[0] is not None:
        return payload[section:end]
    return _with_message_id(decoding.encoded_items(payload, start)[1:])


def _with_message_id(other_fields: list[bytes]) -> bytes:
    """Return properties with a new message id. The JavaScript client fails on messages without an id."""
    return codec.described(PROPERTIES, codec.list_([codec.string(uuid4().hex), *other_fields]))


def _checked_application_properties(payload: bytes, section: int, start: int, end: int) -> bytes:
    if end - start > MAX_PROPERTIES_BYTES:
        raise MessageTooLarge(f"The application properties can have at most {MAX_PROPERTIES_BYTES} bytes.")
    values = decoding.decode(payload, start)[0]
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise DecodeError("application properties are a map with string keys")
    if len(decoding.encoded_items(payload, start)) != 2 * len(values):
        raise DecodeError("an application property is given twice")
    return payload[section:end] if values else b""


def _kept_annotations(payload: bytes, start: int) -> tuple[bytes, int]:
    """Return the sender's annotations without those of the broker, and the scheduled enqueue time."""
    values = decoding.decode(payload, start)[0]
    if not isinstance(values, dict):
        raise DecodeError("message annotations are a map")
    due_at = values.get(SCHEDULED_TIME) or 0
    if type(due_at) is not int or not 0 <= due_at <= END_OF_TIME:
        raise DecodeError(f"{SCHEDULED_TIME} is a timestamp before the year 10000")
    items = decoding.encoded_items(payload, start)
    if len(items) != 2 * len(values):
        raise DecodeError("a message annotation is given twice")
    pairs = zip(values, items[::2], items[1::2], strict=True)
    return b"".join(key + value for name, key, value in pairs if name not in _BROKER_OWNED), due_at


# reading and changing a stored message

_PROPERTY_NAMES = (
    "message_id",
    "user_id",
    "to",
    "subject",
    "reply_to",
    "correlation_id",
    "content_type",
    "content_encoding",
    "absolute_expiry_time",
    "creation_time",
    "group_id",
    "group_sequence",
    "reply_to_group_id",
)


# Service Bus's names of these properties, in the order that correlation filters encode them.
SYSTEM_PROPERTIES = {
    "CorrelationId": "correlation_id",
    "MessageId": "message_id",
    "To": "to",
    "ReplyTo": "reply_to",
    "Label": "subject",
    "SessionId": "group_id",
    "ReplyToSessionId": "reply_to_group_id",
    "ContentType": "content_type",
}


class MessageView:
    """The decoded properties of a message, for filters and duplicate detection."""

    def __init__(self, message: Message) -> None:
        bare = message.bare
        self.properties: dict[str, Any] = dict.fromkeys(_PROPERTY_NAMES)
        self.application: dict[str, Any] = {}
        for code, _, start, _ in _sections(bare):
            if code == PROPERTIES:
                self.properties.update(zip(_PROPERTY_NAMES, decoding.decode(bare, start)[0], strict=False))
            elif code == APPLICATION_PROPERTIES:
                self.application = decoding.decode(bare, start)[0]

    @property
    def message_id(self) -> str:
        return str(self.properties["message_id"])


def set_application_properties(message: Message, changes: Mapping[str, bytes]) -> None:
    """Set encoded application properties. All other bytes of the message stay the same."""
    if not changes:
        return
    before, after, kept = b"", b"", {}
    for code, section, start, end in _sections(message.bare):
        if code == APPLICATION_PROPERTIES:
            kept = decoding.encoded_map(message.bare, start)
        elif code == PROPERTIES:
            before += message.bare[section:end]
        else:
            after += message.bare[section:end]
    kept.update(changes)
    pairs = ((codec.string(name), value) for name, value in kept.items())
    application = codec.described(APPLICATION_PROPERTIES, codec.map_(pairs))
    message.bare = before + application + after
