"""Holds what is deployed against its declaration: resources against their types, modules against theirs."""

from typing import Any

from tree_sitter import Node

from tools.bicepcheck.declarations import Deployed, File, Module, Output, Parameter, ResourceUse, read_file
from tools.bicepcheck.problems import Problems
from tools.bicepcheck.schema import ANY, Property, Schema
from tools.bicepcheck.shapes import MissingPropertyError, Shape, Shapes
from tools.bicepcheck.syntax import key_of, literal_text, named, properties, text

__all__ = ["Bodies"]

_SCOPES = {"tenant": 1, "managementGroup": 2, "subscription": 4, "resourceGroup": 8}
_OF_BICEP = {"parent", "scope", "dependsOn"}
_OF_MODULES = {"name", "scope", "params", "dependsOn", "identity"}
_DEEPEST = 40


class Bodies:
    def __init__(self, file: File, schema: Schema, problems: Problems) -> None:
        self._file = file
        self._schema = schema
        self._problems = problems
        self._shapes = Shapes(file, schema)

    def check(self) -> None:
        for resource in self._file.all(ResourceUse):
            self._resource(resource)
        for module in self._file.all(Module):
            self._module(module)
        for parameter in self._file.all(Parameter):
            self._default(parameter)
        for output in self._file.all(Output):
            self._fits(
                output.value, output.value, {output.type}, f"output {output.name}", _locals(output.value)
            )

    # resources

    def _resource(self, use: ResourceUse) -> None:
        type_, _, version = use.target.partition("@")
        versions = self._schema.versions.get(type_.lower())
        if versions is None:
            self._problems.add(use.node, "unknown-type", f"there is no resource type {type_}")
            return
        if version not in versions:
            newest = ", ".join(versions[-3:])
            self._problems.add(use.node, "unknown-version", f"{type_} has no version {version}, but {newest}")
            return
        found = self._schema.resource(use.target)
        if found is None:
            self._problems.add(use.node, "no-schema", f"{use.target}: run python -m tools.azure_types")
            return
        body = properties(use.body)
        self._relations(use, body)
        if use.existing:
            self._existing(use, body)
            return
        if not ({"parent", "scope"} & body.keys()) and not found.scopes & _SCOPES[self._file.target_scope]:
            self._problems.add(
                use.node, "wrong-scope", f"{type_} is not deployed to a {self._file.target_scope}"
            )
        if type_.count("/") > 1 and "parent" not in body and "/" not in (literal_text(body["name"]) or "/"):
            self._problems.add(use.node, "missing-property", f"{use.name} needs its parent")
        self._value(use.body, found.body, use.name, _locals_of(use), 0)

    def _relations(self, use: Deployed, body: dict[str, Node]) -> None:
        """Parent, scope and dependsOn name resources, not strings; and a parent is of the right type."""
        locals_ = _locals_of(use)
        if "parent" in body:
            parent = self._shape(body["parent"], locals_)
            wanted = use.target.partition("@")[0].rpartition("/")[0]
            owner = parent.declaration.target if isinstance(parent.declaration, ResourceUse) else ""
            if parent.many or owner.partition("@")[0].lower() != wanted.lower():
                self._problems.add(body["parent"], "wrong-type", f"the parent of {use.name} is a {wanted}")
        if "scope" in body and body["scope"].type in ("string", "object", "array", "number"):
            self._problems.add(body["scope"], "wrong-type", f"the scope of {use.name} is no resource")
        for each in named(body["dependsOn"]) if "dependsOn" in body else []:
            if self._shape(each, locals_).declaration is None:
                self._problems.add(each, "wrong-type", f"{text(each)} is no resource and no module")

    def _existing(self, use: ResourceUse, body: dict[str, Node]) -> None:
        for name in body.keys() - {"name", "parent", "scope"}:
            self._problems.add(body[name], "unknown-property", f"{use.name} exists: it takes no {name}")
        if "name" not in body:
            self._problems.add(use.node, "missing-property", f"{use.name} needs its name")

    def _value(self, node: Node, type_: str, where: str, locals_: frozenset[str], depth: int) -> None:
        if depth > _DEEPEST or type_ == ANY:
            return
        match node.type:
            case "ternary_expression":
                for branch in named(node)[1:]:
                    self._value(branch, type_, where, locals_, depth + 1)
            case "parenthesized_expression":
                self._value(named(node)[0], type_, where, locals_, depth + 1)
            case "object" if "object" in self._schema.kinds(type_):
                self._object(node, type_, where, locals_, depth + 1)
            case "array" if "array" in self._schema.kinds(type_):
                for item in named(node):
                    self._value(item, self._schema.item(type_), f"{where}[]", locals_, depth + 1)
            case "for_statement" if "array" in self._schema.kinds(type_):
                inner = locals_ | _loop_names(node)
                self._value(named(node)[-1], self._schema.item(type_), f"{where}[]", inner, depth + 1)
            case _:
                self._typed(node, type_, where, locals_, depth)

    def _typed(self, node: Node, type_: str, where: str, locals_: frozenset[str], depth: int) -> None:
        shape = self._shape(node, locals_)
        if shape.object is not None and node.type != "object":
            self._value(shape.object, type_, where, frozenset(), depth + 1)  # what a variable stands for
            return
        self._kinds(node, shape, self._schema.kinds(type_), where)
        literals = self._schema.literals(type_)
        for value in set(shape.values or ()) - {None}:
            beyond = self._schema.beyond_limits(type_, value)
            if literals is not None and value not in literals:
                self._problems.add(node, "wrong-value", f"{where} takes {_some(literals)}, not {value!r}")
            elif beyond is not None:
                self._problems.add(node, "wrong-value", f"{where}: {beyond}")

    def _object(self, node: Node, type_: str, where: str, locals_: frozenset[str], depth: int) -> None:
        known, additional = self._of_object(node, type_, where)
        if known is None:
            return
        written = properties(node)
        for each in named(node):
            name = key_of(each) if each.type == "object_property" else None
            if name is None or (depth == 1 and name in _OF_BICEP):
                continue
            self._property(each, name, known, additional, where)
            target = known[name].type if name in known else additional
            if target is not None and name in written:
                self._value(written[name], target, f"{where}.{name}", locals_, depth + 1)
        for name, each_property in known.items():
            if each_property.required and not each_property.read_only and name not in written:
                self._problems.add(node, "missing-property", f"{where} needs {name}")

    def _of_object(self, node: Node, type_: str, where: str) -> tuple[dict[str, Property] | None, str | None]:
        discriminator = self._schema.discriminator(type_)
        if discriminator is None:
            return self._schema.properties(type_), self._schema.additional(type_)
        given = properties(node).get(discriminator)
        value = literal_text(given) if given is not None else None
        variant = self._schema.variant(type_, value)
        if variant is None:
            self._problems.add(node, "wrong-value", f"{where}.{discriminator}: {value!r} is not known")
            return None, None
        known = self._schema.base_properties(type_) | (self._schema.properties(variant) or {})
        return known, self._schema.additional(variant)

    def _property(
        self, node: Node, name: str, known: dict[str, Property], additional: str | None, where: str
    ) -> None:
        if name in known and known[name].read_only:
            self._problems.add(node, "read-only", f"{where}.{name} cannot be set")
        elif name not in known and additional is None:
            self._problems.add(node, "unknown-property", f"{where} has no {name}")

    # modules

    def _module(self, module: Module) -> None:
        path = self._file.path.parent / module.target
        if not path.is_file():
            self._problems.add(module.node, "missing-file", f"there is no module {module.target}")
            return
        target = read_file(path)
        body = properties(module.body)
        self._relations(module, body)
        for name in body.keys() - _OF_MODULES:
            self._problems.add(body[name], "unknown-property", f"a module has no {name}")
        if target.target_scope != self._file.target_scope and "scope" not in body:
            self._problems.add(
                module.node, "wrong-scope", f"{module.name} needs a scope: {target.target_scope}"
            )
        self._parameters(module, target, properties(body["params"]) if "params" in body else {})

    def _parameters(self, module: Module, target: File, given: dict[str, Node]) -> None:
        declared = {each.name: each for each in target.all(Parameter)}
        for name in given.keys() - declared.keys():
            self._problems.add(given[name], "unknown-parameter", f"{module.target} has no parameter {name}")
        for name, parameter in declared.items():
            if name in given:
                self._argument(given[name], parameter, f"{module.name}.{name}", _locals_of(module))
            elif parameter.required:
                self._problems.add(module.node, "missing-parameter", f"{module.target} needs {name}")

    def _default(self, parameter: Parameter) -> None:
        if parameter.default is not None:
            self._argument(parameter.default, parameter, f"param {parameter.name}", frozenset())

    def _argument(self, node: Node, parameter: Parameter, where: str, locals_: frozenset[str]) -> None:
        shape = self._fits(node, node, {parameter.type}, where, locals_)
        for value in set(shape.values or ()) - {None}:
            if parameter.refuses(value):
                self._problems.add(node, "wrong-value", f"{where} does not take {value!r}")

    # kinds

    def _fits(self, node: Node, at: Node, kinds: set[str], where: str, locals_: frozenset[str]) -> Shape:
        shape = self._shape(node, locals_)
        self._kinds(at, shape, kinds & {"string", "int", "bool", "object", "array"}, where)
        return shape

    def _kinds(self, node: Node, shape: Shape, wanted: set[str], where: str) -> None:
        wrong = shape.kinds - wanted - {"null"}
        if wanted and shape.kinds and wrong:
            self._problems.add(node, "wrong-type", f"{where} takes {_some(wanted)}, not {_some(wrong)}")

    def _shape(self, node: Node, locals_: frozenset[str]) -> Shape:
        try:
            return self._shapes.of(node, locals_)
        except MissingPropertyError:  # said where the expression itself is checked
            return Shape()


def _some(values: Any) -> str:
    return " or ".join(sorted(map(str, values)))


def _loop_names(loop: Node) -> frozenset[str]:
    first = named(loop)[0]
    return frozenset({text(first)} if first.type == "identifier" else {text(each) for each in named(first)})


def _locals_of(deployed: Deployed) -> frozenset[str]:
    return frozenset() if deployed.loop is None else _loop_names(deployed.loop)


def _locals(node: Node) -> frozenset[str]:
    return _loop_names(node) if node.type == "for_statement" else frozenset()
