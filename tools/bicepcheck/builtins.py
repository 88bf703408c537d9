"""Bicep's functions, evaluated without Azure as far as possible."""

import base64
import ipaddress
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["BUILTINS", "Answer", "load"]


class Answer(str):
    """A value that only Azure knows, as a name in brackets."""

    __slots__ = ()

    def member(self, name: str) -> "Answer":
        return Answer(f"{self.rstrip(']')}.{name}]")


def load(path: Path, *, as_json: bool) -> Any:
    content = path.read_text()
    return json.loads(content) if as_json else content


def _flatten(lists: list[list[Any]]) -> list[Any]:
    return [item for values in lists for item in values]


def _union(*values: Any) -> dict[str, Any]:
    return {name: value for found_value in values for name, value in found_value.items()}


def _concat(*values: Any) -> Any:
    return _flatten(list(values)) if isinstance(values[0], list) else "".join(values)


def _to_object(
    items: list[Any], key: Callable[[Any], str], value: Callable[[Any], Any] = lambda item: item
) -> dict[str, Any]:
    return {key(item): value(item) for item in items}


def _items(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value[key]} for key in sorted(value)]


def _subnet(prefix: str, size: int, index: int) -> str:
    return str(list(ipaddress.ip_network(prefix).subnets(new_prefix=size))[index])


BUILTINS: dict[str, Callable[..., Any]] = {
    "any": lambda value: value,
    "base64ToString": lambda value: base64.b64decode(value).decode(),
    "cidrSubnet": _subnet,
    "concat": _concat,
    "contains": lambda container, item: item in container,
    "empty": lambda value: not value,
    "environment": lambda: Answer("[environment]"),
    "indexOf": lambda container, item: container.index(item) if item in container else -1,
    "json": json.loads,
    "filter": lambda items, function: [item for item in items if function(item)],
    "flatten": _flatten,
    "guid": lambda *parts: str(uuid.uuid5(uuid.NAMESPACE_URL, "|".join(parts))),
    "items": _items,
    "join": lambda values, separator: separator.join(values),
    "length": len,
    "map": lambda items, function: [function(item) for item in items],
    "objectKeys": sorted,
    "range": lambda start, count: list(range(start, start + count)),
    "replace": lambda value, old, new: type(value)(value.replace(old, new)),
    "resourceGroup": lambda: Answer("[resourceGroup]"),
    "split": lambda value, separator: value.split(separator),
    "string": json.dumps,
    "subscription": lambda: Answer("[subscription]"),
    "subscriptionResourceId": lambda type_, name: f"/{type_}/{name}",
    "take": lambda value, count: value[:count],
    "tenant": lambda: Answer("[tenant]"),
    "toLower": str.lower,
    "toObject": _to_object,
    "union": _union,
    "uniqueString": lambda *_: "abcdefghijklm",
}
