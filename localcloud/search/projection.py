"""A document as it is shown: the fields asked for that may be retrieved, those never set filled in."""

from typing import Any

from localcloud.search.fields import COMPLEX, Field
from localcloud.search.schema import Schema


def project(document: dict[str, Any], schema: Schema, select: list[str]) -> dict[str, Any]:
    """`select` holds paths; empty means everything."""
    return _object(document, schema.fields, _tree(select))


def _tree(paths: list[str]) -> dict[str, Any]:
    """Paths as nested names; an empty inner one means the whole field."""
    tree: dict[str, Any] = {}
    for path in paths:
        *parents, name = path.split("/")
        inner = tree
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner.setdefault(name, {})
    return tree


def _object(value: dict[str, Any], fields: tuple[Field, ...], chosen: dict[str, Any]) -> dict[str, Any]:
    return {
        field.name: _value(value.get(field.name), field, chosen.get(field.name, {}))
        for field in fields
        if field.retrievable and (not chosen or field.name in chosen)
    }


def _value(value: Any, field: Field, chosen: dict[str, Any]) -> Any:
    if value is None:
        return [] if field.collection and not field.is_vector else None
    if field.type != COMPLEX:
        return value
    if field.collection:
        return [_object(item, field.fields, chosen) for item in value]
    return _object(value, field.fields, chosen)
