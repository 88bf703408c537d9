"""What an expression can be: enough of its type to tell what cannot be right."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tree_sitter import Node

from tools.bicepcheck.declarations import (
    Declaration,
    File,
    Module,
    Output,
    Parameter,
    ResourceUse,
    Variable,
    literal,
    read_file,
)
from tools.bicepcheck.functions import FUNCTIONS
from tools.bicepcheck.schema import ANY, Schema
from tools.bicepcheck.syntax import literal_text, named, properties, text

__all__ = ["UNKNOWN", "MissingPropertyError", "Shape", "Shapes"]

_PRIMITIVES = {"string", "int", "bool", "object", "array"}
_LITERALS = {"string": "string", "number": "int", "boolean": "bool", "null": "null"}
_DEEPEST = 40


@dataclass(frozen=True)
class Shape:
    """`kinds` is empty where nothing is known. One of the others says more, where more is known."""

    kinds: frozenset[str] = frozenset()
    values: tuple[Any, ...] | None = None  # the only values that it can have
    type: str | None = None  # a type of the schema
    object: Node | None = None  # an object as it is written
    json: Any = None  # the content of a file
    declaration: Declaration | None = None  # a resource or a module itself
    many: bool = False  # a resource or module that is deployed in a loop


UNKNOWN = Shape()


class MissingPropertyError(Exception):
    """The value is known not to have that property."""


class Shapes:
    def __init__(self, file: File, schema: Schema) -> None:
        self._file = file
        self._schema = schema
        self._depth = 0

    def of(self, node: Node, locals_: frozenset[str]) -> Shape:
        self._depth += 1
        try:
            return UNKNOWN if self._depth > _DEEPEST else self._of(node, locals_)
        finally:
            self._depth -= 1

    def _of(self, node: Node, locals_: frozenset[str]) -> Shape:  # noqa: PLR0911 - one line a kind of node
        match node.type:
            case "string" | "number" | "boolean" | "null":
                value = literal(node)
                return Shape(frozenset({_LITERALS[node.type]}), None if value is None else (value,))
            case "object":
                return Shape(frozenset({"object"}), object=node)
            case "array" | "for_statement":
                return Shape(frozenset({"array"}))
            case "parenthesized_expression":
                return self.of(named(node)[0], locals_)
            case "identifier":
                return UNKNOWN if text(node) in locals_ else self._declared(text(node))
            case "ternary_expression":
                return self._either(node, locals_)
            case "binary_expression" | "unary_expression":
                return self._computed(node, locals_)
            case "call_expression":
                return self._returned(node)
            case "member_expression" | "subscript_expression":
                return self._accessed(node, locals_)
        return UNKNOWN

    def _declared(self, name: str) -> Shape:
        match self._file.named(name):
            case Parameter() as parameter:
                kinds = frozenset({parameter.type}) if parameter.type in _PRIMITIVES else frozenset[str]()
                allowed = parameter.allowed
                return Shape(kinds, None if allowed is None else tuple(allowed))
            case Variable() as variable:
                return self.of(variable.value, frozenset())
            case ResourceUse() as resource:
                found = self._schema.resource(resource.target)
                type_ = found.body if found else ANY
                return Shape(type=type_, declaration=resource, many=resource.loop is not None)
            case Module() as module:
                return Shape(declaration=module, many=module.loop is not None)
        return UNKNOWN

    def _either(self, node: Node, locals_: frozenset[str]) -> Shape:
        branches = [self.of(branch, locals_) for branch in named(node)[1:]]
        if not all(branch.kinds for branch in branches):
            return UNKNOWN
        kinds = frozenset[str]().union(*(branch.kinds for branch in branches))
        values = [branch.values for branch in branches]
        known = None if None in values else tuple(value for each in values for value in each or ())
        return Shape(kinds, known)

    def _computed(self, node: Node, locals_: frozenset[str]) -> Shape:
        operator = text(node.child_by_field_name("operator") or node)
        if operator in {"==", "!=", "=~", "!~", "<", ">", "<=", ">=", "&&", "||", "!"}:
            return Shape(frozenset({"bool"}))
        if operator == "??":
            left, right = (self.of(side, locals_) for side in named(node)[:2])
            return Shape(left.kinds | right.kinds) if left.kinds and right.kinds else UNKNOWN
        return Shape(frozenset({"int"}))

    def _returned(self, node: Node) -> Shape:
        called = text(node.named_children[0])
        if called == "loadJsonContent":
            file = loaded_file(self._file.path, node)
            if file is not None and file.is_file():
                return _of_json(json.loads(file.read_text()))
        returns = FUNCTIONS[called].returns if called in FUNCTIONS else ""
        return Shape(frozenset({returns})) if returns else UNKNOWN

    def _accessed(self, node: Node, locals_: frozenset[str]) -> Shape:
        parts = named(node)
        owner = self.of(parts[0], locals_)
        if node.type == "member_expression":
            return self.member(owner, text(parts[-1]))
        name = literal_text(parts[-1])
        if name is None:
            return self._item(owner)
        return self.member(owner, name)

    def _item(self, owner: Shape) -> Shape:
        if owner.many:
            return Shape(type=owner.type, declaration=owner.declaration)
        if owner.type is not None and owner.declaration is None:
            return self._typed(self._schema.item(owner.type))
        return UNKNOWN

    def member(self, owner: Shape, name: str) -> Shape:
        """What a property of the value is; raises where there is none of that name."""
        if owner.many:
            raise MissingPropertyError(f"this is a list: say which one has the {name}")
        if isinstance(owner.declaration, Module):
            return self._module_member(owner.declaration, name)
        if owner.type is not None:
            return self._typed_member(owner.type, name)
        if owner.object is not None:
            written = properties(owner.object)
            if name in written:
                return self.of(written[name], frozenset())
            raise MissingPropertyError(f"there is no {name} among {', '.join(sorted(written))}")
        if isinstance(owner.json, dict):
            if name in owner.json:
                return _of_json(owner.json[name])
            raise MissingPropertyError(f"the file has no {name}")
        if isinstance(owner.json, Output):
            return Shape(frozenset({owner.json.type}) & _PRIMITIVES)
        return UNKNOWN

    def _typed_member(self, type_: str, name: str) -> Shape:
        known = self._schema.properties(type_)
        if known is None or (name not in known and self._schema.additional(type_) is not None):
            return UNKNOWN
        if name not in known:
            raise MissingPropertyError(f"there is no {name} among {', '.join(sorted(known))}")
        return self._typed(known[name].type)

    def _typed(self, type_: str) -> Shape:
        literals = self._schema.literals(type_)
        return Shape(
            frozenset(self._schema.kinds(type_)), None if literals is None else tuple(literals), type_
        )

    def _module_member(self, module: Module, name: str) -> Shape:
        if name == "name":
            return Shape(frozenset({"string"}))
        if name != "outputs":
            raise MissingPropertyError(f"a module has outputs, no {name}")
        path = self._file.path.parent / module.target
        if not path.is_file():
            return UNKNOWN
        return Shape(json={each.name: each for each in read_file(path).all(Output)})


def loaded_file(source: Path, call: Node) -> Path | None:
    """The file that a load...Content() names."""
    arguments = named(call.named_children[1])
    name = literal_text(arguments[0]) if arguments else None
    return None if name is None else source.parent / name


def _of_json(value: Any) -> Shape:
    if isinstance(value, Output):
        return Shape(frozenset({value.type} & _PRIMITIVES))
    kind = {dict: "object", list: "array", str: "string", bool: "bool", int: "int"}.get(type(value), "")
    values = (value,) if kind == "string" else None
    return Shape(frozenset({kind} if kind else ()), values, json=value if isinstance(value, dict) else None)
