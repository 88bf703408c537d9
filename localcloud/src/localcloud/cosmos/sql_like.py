"""LIKE patterns of SQL: % for any characters, _ for one, [a-z] and [^a-z] for sets."""

import re
from collections.abc import Callable
from functools import lru_cache

_ANY = "%"


@lru_cache(maxsize=512)
def like_matcher(pattern: str, escape: str | None) -> Callable[[str], bool]:
    """Return a matcher whose time is proportional to the text, however many wildcards `pattern` has.

    Each piece between % signs has a fixed length, so the leftmost match of each piece suffices.
    """
    tokens = _like_tokens(pattern, escape)
    pieces = [re.compile(piece, re.DOTALL) for piece in _like_pieces(tokens)]
    last_length = tokens[::-1].index(_ANY) if _ANY in tokens else len(tokens)

    def matches(text: str) -> bool:
        tail = len(text) - last_length
        if tail < 0 or pieces[-1].match(text, tail) is None:
            return False
        if len(pieces) == 1:
            return tail == 0
        found = pieces[0].match(text, 0, tail)
        for piece in pieces[1:-1]:
            if found is None:
                return False
            found = piece.search(text, found.end(), tail)
        return found is not None

    return matches


def _like_tokens(pattern: str, escape: str | None) -> list[str]:
    """Return the pattern's parts: regular expressions for one character each, and "%"."""
    tokens = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if escape and char == escape and position < len(pattern):
            tokens.append(re.escape(pattern[position]))
            position += 1
        elif char == "%":
            tokens.append(_ANY)
        elif char == "_":
            tokens.append(".")
        elif char == "[" and (closing := pattern.find("]", position + 1)) > 0:
            tokens.append(_like_set(pattern[position:closing]))
            position = closing + 1
        else:
            tokens.append(re.escape(char))
    return tokens


def _like_set(content: str) -> str:
    negated = content.startswith("^")
    body = re.sub(r"([\\\]\[^&~|])", r"\\\1", content[1:] if negated else content)
    expression = f"[{'^' if negated else ''}{body}]" if body else "(?!)"
    try:
        re.compile(expression)
    except re.error:
        return "(?!)"  # such as [z-a], which matches nothing
    return expression


def _like_pieces(tokens: list[str]) -> list[str]:
    pieces = [""]
    for token in tokens:
        if token == _ANY:
            pieces.append("")
        else:
            pieces[-1] += token
    return pieces
