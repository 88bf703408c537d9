"""The lexer of `$filter`: its tokens and constants."""

import math
import re
from dataclasses import dataclass
from typing import Any

from localcloud.search.errors import invalid_expression

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^']|'')*')
    |(?P<date>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?)
    |(?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])
    |(?P<name>-INF\b|[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)
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


CONSTANTS = {
    "null": Constant("null", None),
    "true": Constant("Edm.Boolean", value=True),
    "false": Constant("Edm.Boolean", value=False),
    "INF": Constant("Edm.Double", math.inf),
    "-INF": Constant("Edm.Double", -math.inf),
    "NaN": Constant("Edm.Double", math.nan),
}


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


def number(text: str) -> Constant:
    if re.fullmatch(r"[+-]?\d{1,19}", text) and -(2**63) <= int(text) < 2**63:
        return Constant("Edm.Int64", int(text))
    return Constant("Edm.Double", float(text))
