"""Looks up every name, function and property that the expressions of a file use."""

from tree_sitter import Node

from tools.bicepcheck.declarations import File, Module
from tools.bicepcheck.functions import DECORATORS, FUNCTIONS
from tools.bicepcheck.problems import Problems
from tools.bicepcheck.schema import Schema
from tools.bicepcheck.shapes import MissingPropertyError, Shapes, loaded_file
from tools.bicepcheck.syntax import key_of, named, text

__all__ = ["Expressions"]


class Expressions:
    def __init__(self, file: File, schema: Schema, problems: Problems) -> None:
        self._file = file
        self._problems = problems
        self._shapes = Shapes(file, schema)
        self.used: set[str] = set()
        self._in_default = False

    def check(self) -> None:
        for node in named(self._file.root):
            if node.type == "decorators":
                self._decorators(node)
            elif node.type != "target_scope_assignment" and not node.has_error:
                self._in_default = node.type == "parameter_declaration"
                for value in named(node)[1:]:
                    self._visit(value, frozenset())
        self._in_default = False

    def _decorators(self, node: Node) -> None:
        for decorator in named(node):
            call = named(decorator)[0]
            name = text(call.named_children[0]) if call.named_children else text(call)
            if name not in DECORATORS:
                self._problems.add(decorator, "unknown-decorator", f"there is no decorator {name}")
            for argument in named(call)[1:]:
                self._visit(argument, frozenset())

    def _visit(self, node: Node, locals_: frozenset[str]) -> None:
        match node.type:
            case "type" | "property_identifier":
                return
            case "identifier":
                self._name(node, locals_)
            case "object_property":
                self._property(node, locals_)
            case "for_statement":
                self._loop(node, locals_)
            case "lambda_expression":
                self._visit(named(node)[-1], locals_ | _lambda_names(node))
            case "call_expression":
                self._call(node, locals_)
            case "member_expression" | "subscript_expression":
                self._access(node, locals_)
            case _:
                for child in named(node):
                    self._visit(child, locals_)

    def _name(self, node: Node, locals_: frozenset[str]) -> None:
        name = text(node)
        if name in locals_:
            return
        self.used.add(name)
        if self._file.named(name) is None:
            self._problems.add(node, "undefined", f"there is no {name}")

    def _property(self, node: Node, locals_: frozenset[str]) -> None:
        if key_of(node) is None:  # a computed name
            self._visit(node.named_children[0], locals_)
        for value in named(node)[1:]:
            self._visit(value, locals_)

    def _loop(self, node: Node, locals_: frozenset[str]) -> None:
        variables, over, body = named(node)[0], named(node)[-2], named(node)[-1]
        self._visit(over, locals_)
        names = {text(variables)} if variables.type == "identifier" else {text(n) for n in named(variables)}
        self._visit(body, locals_ | names)

    def _call(self, node: Node, locals_: frozenset[str]) -> None:
        called, arguments = node.named_children[0], named(node.named_children[1])
        if called.type == "member_expression":
            self._visit(called.named_children[0], locals_)
            self._no_secret(node, text(called.named_children[-1]))
        else:
            self._function(node, text(called), len(arguments))
        for argument in arguments:
            self._visit(argument, locals_ | _spine_names(argument))

    def _function(self, node: Node, name: str, count: int) -> None:
        self._no_secret(node, name)
        function = FUNCTIONS.get(name)
        if function is None:
            self._problems.add(node, "unknown-function", f"there is no function {name}()")
        elif not function.least <= count <= function.most:
            self._problems.add(node, "wrong-arguments", f"{name}() does not take {count} arguments")
        if name == "utcNow" and not self._in_default:
            self._problems.add(node, "wrong-place", "utcNow() is only known in a parameter's default")
        if name in ("loadJsonContent", "loadTextContent"):
            file = loaded_file(self._file.path, node)
            if file is None or not file.is_file():
                self._problems.add(node, "missing-file", f"there is no file {file}")

    def _no_secret(self, node: Node, name: str) -> None:
        if name.startswith("list") or name == "getSecret":
            self._problems.add(node, "secret", f"{name}() reads a secret: identities need none")

    def _access(self, node: Node, locals_: frozenset[str]) -> None:
        for child in named(node):
            if child.type != "property_identifier":
                self._visit(child, locals_)
        try:
            self._shapes.of(node, locals_)
        except MissingPropertyError as missing:
            self._problems.add(node, "unknown-property", f"{text(node)}: {missing}")
        self._guarded(node)

    def _guarded(self, node: Node) -> None:
        owner = named(node)[0]
        module = self._file.named(text(owner)) if owner.type == "identifier" else None
        plain = not any(child.type in ("!", ".?") for child in node.children)
        if isinstance(module, Module) and module.condition is not None and plain and module.loop is None:
            self._problems.add(
                node, "unguarded", f"{module.name} is not always deployed: write {module.name}!"
            )


def _lambda_names(node: Node) -> frozenset[str]:
    return frozenset(text(each) for part in named(node)[:-1] for each in ([part, *named(part)]))


def _spine_names(node: Node) -> frozenset[str]:
    """The grammar ends a lambda too early (`x => x.a == x.b`): its names hold for the whole argument."""
    while node.named_children and node.type != "lambda_expression":
        node = node.named_children[0]
    return _lambda_names(node) if node.type == "lambda_expression" else frozenset()
