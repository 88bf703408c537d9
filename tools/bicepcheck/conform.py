"""Holds a value that was worked out against its resource type: what the written Bicep alone does not show."""

from collections.abc import Iterator
from typing import Any

from tools.bicepcheck.builtins import Answer
from tools.bicepcheck.evaluate import Planned
from tools.bicepcheck.schema import ANY, Schema

__all__ = ["deviations"]

_KINDS = {dict: "object", list: "array", str: "string", Answer: "string", bool: "bool", int: "int"}


def deviations(resource: Planned, schema: Schema) -> Iterator[str]:
    """What Azure would refuse of this resource, a line each."""
    found = schema.resource(f"{resource.type}@{resource.version}")
    if found is None:
        yield f"{resource.type}@{resource.version} is not known"
    else:
        yield from _value(resource.body, found.body, resource.name, schema)


def _value(value: Any, type_: str, where: str, schema: Schema) -> Iterator[str]:
    if value is None or type_ == ANY:
        return
    kinds = schema.kinds(type_)
    kind = _KINDS[type(value)]
    if kinds and kind not in kinds:
        yield f"{where} takes {' or '.join(sorted(kinds))}, not {kind} {value!r}"
    elif kind == "object" and kinds:
        yield from _object(value, type_, where, schema)
    elif kind == "array" and kinds:
        for index, item in enumerate(value):
            yield from _value(item, schema.item(type_), f"{where}[{index}]", schema)
    elif kind in ("string", "int") and not isinstance(value, Answer):
        yield from _plain(value, type_, where, schema)


def _plain(value: str | int, type_: str, where: str, schema: Schema) -> Iterator[str]:
    literals = schema.literals(type_)
    if literals is not None and value not in literals:
        yield f"{where} takes {' or '.join(sorted(literals))}, not {value!r}"
    beyond = schema.beyond_limits(type_, value)
    if beyond is not None and "[" not in str(value):  # a name in brackets stands for Azure's answer
        yield f"{where}: {beyond}"


def _object(value: dict[str, Any], type_: str, where: str, schema: Schema) -> Iterator[str]:
    discriminator = schema.discriminator(type_)
    variant = schema.variant(type_, value.get(discriminator)) if discriminator else type_
    if variant is None:
        yield f"{where}.{discriminator}: {value.get(discriminator or '')!r} is not known"
        return
    known = schema.base_properties(type_) | (schema.properties(variant) or {})
    additional = schema.additional(variant)
    for name, each in value.items():
        if name in known and known[name].read_only:
            yield f"{where}.{name} cannot be set"
        elif name not in known and additional is None:
            yield f"{where} has no {name}"
        else:
            yield from _value(
                each, known[name].type if name in known else str(additional), f"{where}.{name}", schema
            )
    for name, each_property in known.items():
        if each_property.required and not each_property.read_only and value.get(name) is None:
            yield f"{where} needs {name}"
