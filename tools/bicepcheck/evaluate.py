"""Evaluates the resources of a deployment from the Bicep files for given parameters, without Azure.

Values that are known before Azure responds become plain values. Values that only Azure knows (an endpoint, an
identity's id) stay names in brackets, so that tests can see where they are used.
"""

import functools
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tree_sitter import Node

from tools.bicepcheck.builtins import BUILTINS, Answer, load
from tools.bicepcheck.declarations import (
    Deployed,
    File,
    Output,
    Parameter,
    ResourceUse,
    Variable,
    read_file,
)
from tools.bicepcheck.syntax import key_of, named, properties, text

__all__ = ["Azure", "Planned", "plan"]

_SPINE = "(lambda)"
_OPERATORS = {"==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Planned:
    """A resource of the deployment."""

    type: str
    version: str
    name: str
    body: dict[str, Any]
    parent: "Planned | None"
    scope: Any  # another resource, for an extension resource
    serial: bool = False  # part of a loop whose resources are created one after the other

    @property
    def id(self) -> str:
        if self.parent is not None:
            return f"{self.parent.id}/{self.type.rpartition('/')[2]}/{self.name}"
        return f"/{self.type}/{self.name}"

    @property
    def properties(self) -> dict[str, Any]:
        return dict(self.body.get("properties", {}))

    def member(self, name: str) -> Any:
        if name in ("id", "name", "type"):
            return getattr(self, name)
        return Answer(f"[{self.name}]").member(name)


@dataclass(frozen=True)
class Azure:
    """Values from Azure: the month, and the existing app settings."""

    month: str = "2026-11"
    app_settings: Mapping[str, str] = field(default_factory=dict)


def plan(
    entry: Path, parameters: dict[str, Any], azure: Azure | None = None
) -> tuple[list[Planned], dict[str, Any]]:
    """Return all resources of a deployment, in the order of the files, and its outputs."""
    planned: list[Planned] = []
    evaluator = _Evaluator(read_file(entry), parameters, planned, azure or Azure())
    evaluator.run()
    return planned, evaluator.outputs()


class _Evaluator:
    def __init__(self, file: File, parameters: dict[str, Any], planned: list[Planned], azure: Azure) -> None:
        self._file = file
        self._given = parameters
        self._planned = planned
        self._azure = azure
        self._known: dict[str, Any] = {}

    def run(self) -> None:
        for deployed in self._file.all(Deployed):
            self._named(deployed.name)

    def outputs(self) -> dict[str, Any]:
        return {output.name: self._value(output.value, {}) for output in self._file.all(Output)}

    def _named(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._declared(name)
        return self._known[name]

    def _declared(self, name: str) -> Any:
        match self._file.named(name):
            case Parameter() as parameter:
                if name in self._given:
                    return self._given[name]
                return self._value(parameter.default, {}) if parameter.default is not None else None
            case Variable() as variable:
                return self._value(variable.value, {})
            case Deployed() as deployed:
                return self._deployed(deployed)
        raise LookupError(f"{self._file.path}: there is no {name}")

    def _deployed(self, use: Deployed) -> Any:
        deploy = self._resource if isinstance(use, ResourceUse) else self._module
        if use.loop is None:
            return deploy(use, {}) if self._wanted(use, {}) else None
        rounds = list(self._rounds(use.loop, {}))
        return [deploy(use, locals_) if self._wanted(use, locals_) else None for locals_ in rounds]

    def _wanted(self, use: Deployed, locals_: dict[str, Any]) -> bool:
        return use.condition is None or bool(self._value(use.condition, locals_))

    def _resource(self, use: Deployed, locals_: dict[str, Any]) -> Planned:
        written = properties(use.body)
        parent = self._value(written["parent"], locals_) if "parent" in written else None
        scope = self._value(written["scope"], locals_) if "scope" in written else None
        body = {
            name: self._value(node, locals_)
            for name, node in written.items()
            if name not in ("parent", "scope", "dependsOn")
        }
        type_, _, version = use.target.partition("@")
        serial = "batchSize" in use.decorators
        resource = Planned(type_, version, body["name"], body, parent, scope, serial)
        if not (isinstance(use, ResourceUse) and use.existing):
            self._planned.append(resource)
        return resource

    def _module(self, use: Deployed, locals_: dict[str, Any]) -> "_Outputs":
        written = properties(use.body)
        parameters = self._value(written["params"], locals_) if "params" in written else {}
        target = read_file(self._file.path.parent / use.target)
        inner = _Evaluator(target, parameters, self._planned, self._azure)
        inner.run()
        return _Outputs(inner)

    def _rounds(self, loop: Node, locals_: dict[str, Any]) -> Iterator[dict[str, Any]]:
        first, over = named(loop)[0], named(loop)[-2]
        names = [text(first)] if first.type == "identifier" else [text(child) for child in named(first)]
        for index, item in enumerate(self._value(over, locals_)):
            yield {**locals_, **dict(zip(names, (item, index), strict=False))}

    # expressions

    def _value(self, node: Node, locals_: dict[str, Any]) -> Any:
        return getattr(self, f"_{node.type}")(node, locals_)

    def _string(self, node: Node, locals_: dict[str, Any]) -> str:
        parts = []
        for child in node.named_children:
            if child.type == "interpolation":
                parts.append(str(self._value(named(child)[0], locals_)))
            else:
                parts.append(text(child).replace("\\'", "'"))
        return "".join(parts)

    def _number(self, node: Node, _: dict[str, Any]) -> int:
        return int(text(node))

    def _boolean(self, node: Node, _: dict[str, Any]) -> bool:
        return text(node) == "true"

    def _null(self, _node: Node, _: dict[str, Any]) -> None:
        return None

    def _identifier(self, node: Node, locals_: dict[str, Any]) -> Any:
        name = text(node)
        return locals_[name] if name in locals_ else self._named(name)

    def _object(self, node: Node, locals_: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for child in named(node):
            key = key_of(child)
            name = self._value(child.named_children[0], locals_) if key is None else key
            found[name] = self._value(named(child)[-1], locals_)
        return found

    def _array(self, node: Node, locals_: dict[str, Any]) -> list[Any]:
        return [self._value(child, locals_) for child in named(node)]

    def _for_statement(self, node: Node, locals_: dict[str, Any]) -> list[Any]:
        return [self._value(named(node)[-1], names) for names in self._rounds(node, locals_)]

    def _parenthesized_expression(self, node: Node, locals_: dict[str, Any]) -> Any:
        return self._value(named(node)[0], locals_)

    def _ternary_expression(self, node: Node, locals_: dict[str, Any]) -> Any:
        condition, yes, no = named(node)
        return self._value(yes if self._value(condition, locals_) else no, locals_)

    def _unary_expression(self, node: Node, locals_: dict[str, Any]) -> bool:
        return not self._value(named(node)[-1], locals_)

    def _binary_expression(self, node: Node, locals_: dict[str, Any]) -> Any:
        left, right = named(node)[:2]
        sign = text(node.child_by_field_name("operator") or node)
        first = self._value(left, locals_)
        if sign == "??":
            return self._value(right, locals_) if first is None else first
        if sign in ("||", "&&") and bool(first) is (sign == "||"):
            return first  # the other side is not evaluated
        second = self._value(right, locals_)
        return second if sign in ("||", "&&") else _OPERATORS[sign](first, second)

    def _lambda_expression(self, node: Node, locals_: dict[str, Any]) -> Any:
        name, body = text(named(node)[0]), named(node)[-1]
        if locals_.get(_SPINE) == node.id:
            return self._value(body, locals_)
        return lambda item: self._value(body, {**locals_, name: item})

    def _call_expression(self, node: Node, locals_: dict[str, Any]) -> Any:
        function = text(node.named_children[0])
        arguments = [self._argument(child, locals_) for child in named(node.named_children[1])]
        if function == "utcNow":
            return self._azure.month
        if function == "list":
            return {"properties": dict(self._azure.app_settings)}
        if function.startswith("load"):
            return load(self._file.path.parent / arguments[0], as_json=function == "loadJsonContent")
        return BUILTINS[function](*arguments)

    def _argument(self, node: Node, locals_: dict[str, Any]) -> Any:
        """Evaluate an argument.

        If the grammar ends a lambda too early (`x => x.a == x.b`), the argument is its body.
        """
        spine = node
        while spine.named_children and spine.type != "lambda_expression":
            spine = spine.named_children[0]
        if spine.type != "lambda_expression" or spine.id == node.id:
            return self._value(node, locals_)
        name = text(named(spine)[0])
        return lambda item: self._value(node, {**locals_, name: item, _SPINE: spine.id})

    def _member_expression(self, node: Node, locals_: dict[str, Any]) -> Any:
        owner, name = self._value(named(node)[0], locals_), text(named(node)[-1])
        if isinstance(owner, dict):
            return owner.get(name) if any(child.type == ".?" for child in node.children) else owner[name]
        return owner.member(name)

    def _subscript_expression(self, node: Node, locals_: dict[str, Any]) -> Any:
        owner, index = (self._value(child, locals_) for child in named(node)[:2])
        return owner[index]


class _Outputs:
    """A deployed module, as its users see it."""

    def __init__(self, evaluator: _Evaluator) -> None:
        self._evaluator = evaluator

    def member(self, name: str) -> dict[str, Any]:
        if name != "outputs":
            raise LookupError(f"a module has outputs, no {name}")
        return self._values

    @functools.cached_property
    def _values(self) -> dict[str, Any]:
        return self._evaluator.outputs()
