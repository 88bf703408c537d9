"""Encodes rules for `enumerate-rules`."""

from typing import Any

from localcloud.servicebus.amqp import codec
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.filters import CorrelationFilter, Filter, Rule, SqlFilter
from localcloud.servicebus.messages import SYSTEM_PROPERTIES

_RULE, _EMPTY_ACTION = 0x13700000004, 0x13700000005
# The service's own inconsistency: descriptors of filters have one zero less than those of rules and actions.
_SQL, _TRUE, _FALSE, _CORRELATION = 0x1370000006, 0x1370000007, 0x1370000008, 0x1370000009


def encode_rule(rule: Rule, created_at: int) -> bytes:
    action = codec.described(_EMPTY_ACTION, codec.list_([]))
    fields = [_encode_filter(rule.filter), action, codec.string(rule.name), codec.timestamp(created_at)]
    return codec.described(_RULE, codec.list_(fields))


def _encode_filter(given: Filter) -> bytes:
    if isinstance(given, SqlFilter):
        if given.constant is not None:
            return codec.described(_TRUE if given.constant else _FALSE, codec.list_([]))
        return codec.described(_SQL, codec.list_([codec.string(given.text)]))
    if isinstance(given, CorrelationFilter):
        return codec.described(_CORRELATION, codec.list_(_correlation_fields(given)))
    raise TypeError(f"there is no filter {type(given).__name__}")


def _correlation_fields(given: CorrelationFilter) -> list[bytes]:
    values = (given.system.get(name) for name in SYSTEM_PROPERTIES.values())
    fields = [NULL if value is None else codec.string(value) for value in values]
    pairs = [(codec.string(name), _encode_value(value)) for name, value in given.application.items()]
    return [*fields, codec.map_(pairs)]


def _encode_value(value: Any) -> bytes:
    """A value of Config.json, which has no other types."""
    if isinstance(value, bool):
        return codec.boolean(value)
    if isinstance(value, int):
        return codec.long(value)
    return codec.double(value) if isinstance(value, float) else codec.string(value)
