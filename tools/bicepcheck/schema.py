"""The resource types and the types of their properties."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["ANY", "Property", "Resource", "Schema", "schema"]

FOLDER = Path(__file__).parent
ANY = "any"
_REQUIRED, _READ_ONLY = 1, 2
_KINDS = {
    "String": "string",
    "StringLiteral": "string",
    "Integer": "int",
    "Boolean": "bool",
    "Array": "array",
    "Object": "object",
    "DiscriminatedObject": "object",
}


@dataclass(frozen=True)
class Property:
    type: str
    required: bool = False
    read_only: bool = False


@dataclass(frozen=True)
class Resource:
    name: str
    body: str


class Schema:
    """The types, by id. ANY accepts every value."""

    def __init__(self, kept: dict[str, Any], supplement: dict[str, Any]) -> None:
        self._types: dict[str, dict[str, Any]] = kept["types"]
        self._resources = {name.lower(): Resource(name, body) for name, body in kept["resources"].items()}
        for name, body in supplement.items():
            self._resources[name.lower()] = Resource(name, self._described(body))

    def resource(self, name: str) -> Resource | None:
        return self._resources.get(name.lower())

    def kinds(self, type_: str) -> set[str]:
        """Return the accepted kinds of value. An empty set means any."""
        node = self._node(type_)
        if node["kind"] == "Union":
            allowed = [self.kinds(element) for element in node["elements"]]
            return set() if not all(allowed) else set().union(*allowed)
        return {_KINDS[node["kind"]]} if node["kind"] in _KINDS else set()

    def literals(self, type_: str) -> set[str] | None:
        """Return the strings that the type lists, or None.

        Most enumerations are open, so the compiler accepts other strings. Here, an unlisted string counts as
        an error.
        """
        node = self._node(type_)
        if node["kind"] == "StringLiteral":
            return {node["value"]}
        if node["kind"] != "Union":
            return None
        each = [self.literals(element) for element in node["elements"] if not self._is_open(element)]
        return None if None in each or not each else set().union(*(values for values in each if values))

    def _is_open(self, type_: str) -> bool:
        return bool(self._node(type_)["kind"] == "String")

    def beyond_limits(self, type_: str, value: str | int) -> str | None:
        """Return why the value exceeds a limit or has the wrong format, or None."""
        node = self._node(type_)
        size = len(value) if isinstance(value, str) else value
        if size < node.get("minLength" if isinstance(value, str) else "minValue", size):
            return f"{value!r} is too {'short' if isinstance(value, str) else 'small'}"
        if size > node.get("maxLength" if isinstance(value, str) else "maxValue", size):
            return f"{value!r} is too {'long' if isinstance(value, str) else 'large'}"
        if isinstance(value, str) and not re.search(node.get("pattern", ""), value):
            return f"{value!r} does not match {node['pattern']}"
        return None

    def item(self, type_: str) -> str:
        return str(self._node(type_).get("item", ANY))

    def discriminator(self, type_: str) -> str | None:
        return self._node(type_).get("discriminator")

    def variant(self, type_: str, value: str | None) -> str | None:
        """Return the type that the discriminator's value selects."""
        elements: dict[str, str] = self._node(type_)["elements"]
        return elements.get(value) if value is not None else None

    def properties(self, type_: str) -> dict[str, Property] | None:
        """Return the named properties of an object, or None if they are unknown."""
        node = self._node(type_)
        if node["kind"] == "DiscriminatedObject":
            merged = dict(_properties(node.get("baseProperties", {})))
            for variant in node["elements"].values():
                merged |= self.properties(variant) or {}
            return merged
        return dict(_properties(node["properties"])) if node["kind"] == "Object" else None

    def additional(self, type_: str) -> str | None:
        """Return the type of unnamed properties, or None if they are not allowed."""
        return self._node(type_).get("additional")

    def base_properties(self, type_: str) -> dict[str, Property]:
        return dict(_properties(self._node(type_).get("baseProperties", {})))

    def _node(self, type_: str) -> dict[str, Any]:
        return {"kind": "Any"} if type_ == ANY else self._types[type_]

    # the supplement's notation: "string!" is required, "string-" read-only, {"*": ...} allows any name

    def _described(self, shape: Any) -> str:
        if isinstance(shape, list):
            return self._new({"kind": "Array", "item": self._described(shape[0])})
        if isinstance(shape, dict):
            return self._new(self._object(shape))
        values = [value.strip("'") for value in shape.split("|")] if shape.startswith("'") else []
        if values:
            return self._new({"kind": "Union", "elements": [self._literal(value) for value in values]})
        return self._new(
            {"kind": {"string": "String", "int": "Integer", "bool": "Boolean"}.get(shape, "Any")}
        )

    def _object(self, shape: dict[str, Any]) -> dict[str, Any]:
        node: dict[str, Any] = {"kind": "Object", "properties": {}}
        for key, value in shape.items():
            if key == "*":
                node["additional"] = self._described(value)
                continue
            mark = value[-1] if isinstance(value, str) else key[-1]
            plain = value.rstrip("!-") if isinstance(value, str) else value
            flags = {"!": _REQUIRED, "-": _READ_ONLY}.get(mark, 0)
            node["properties"][key.rstrip("!")] = [self._described(plain), flags]
        return node

    def _literal(self, value: str) -> str:
        return self._new({"kind": "StringLiteral", "value": value})

    def _new(self, node: dict[str, Any]) -> str:
        name = f"s{len(self._types)}"
        self._types[name] = node
        return name


def _properties(described: dict[str, list[Any]]) -> Iterator[tuple[str, Property]]:
    for name, (type_, flags) in described.items():
        yield name, Property(type_, bool(flags & _REQUIRED), bool(flags & _READ_ONLY))


@lru_cache(maxsize=1)
def schema() -> Schema:
    kept = json.loads((FOLDER / "types.json").read_text())
    return Schema(kept, json.loads((FOLDER / "supplement.json").read_text()))
