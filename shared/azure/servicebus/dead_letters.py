"""Dead letters as an operator sees them, and copies of messages that can be resent."""

import base64
import math
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from shared.azure.servicebus.bus import Bus, sized
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure.servicebus import ServiceBusReceivedMessage, amqp
else:
    amqp = lazy("azure.servicebus.amqp")

# Without the creation and expiry times, which belong to the first sending.
PROPERTIES = (
    "message_id", "user_id", "to", "subject", "reply_to", "correlation_id", "content_type",
    "content_encoding", "group_id", "group_sequence", "reply_to_group_id",
)  # fmt: skip
HEADER = ("time_to_live", "durable", "priority")
KEPT_ANNOTATIONS = frozenset({"x-opt-partition-key", "x-opt-via-partition-key"})
BROKERS_ANNOTATIONS = "x-opt-"
DEAD_LETTER_PREFIX = "deadletter"
RETRY_PREFIX = "retry"  # the prefix of the properties that count an event's retries
FAILURE_PREFIX = "failure_"  # the prefix of the properties with the cause of a dead letter
OF_EARLIER_DELIVERIES = (DEAD_LETTER_PREFIX, RETRY_PREFIX, FAILURE_PREFIX)
DATA = "data"
BODY_KINDS = frozenset({DATA, "sequence", "value"})


def without_earlier(
    properties: Mapping[str, Any], prefixes: tuple[str, ...] = OF_EARLIER_DELIVERIES
) -> dict[str, Any]:
    """Return the properties without the ones that earlier deliveries added."""
    return {name: value for name, value in properties.items() if not name.lower().startswith(prefixes)}


def was_dead_letter(properties: Mapping[str, Any]) -> bool:
    """Return whether a tool resent the message from the dead-letter queue with all its properties."""
    return any(name.lower().startswith(DEAD_LETTER_PREFIX) for name in properties)


@dataclass(frozen=True)
class MessageCopy:
    body_kind: str
    body: Any
    properties: Mapping[str, Any]
    header: Mapping[str, Any]
    application_properties: Mapping[str, Any]
    annotations: Mapping[str, Any]
    footer: Mapping[str, Any]

    @classmethod
    def of(cls, message: "ServiceBusReceivedMessage") -> "MessageCopy":
        raw = message.raw_amqp_message
        data = raw.body_type.value == DATA
        body = list(raw.body) if data or hasattr(raw.body, "__next__") else raw.body  # a sequence or a value
        properties = {name: getattr(raw.properties, name, None) for name in PROPERTIES}
        return cls(
            body_kind=raw.body_type.value,
            body=body if data else _plain(body),
            properties={
                name: value if name == "user_id" else _plain(value)
                for name, value in properties.items()
                if value is not None
            },
            header={name: value for name in HEADER if (value := getattr(raw.header, name, None)) is not None},
            application_properties=_named(raw.application_properties),
            annotations=_named(raw.annotations),
            footer=_named(raw.footer),
        )

    def data(self) -> bytes:
        if self.body_kind == DATA:
            return b"".join(self.body)
        if isinstance(self.body, bytes):
            return self.body
        return ("" if self.body is None else str(self.body)).encode()

    def outgoing(self, message_id: str, more: Mapping[str, Any]) -> "amqp.AmqpAnnotatedMessage":
        """Return the message with this id and these additional properties, without those of a dead letter."""
        original = without_earlier(self.application_properties)
        annotations = {
            name: value
            for name, value in self.annotations.items()
            if name in KEPT_ANNOTATIONS or not name.startswith(BROKERS_ANNOTATIONS)
        }
        body: dict[str, Any] = {f"{self.body_kind}_body": self.body}
        return amqp.AmqpAnnotatedMessage(
            **body,
            header=dict(self.header) or None,
            properties={**self.properties, "message_id": message_id},
            application_properties={name: sized(value) for name, value in {**original, **more}.items()},
            annotations={name: sized(value) for name, value in annotations.items()} or None,
            footer=dict(self.footer) or None,
        )

    @property
    def travels_alone(self) -> bool:
        return "group_id" in self.properties or not KEPT_ANNOTATIONS.isdisjoint(self.annotations)

    def record(self) -> dict[str, Any]:
        return {
            "body_kind": self.body_kind,
            "body": to_json(self.body),
            "header": dict(self.header),
            **{name: to_json(dict(getattr(self, name)))["$map"] for name in _MAPS},
        }

    @classmethod
    def from_record(cls, record: Any) -> "MessageCopy":
        """Parse a record of an archive file. Raise ValueError if it is invalid, because users may edit it."""
        try:
            maps = {name: from_json({"$map": record[name]}) for name in _MAPS}
            kind, body, header = record["body_kind"], from_json(record["body"]), record["header"]
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise ValueError(f"not a message as it was archived: {type(error).__name__}: {error}") from None
        is_data = isinstance(body, list) and all(isinstance(section, bytes) for section in body)
        if kind not in BODY_KINDS or (kind == DATA and not is_data) or not isinstance(header, dict):
            raise ValueError("not a message as it was archived: its body or its header is of another kind")
        return cls(kind, body, header=header, **maps)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(name): _plain(item) for name, item in value.items()}
    return value


