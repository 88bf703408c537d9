"""Service Bus messages as the real host passes them to functions: a body and trigger metadata.

The metadata has only what the real extension (5.x) provides, because anything else would be None in Azure.
"""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from azure.functions.meta import Datum, get_binding_registry
from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.amqp import AmqpMessageBodyType

_NO_EXPIRY = "9999-12-31T23:59:59.999999Z"


def message_body(message: ServiceBusReceivedMessage) -> bytes:
    kind = message.body_type
    if kind == AmqpMessageBodyType.DATA:
        return b"".join(message.body)
    value = list(message.body) if kind == AmqpMessageBodyType.SEQUENCE else message.body
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(_plain(value))).encode()


def message_metadata(message: ServiceBusReceivedMessage) -> dict[str, Any]:
    """Return a message's trigger metadata as JSON values."""
    properties = _properties(message.application_properties)
    enqueued = message.enqueued_time_utc
    expires = message.expires_at_utc
    return {
        "MessageId": message.message_id,
        "SequenceNumber": message.sequence_number,
        "DeliveryCount": (message.delivery_count or 0) + 1,  # the AMQP header counts previous deliveries
        "EnqueuedTimeUtc": _utc(enqueued) if enqueued else None,
        "EnqueuedTime": _utc(enqueued) if enqueued else None,
        "ExpiresAtUtc": _utc(expires) if expires else _NO_EXPIRY,
        "ExpiresAt": _utc(expires) if expires else _NO_EXPIRY,
        "LockToken": str(message.lock_token) if message.lock_token else None,
        "ContentType": message.content_type,
        "CorrelationId": message.correlation_id,
        "Subject": message.subject,
        "Label": message.subject,
        "To": message.to,
        "ReplyTo": message.reply_to,
        "ReplyToSessionId": message.reply_to_session_id,
        "SessionId": message.session_id,
        "PartitionKey": message.partition_key,
        "TransactionPartitionKey": None,
        "DeadLetterSource": message.dead_letter_source,
        "ApplicationProperties": properties,
        "UserProperties": properties,
    }


def message_argument(message: ServiceBusReceivedMessage) -> Any:
    """Return the function's ServiceBusMessage."""
    body = _text_or_bytes(message_body(message))
    datum = Datum(body, "bytes" if isinstance(body, bytes) else "string")
    return _converter().decode(datum, trigger_metadata=_single(message_metadata(message)))


def text_argument(text: str) -> Any:
    """Return the argument of a function that the admin API calls without a message."""
    metadata = {"MessageId": "", "DeliveryCount": 1, "UserProperties": {}, "ApplicationProperties": {}}
    return _converter().decode(Datum(text, "string"), trigger_metadata=_single(metadata))


def _single(metadata: Mapping[str, Any]) -> dict[str, Datum]:
    return {
        name: Datum(value, "string") if isinstance(value, str) else Datum(json.dumps(value), "json")
        for name, value in metadata.items()
        if value is not None
    }


def _text_or_bytes(body: bytes) -> str | bytes:
    """Return text if the body is UTF-8, as the host does, otherwise bytes."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _properties(properties: Mapping[Any, Any] | None) -> dict[str, Any]:
    return {str(_plain(name)): _plain(value) for name, value in (properties or {}).items()}


def _plain(value: Any) -> Any:
    """Convert an AMQP value to .NET's JSON form."""
    if isinstance(value, Mapping):
        return _properties(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes | bytearray):
        return _text_or_base64(bytes(value))
    if isinstance(value, datetime):
        return _utc(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _text_or_base64(value: bytes) -> str:
    try:
        return value.decode()  # the SDK leaves AMQP strings as bytes
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _utc(moment: datetime) -> str:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _converter() -> Any:
    return get_binding_registry().get("serviceBusTrigger")
