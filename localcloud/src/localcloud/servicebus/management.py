"""$management: the request-response operations of an entity."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.deliveries import encode_delivery
from localcloud.servicebus.endpoints import as_text, properties_to_modify
from localcloud.servicebus.engine import Namespace, Subscription, Topic
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.errors import ArgumentInvalid, LockLost, NotAllowed, NotSupported
from localcloud.servicebus.filters import CorrelationFilter, Filter, Rule
from localcloud.servicebus.messages import SYSTEM_PROPERTIES, Message, parse_message
from localcloud.servicebus.requests import Reply, Request

PREFIX = "com.microsoft:"
MAX_REPLY_BYTES = 2 * 1024 * 1024  # of peeked messages: a client peeks again for more
MAX_ITEMS = 1000
_TIMESTAMP, _LONG = 0x83, 0x81  # constructors of array elements
_RULE, _EMPTY_ACTION = 0x13700000004, 0x13700000005
# An inconsistency of the service: filter descriptors have one zero less than those of rules and actions.
_TRUE, _CORRELATION = 0x1370000007, 0x1370000009
_UNSUPPORTED = {
    "renew-session-lock": "sessions",
    "get-session-state": "sessions",
    "set-session-state": "sessions",
    "get-message-sessions": "sessions",
    "add-rule": "rule changes at run time: write rules into Config.json",
    "remove-rule": "rule changes at run time: write rules into Config.json",
}


class ManagementNode:
    def __init__(self, namespace: Namespace, queue: Queue) -> None:
        self._namespace = namespace
        self._queue = queue
        self._operations: dict[str, Callable[[Request], Reply]] = {
            "renew-lock": self._renew_lock,
            "peek-message": self._peek,
            "schedule-message": self._schedule,
            "cancel-scheduled-message": self._cancel_scheduled,
            "receive-by-sequence-number": self._receive_deferred,
            "update-disposition": self._update_disposition,
            "enumerate-rules": self._enumerate_rules,
        }

    def operation_name(self, request: Request) -> str:
        return f"management.{request.operation.removeprefix(PREFIX)}"

    def answer(self, request: Request) -> Reply:
        name = request.operation.removeprefix(PREFIX)
        if name in _UNSUPPORTED:
            raise NotSupported(f"The local Service Bus has no {_UNSUPPORTED[name]}.")
        operation = self._operations.get(name)
        if operation is None:
            raise NotSupported(f"'{request.operation}' is not implemented by the local Service Bus.")
        if isinstance(self._queue, Topic) and name not in {"schedule-message", "cancel-scheduled-message"}:
            raise NotAllowed(f"'{self._queue.path}' is a topic: {name} needs a queue or a subscription.")
        return operation(request)

    def _renew_lock(self, request: Request) -> Reply:
        """Renew all locks or none."""
        tokens = _lock_tokens(request)
        if any(token not in self._queue.locked for token in tokens):
            raise LockLost
        expirations = [self._queue.renew(token) for token in tokens]
        return _ok([("expirations", codec.array(_TIMESTAMP, map(_int64, expirations)))])

    def _peek(self, request: Request) -> Reply:
        first = request.field("from-sequence-number", int)
        count = request.field("message-count", int)
        if count <= 0:
            raise ArgumentInvalid("peek-message: message-count is at least 1.")
        found: list[bytes] = []
        size = 0
        for message in self._queue.peek(first, count):
            encoded = encode_delivery(message, is_peeked=True)
            size += len(encoded)
            if found and size > MAX_REPLY_BYTES:
                break
            found.append(codec.map_([(codec.string("message"), codec.binary(encoded))]))
        if not found:
            return Reply(204, "No messages.", "com.microsoft:message-not-found")
        return _ok([("messages", codec.list_(found))])

    def _schedule(self, request: Request) -> Reply:
        if self._queue.is_dead_letter_queue:
            raise NotAllowed("Messages cannot be sent to a dead-letter queue.")
        messages = [_message_to_schedule(item) for item in _bounded(request.items("messages", dict))]
        numbers = self._namespace.send(self._queue, messages)
        return _ok([("sequence-numbers", codec.array(_LONG, map(_int64, numbers)))])

    def _cancel_scheduled(self, request: Request) -> Reply:
        self._queue.cancel_scheduled(_bounded(request.items("sequence-numbers", int)))
        return Reply()

    def _receive_deferred(self, request: Request) -> Reply:
        numbers = _bounded(request.items("sequence-numbers", int))
        delete = request.field("receiver-settle-mode", int) == 0
        messages = self._queue.receive_deferred(numbers, delete=delete)
        return _ok([("messages", codec.list_(_encode_deferred(message) for message in messages))])

    def _update_disposition(self, request: Request) -> Reply:
        """Settle all messages or none."""
        status = request.field("disposition-status", str)
        tokens = _lock_tokens(request)
        settle = self._settlement(status, request)
        if any(token not in self._queue.locked for token in tokens):
            raise LockLost
        for token in tokens:
            settle(token)
        return Reply()

    def _enumerate_rules(self, request: Request) -> Reply:
        if not isinstance(self._queue, Subscription):
            raise NotAllowed(f"'{self._queue.path}' is not a subscription, so it has no rules.")
        skip, top = request.field("skip", int), request.field("top", int)
        if skip < 0 or top < 0:
            raise ArgumentInvalid("enumerate-rules: skip and top are not negative.")
        created = self._namespace.started_at
        page = [_encode_rule(rule, created) for rule in self._queue.rules[skip : skip + top]]
        if not page:
            return Reply(204, "No rules.")
        rules = codec.list_(codec.map_([(codec.string("rule-description"), rule)]) for rule in page)
        return _ok([("rules", rules)])

    def _settlement(self, status: str, request: Request) -> Callable[[bytes], None]:
        queue = self._queue
        request.field("properties-to-modify", dict, default={})
        encoded = decoding.encoded_map(request.encoded_body).get("properties-to-modify")
        changes = properties_to_modify(encoded) if encoded is not None else {}
        if status == "completed":
            return queue.complete
        if status == "abandoned":
            return lambda token: queue.abandon(token, changes)
        if status == "defered":  # Service Bus's spelling
            return lambda token: queue.defer(token, changes)
        if status == "suspended":
            reason, description = (
                as_text(request.body.get(name)) for name in ("deadletter-reason", "deadletter-description")
            )
            return lambda token: queue.dead_letter(token, reason, description, changes)
        raise ArgumentInvalid(f"update-disposition: there is no disposition '{status}'.")


def _ok(fields: list[tuple[str, bytes]]) -> Reply:
    return Reply(body=codec.map_((codec.string(name), value) for name, value in fields))


def _int64(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def _bounded(items: list[Any]) -> list[Any]:
    if not 1 <= len(items) <= MAX_ITEMS:
        raise ArgumentInvalid(f"A request can have 1 to {MAX_ITEMS} items, not {len(items)}.")
    return items


def _lock_tokens(request: Request) -> list[bytes]:
    # A delivery tag has the byte order of a .NET Guid, an AMQP uuid has network byte order.
    tokens = [token.bytes_le for token in _bounded(request.items("lock-tokens", UUID))]
    if len(set(tokens)) != len(tokens):
        raise ArgumentInvalid(f"{request.operation}: a lock token is given twice.")
    return tokens


def _message_to_schedule(item: dict[Any, Any]) -> Message:
    payload = item.get("message")
    if not isinstance(payload, bytes):
        raise ArgumentInvalid("schedule-message: an item has a binary 'message'.")
    return parse_message(payload)


def _encode_deferred(message: Message) -> bytes:
    pairs = [(codec.string("message"), codec.binary(encode_delivery(message)))]
    if message.lock is not None:
        pairs.append((codec.string("lock-token"), codec.uuid_(UUID(bytes_le=message.lock))))
    return codec.map_(pairs)


def _encode_rule(rule: Rule, created_at: int) -> bytes:
    action = codec.described(_EMPTY_ACTION, codec.list_([]))
    fields = [_encode_filter(rule.filter), action, codec.string(rule.name), codec.timestamp(created_at)]
    return codec.described(_RULE, codec.list_(fields))


def _encode_filter(given: Filter) -> bytes:
    if isinstance(given, CorrelationFilter):
        return codec.described(_CORRELATION, codec.list_(_correlation_fields(given)))
    return codec.described(_TRUE, codec.list_([]))


def _correlation_fields(given: CorrelationFilter) -> list[bytes]:
    values = (given.system.get(name) for name in SYSTEM_PROPERTIES.values())
    fields = [codec.NULL if value is None else codec.string(value) for value in values]
    pairs = [(codec.string(name), _encode_value(value)) for name, value in given.application.items()]
    return [*fields, codec.map_(pairs)]


def _encode_value(value: Any) -> bytes:
    """Encode a value of Config.json, which has no other types."""
    if isinstance(value, bool):
        return codec.boolean(value)
    if isinstance(value, int):
        return codec.long(value)
    return codec.double(value) if isinstance(value, float) else codec.string(value)
