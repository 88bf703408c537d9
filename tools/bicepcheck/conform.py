"""Checks evaluated values against their resource types, which the Bicep source alone does not show."""

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tools.bicepcheck.builtins import Answer
from tools.bicepcheck.evaluate import Planned
from tools.bicepcheck.schema import ANY, Schema

__all__ = ["deviations"]

_KINDS = {dict: "object", list: "array", str: "string", Answer: "string", bool: "bool", int: "int"}
UNTYPED = ".functionAppConfig.siteUpdateStrategy"  # the service supports it, but its published types lack it


def deviations(resource: Planned, schema: Schema) -> Iterator[str]:
    """Yield the reasons why Azure would reject this resource."""
    found = schema.resource(f"{resource.type}@{resource.version}")
    if found is None:
        yield f"{resource.type}@{resource.version} is unknown: run python -m tools.azure_types"
        return
    yield from _too_long(resource)
    body = dict(resource.body)
    if "properties" in body:
        values = _limits()["values"].get(resource.type, {})
        yield from _misspelt(resource, values)
        body["properties"] = {
            name: value for name, value in resource.properties.items() if name not in values
        }
    yield from _value(body, found.body, resource.name, schema)


@lru_cache(maxsize=1)
def _limits() -> dict[str, Any]:
    """Return rules that the types lack: maximum lengths of names, and the current spelling of values."""
    limits: dict[str, Any] = json.loads(Path(__file__).with_name("limits.json").read_text())
    return limits


def _too_long(resource: Planned) -> Iterator[str]:
    most = _limits()["names"].get(resource.type)
    if most is not None and len(resource.name) > most:
        yield f"{resource.name}.name: {len(resource.name)} characters are more than {most}"


def _misspelt(resource: Planned, values: dict[str, list[str]]) -> Iterator[str]:
    for name, allowed in values.items():
        given = resource.properties.get(name)
        if given is not None and given not in allowed:
            yield f"{resource.name}.properties.{name} takes {' or '.join(allowed)}, not {given!r}"


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
    if beyond is not None and "[" not in str(value):  # a name in brackets represents a value from Azure
        yield f"{where}: {beyond}"


def _object(value: dict[str, Any], type_: str, where: str, schema: Schema) -> Iterator[str]:
    discriminator = schema.discriminator(type_)
    variant = schema.variant(type_, value.get(discriminator)) if discriminator else type_
    if variant is None:
        yield f"{where}.{discriminator}: {value.get(discriminator or '')!r} is unknown"
        return
    known = schema.base_properties(type_) | (schema.properties(variant) or {})
    additional = schema.additional(variant)
    for name, member in value.items():
        if name in known and known[name].read_only:
            yield f"{where}.{name} cannot be set"
        elif f"{where}.{name}".endswith(UNTYPED):
            continue
        elif name not in known and additional is None:
            yield f"{where} has no {name}"
        else:
            yield from _value(
                member, known[name].type if name in known else str(additional), f"{where}.{name}", schema
            )
    for name, each_property in known.items():
        if each_property.required and not each_property.read_only and value.get(name) is None:
            yield f"{where} needs {name}"
