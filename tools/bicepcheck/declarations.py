"""The declarations of a Bicep file: parameters, variables, resources, modules and outputs."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tree_sitter import Node

from tools.bicepcheck.syntax import literal_text, named, parse, text

__all__ = [
    "Declaration",
    "Deployed",
    "File",
    "Module",
    "Output",
    "Parameter",
    "ResourceUse",
    "Variable",
    "read_file",
]


@dataclass(frozen=True)
class Declaration:
    name: str
    node: Node
    decorators: dict[str, Node]


@dataclass(frozen=True)
class Parameter(Declaration):
    type: str
    default: Node | None
    nullable: bool

    @property
    def required(self) -> bool:
        return self.default is None and not self.nullable

    @property
    def allowed(self) -> list[Any] | None:
        """The allowed values, if they are declared."""
        decorator = self.decorators.get("allowed")
        if decorator is None:
            return None
        items = named(named(decorator)[1])[0]
        return [literal(item) for item in named(items)]

    def refuses(self, value: Any) -> bool:
        """Return whether the decorators exclude the value."""
        if self.allowed is not None and value not in self.allowed:
            return True
        if not isinstance(value, str | int):
            return False
        size = len(value) if isinstance(value, str) else value
        least, most = ("minLength", "maxLength") if isinstance(value, str) else ("minValue", "maxValue")
        return not self._bound(least, size) <= size <= self._bound(most, size)

    def _bound(self, decorator: str, otherwise: int) -> int:
        found = self.decorators.get(decorator)
        return otherwise if found is None else int(text(named(named(found)[1])[0]))


@dataclass(frozen=True)
class Variable(Declaration):
    value: Node


@dataclass(frozen=True)
class Deployed(Declaration):
    """A resource or a module: a body with an optional condition and loop."""

    target: str
    body: Node
    condition: Node | None
    loop: Node | None


@dataclass(frozen=True)
class ResourceUse(Deployed):
    existing: bool


@dataclass(frozen=True)
class Module(Deployed):
    pass


@dataclass(frozen=True)
class Output(Declaration):
    type: str
    value: Node


@dataclass
class File:
    path: Path
    root: Node
    target_scope: str = "resourceGroup"
    declarations: list[Declaration] = field(default_factory=list)

    def named(self, name: str) -> Declaration | None:
        return next(
            (
                declaration
                for declaration in self.declarations
                if declaration.name == name and not _is_output(declaration)
            ),
            None,
        )

    def all(self, kind: type[Any]) -> list[Any]:
        return [declaration for declaration in self.declarations if isinstance(declaration, kind)]


def _is_output(declaration: Declaration) -> bool:
    return isinstance(declaration, Output)


def read_file(path: Path) -> File:
    return _read(path, path.read_bytes())


@lru_cache(maxsize=64)  # every file that uses a module reads it
def _read(path: Path, source: bytes) -> File:
    root = parse(source)
    file = File(path, root)
    decorators: dict[str, Node] = {}
    for node in named(root):
        if node.type == "decorators":
            calls = [named(child)[0] for child in named(node) if named(child)]
            decorators = {text(call.named_children[0]): call for call in calls if call.named_children}
            continue
        if node.type == "target_scope_assignment":
            file.target_scope = literal_text(named(node)[0]) or ""
        declared = _declaration(node, decorators)
        if declared is not None:
            file.declarations.append(declared)
        decorators = {}
    return file


def _declaration(node: Node, decorators: dict[str, Node]) -> Declaration | None:
    parts = named(node)
    if not parts or parts[0].type != "identifier":
        return None
    name = text(parts[0])
    match node.type:
        case "parameter_declaration":
            default = parts[2] if len(parts) > 2 else None  # noqa: PLR2004 - name, type, default
            declared = text(parts[1])
            return Parameter(name, node, decorators, declared.rstrip("?"), default, declared.endswith("?"))
        case "variable_declaration":
            return Variable(name, node, decorators, parts[-1])
        case "output_declaration":
            return Output(name, node, decorators, text(parts[1]), parts[-1])
        case "resource_declaration" | "module_declaration":
            return _deployed(name, node, decorators)
    return None


def _deployed(name: str, node: Node, decorators: dict[str, Node]) -> Declaration:
    parts = named(node)
    target, body = literal_text(parts[1]) or "", parts[-1]
    loop = condition = None
    if body.type == "for_statement":
        loop, body = body, named(body)[-1]
    if body.type == "if_statement":
        condition, body = named(body)[0], named(body)[-1]
    if node.type == "module_declaration":
        return Module(name, node, decorators, target, body, condition, loop)
    existing = any(child.type == "existing" for child in node.children)
    return ResourceUse(name, node, decorators, target, body, condition, loop, existing)


def literal(node: Node) -> Any:
    """Return the value of a literal, or None."""
    match node.type:
        case "string":
            return literal_text(node)
        case "number":
            return int(text(node))
        case "boolean":
            return text(node) == "true"
    return None
