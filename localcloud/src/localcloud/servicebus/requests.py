"""Requests to $management and $cbs, and their replies: AMQP messages whose body is a value."""

from dataclasses import dataclass
from typing import Any

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.decoding import DecodeError, Described
from localcloud.servicebus.amqp.links import MAX_TRANSFER_BYTES
from localcloud.servicebus.errors import ArgumentInvalid, BrokerError, DecodeFailed, MessageTooLarge
from localcloud.servicebus.messages import APPLICATION_PROPERTIES, DATA, PROPERTIES, VALUE

_REPLY_TO = 4  # index in the properties of a message
# The two nodes spell the status of a reply differently.
_MANAGEMENT_STATUS = ("statusCode", "statusDescription")
_CBS_STATUS = ("status-code", "status-description")


@dataclass
class Request:
    operation: str
    properties: dict[str, Any]
    body: Any
    encoded_body: bytes
    message_id: bytes  # encoded, because the reply's correlation-id has the same type
    reply_to: str | None

    @classmethod
    def parse(cls, payload: bytes) -> "Request":
        if len(payload) > MAX_TRANSFER_BYTES:
            raise MessageTooLarge
        try:
            return cls._parse(payload)
        except DecodeError as error:
            raise DecodeFailed(f"The request is malformed: {error}.") from error

    @classmethod
    def _parse(cls, payload: bytes) -> "Request":
        properties: list[Any] = []
        application: dict[str, Any] = {}
        message_id, body, encoded_body = NULL, None, NULL
        position = 0
        while position < len(payload):
            section, position = decoding.decode(payload, position)
            if not isinstance(section, Described):
                raise DecodeError("a message is a series of described sections")
            if section.descriptor == PROPERTIES and isinstance(section.value, list):
                properties = section.value
                message_id = next(iter(decoding.encoded_items(section.encoded)), NULL)
            elif section.descriptor == APPLICATION_PROPERTIES and isinstance(section.value, dict):
                application = section.value
            elif section.descriptor in {VALUE, DATA}:
                body, encoded_body = section.value, section.encoded
        reply_to = properties[_REPLY_TO] if len(properties) > _REPLY_TO else None
        operation = str(application.get("operation"))
        return cls(operation, application, body, encoded_body, message_id, reply_to)

    def field(self, name: str, kind: type, *, default: Any = None) -> Any:
        """Return a field of a map body."""
        if not isinstance(self.body, dict):
            raise ArgumentInvalid(f"{self.operation}: the body is a map.")
        value = self.body.get(name, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ArgumentInvalid(f"{self.operation}: {name} is missing or not of type {kind.__name__}.")
        return value

    def items(self, name: str, kind: type) -> list[Any]:
        values = self.field(name, list)
        if not all(isinstance(value, kind) for value in values):
            raise ArgumentInvalid(
                f"{self.operation}: {name} has an item that is not of type {kind.__name__}."
            )
        return list(values)


@dataclass
class Reply:
    status: int = 200
    description: str = "OK"
    condition: str | None = None
    body: bytes = NULL

    @classmethod
    def refused(cls, error: BrokerError) -> "Reply":
        return cls(error.status, error.description, error.condition)

    def encode(self, request: Request, path: str) -> bytes:
        status, description = _CBS_STATUS if path == "$cbs" else _MANAGEMENT_STATUS
        pairs = [
            (codec.string(status), codec.int_(self.status)),
            (codec.string(description), codec.string(self.description)),
        ]
        if self.condition is not None:
            pairs.append((codec.string("errorCondition"), codec.symbol(self.condition)))
        properties = codec.list_([NULL, NULL, NULL, NULL, NULL, request.message_id])
        return (
            codec.described(PROPERTIES, properties)
            + codec.described(APPLICATION_PROPERTIES, codec.map_(pairs))
            + codec.described(VALUE, self.body)
        )
