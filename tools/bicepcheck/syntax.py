"""Parsing of Bicep text to a syntax tree, and access to its nodes."""

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

__all__ = ["BicepSyntaxError", "key_of", "literal_text", "named", "parse", "properties", "text"]

_PARSER = Parser(Language(tree_sitter_bicep.language()))


class BicepSyntaxError(ValueError):
    """The parser does not support the file. Microsoft's compiler reports errors."""


def parse(source: bytes) -> Node:
    root = _PARSER.parse(source).root_node
    if root.has_error:
        raise BicepSyntaxError("the parser does not support this file: check it with az bicep build")
    return root


def text(node: Node) -> str:
    return (node.text or b"").decode()


def named(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def literal_text(node: Node) -> str | None:
    """Return the value of a string without interpolation."""
    if node.type != "string" or any(child.type == "interpolation" for child in node.children):
        return None
    return "".join(text(child) for child in node.named_children).replace("\\'", "'")


def key_of(property_: Node) -> str | None:
    """Return the name of an object's property, or None if it is computed."""
    key = property_.named_children[0]
    return text(key) if key.type == "identifier" else literal_text(key)


def properties(object_: Node) -> dict[str, Node]:
    """Return the values of an object by name."""
    found = {}
    for child in named(object_):
        name = key_of(child) if child.type == "object_property" else None
        if name is not None and len(named(child)) > 1:
            found[name] = named(child)[-1]
    return found
