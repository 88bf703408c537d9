"""The lexer of Cosmos SQL."""

import json
import re
from dataclasses import dataclass
from typing import Any

from localcloud.cosmos.errors import CosmosError, bad_request

MAX_QUERY_LENGTH = 512 * 1024
MAX_HEXADECIMAL = 18  # 64 bits, with the prefix

KEYWORDS = frozenset({
    "AND", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "DESC", "DISTINCT", "ESCAPE", "EXISTS", "FALSE", "FROM",
    "GROUP", "IN", "JOIN", "LIKE", "LIMIT", "NOT", "NULL", "OFFSET", "OR", "ORDER", "SELECT", "TOP", "TRUE",
    "UNDEFINED", "VALUE", "WHERE",
})  # fmt: skip
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<number>0[xX][0-9a-fA-F]+(?![0-9A-Za-z_])|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<param>@[A-Za-z_][A-Za-z0-9_]*)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<op>\?\?|\|\||!=|<>|<=|>=|<<|>>>?|[-+*/%=<>&|^~?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # word, number, string, param, op or end
    text: str  # as written
    value: Any
    start: int
    end: int

    def is_keyword(self, *names: str) -> bool:
        return self.kind == "word" and self.text.upper() in names


def syntax_error(message: str, text: str, at: int) -> CosmosError:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return bad_request(f"Syntax error in the query, line {line} column {column}: {message}")


def tokenize(text: str) -> list[Token]:
    if len(text) > MAX_QUERY_LENGTH:
        raise bad_request(f"a query has at most {MAX_QUERY_LENGTH} characters, this one {len(text)}")
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise syntax_error(f"unexpected {text[position]!r}", text, position)
        start, position = position, match.end()
        kind = str(match.lastgroup)
        if kind != "space":
            lexeme, value = match.group(), None
            if kind in ("number", "string"):
                value = _number(lexeme) if kind == "number" else _string(lexeme, text, start)
            tokens.append(Token(kind, lexeme, value, start, position))
    tokens.append(Token("end", "the end of the query", None, len(text), len(text)))
    return tokens


def _number(lexeme: str) -> int | float:
    if lexeme[:2].lower() == "0x":
        if len(lexeme) > MAX_HEXADECIMAL:
            raise bad_request(f"the number {lexeme[:40]} is out of range")
        return _number(str(int(lexeme, 16)))
    if lexeme.isdigit() and len(lexeme) < 19:  # noqa: PLR2004 - fits a 64-bit integer
        return int(lexeme)
    number = float(lexeme)
    if number in (float("inf"), float("-inf")):
        raise bad_request(f"the number {lexeme[:40]} is out of range")
    return number


def _string(lexeme: str, text: str, at: int) -> str:
    body = lexeme[1:-1]
    if "\\" not in body:
        return body
    if lexeme[0] == "'":
        body = re.sub(r"\\(.)", lambda found: "'" if found[1] == "'" else found[0], body, flags=re.DOTALL)
        body = re.sub(r'(\\.)|"', lambda found: found[1] or '\\"', body, flags=re.DOTALL)
    try:
        value = json.loads(f'"{body}"', strict=False)
    except ValueError:
        raise syntax_error("this string has an escape sequence that JSON does not have", text, at) from None
    if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
        raise syntax_error("this string holds half of a surrogate pair", text, at)
    return value
