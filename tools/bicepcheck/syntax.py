"""From the text to a tree, and what is wrong with the text itself."""

from collections.abc import Iterator

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

from tools.bicepcheck.problems import Problems

__all__ = ["check_syntax", "key_of", "literal_text", "named", "parse", "properties", "text", "walk"]

_PARSER = Parser(Language(tree_sitter_bicep.language()))


def parse(source: bytes) -> Node:
    return _PARSER.parse(source).root_node


def text(node: Node) -> str:
    return (node.text or b"").decode()


def named(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from walk(child)


def literal_text(node: Node) -> str | None:
    """The value of a string without interpolation."""
    if node.type != "string" or any(child.type == "interpolation" for child in node.children):
        return None
    return "".join(text(child) for child in node.named_children).replace("\\'", "'")


def key_of(property_: Node) -> str | None:
    """The name of an object's property; None where it is computed."""
    key = property_.named_children[0]
    return text(key) if key.type == "identifier" else literal_text(key)


def properties(object_: Node) -> dict[str, Node]:
    """The values of an object by their names."""
    found = {}
    for each in named(object_):
        name = key_of(each) if each.type == "object_property" else None
        if name is not None and len(named(each)) > 1:
            found[name] = named(each)[-1]
    return found


def check_syntax(root: Node, problems: Problems) -> None:
    for node in walk(root):
        if node.type == "ERROR":
            problems.add(node, "syntax", f"cannot be read: {text(node)[:60]!r}")
        elif node.is_missing:
            problems.add(node, "syntax", f"{node.type} is missing")
        elif node.type in ("object", "array"):
            _separated(node, problems)
        elif node.type.endswith("_declaration"):
            _keyword_apart(node, problems)
        if node.type == "object":
            _unique(node, problems)


def _keyword_apart(declaration: Node, problems: Problems) -> None:
    """The grammar takes `varname` for `var name`; the compiler does not."""
    keyword, name = declaration.children[0], declaration.children[1]
    if keyword.end_byte == name.start_byte:
        problems.add(declaration, "syntax", f"a space is missing after {text(keyword)}")


def _separated(container: Node, problems: Problems) -> None:
    """Items stand on lines of their own, or have commas between them; the grammar alone lets both go."""
    before: Node | None = None
    comma = True
    for child in container.children:
        if child.type == ",":
            comma = True
        elif child.is_named and child.type != "comment":
            if before is not None and not comma and child.start_point.row == before.end_point.row:
                problems.add(child, "syntax", "a comma or a new line is needed before this")
            before, comma = child, False


def _unique(object_: Node, problems: Problems) -> None:
    seen: set[str] = set()
    for each in named(object_):
        name = key_of(each) if each.type == "object_property" else None
        if name is not None and name in seen:
            problems.add(each, "duplicate", f"the property {name} is there twice")
        if name is not None:
            seen.add(name)
