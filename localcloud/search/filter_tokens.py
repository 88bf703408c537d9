"""The words of a `$filter`: its tokens, and the constants that stand in them."""

import math
import re
from dataclasses import dataclass
from typing import Any

from localcloud.search.errors import invalid_expression

CONSTANTS = {"null": None, "true": True, "false": False, "INF": math.inf, "NaN": math.nan}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^']|'')*')
    |(?P<date>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?)
    |(?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])
    |(?P<infinity>-INF\b)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)
    |(?P<mark>[(),:/])""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Constant:
    type: str
    value: Any


def tokens_of(text: str) -> list[Token]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise invalid_expression(f"Syntax error at position {at} in '{text:.200}'.")
        if match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match[0], at))
        at = match.end()
    return [*tokens, Token("end", "", len(text))]


def constant(word: str) -> Constant:
    value = CONSTANTS[word]
    kind = "null" if value is None else "Edm.Boolean" if isinstance(value, bool) else "Edm.Double"
    return Constant(kind, value)


def number(text: str) -> Constant:
    if re.fullmatch(r"[+-]?\d{1,19}", text) and -(2**63) <= int(text) < 2**63:
        return Constant("Edm.Int64", int(text))
    return Constant("Edm.Double", float(text))