def _named(values: Mapping[Any, Any] | None) -> dict[str, Any]:
    return {str(_plain(name)): _plain(value) for name, value in (values or {}).items()}


_MAPS = ("properties", "application_properties", "annotations", "footer")
# A value without a JSON type becomes an object with one key, the type. Each row writes and reads a type.
_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "$double": (float, str, float),
    "$binary": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "$uuid": (UUID, str, UUID),
    "$time": (datetime, datetime.isoformat, datetime.fromisoformat),
    "$decimal": (Decimal, str, Decimal),
    "$text": (object, str, str),
}


def to_json(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {"$map": [[to_json(name), to_json(item)] for name, item in value.items()]}
    return next({kind: write(value)} for kind, (of, write, _) in _KINDS.items() if isinstance(value, of))


def from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        if kind == "$map":
            return {from_json(name): from_json(item) for name, item in content}
        return _KINDS[kind][2](content)
    return value


REQUEUED_FROM = "requeued_from"
REQUEUED_BY = "requeue_operation"
PAGE = 1000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class DeadLetter:
    queue: str
    sequence_number: int
    message_id: str | None
    enqueued_at: datetime
    delivery_count: int
    reason: str
    description: str
    copy: MessageCopy

    @classmethod
    def of(cls, queue: str, message: "ServiceBusReceivedMessage") -> "DeadLetter":
        copy = MessageCopy.of(message)
        given = copy.application_properties
        message_id = copy.properties.get("message_id")
        return cls(
            queue=queue,
            sequence_number=sequence_number(message),
            message_id=None if message_id is None else str(message_id),
            enqueued_at=message.enqueued_time_utc or EPOCH,
            delivery_count=message.delivery_count or 0,
            reason=str(given.get("DeadLetterReason") or ""),
            description=str(given.get("DeadLetterErrorDescription") or ""),
            copy=copy,
        )

    @property
    def properties(self) -> Mapping[str, Any]:
        return self.copy.application_properties

    @property
    def subject(self) -> str:
        return str(self.copy.properties.get("subject") or "")

    def record(self) -> dict[str, Any]:
        """Return all data for an export or an archive. Its `message` is enough to resend it."""
        named = {name: value for name, value in vars(self).items() if name != "copy"}
        return {**named, "enqueued_at": self.enqueued_at.isoformat(), "message": self.copy.record()}


def sequence_number(message: "ServiceBusReceivedMessage") -> int:
    number = message.sequence_number
    if number is None:
        raise ValueError("the broker delivered a message without a sequence number")
    return number


async def peek_all(
    bus: Bus, queue: str, *, start: int = 1, most: int | None = None
) -> AsyncIterator[DeadLetter]:
    """Yield every dead letter of the queue in order. A peek neither locks a message nor counts a delivery."""
    while page := await bus.peek_dead_letters(queue, start=start, count=PAGE):
        for message in page if most is None else page[:most]:
            yield DeadLetter.of(queue, message)
        start = sequence_number(page[-1]) + 1
        if most is not None and (most := most - len(page)) <= 0:
            return
