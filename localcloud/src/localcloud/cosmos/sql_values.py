"""Cosmos values in Python: their types, order and equality, for the functions that SQLite calls.

SQLite and Python exchange values as JSON text. SQL NULL is Cosmos DB's undefined.
"""

import math
from typing import Any

import apsw
import orjson

ABSENT, NULL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT = range(7)
RANKS = {"null": NULL, "true": BOOLEAN, "false": BOOLEAN, "integer": NUMBER, "real": NUMBER, "text": STRING,
         "array": ARRAY, "object": OBJECT}  # fmt: skip
EXACT_INTEGER = 2**53


UNDEFINED: Any = object()


def rank(value: Any) -> int:
    """Return a value's rank in the order of types. Undefined is 0."""
    return ABSENT if value is UNDEFINED else _RANK_OF_TYPE[type(value)]


_RANK_OF_TYPE = {
    type(None): NULL,
    bool: BOOLEAN,
    int: NUMBER,
    float: NUMBER,
    str: STRING,
    list: ARRAY,
    dict: OBJECT,
}
_SCALARS = frozenset({type(None), bool, int, float, str})


def are_scalars(values: list[Any]) -> bool:
    """Return whether all values are scalars. The check is fast, because lists can have thousands of items."""
    return _SCALARS.issuperset(map(type, values))


def decode(text: str | None) -> Any:
    return UNDEFINED if text is None else orjson.loads(text)


def encode(value: Any) -> str | None:
    """Return JSON text. A number without a fraction becomes an integer, as in the service."""
    if value is UNDEFINED:
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        if value.is_integer() and abs(value) < EXACT_INTEGER:
            value = int(value)
    return orjson.dumps(value).decode()


def _normal(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT_INTEGER:
        return int(value)
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, dict):
        return {name: _normal(item) for name, item in value.items()}
    return value


def canonical(text: str | None) -> str | None:
    """Return the same text for all equal values: sorted names, and 1 for 1.0."""
    if text is None:
        return None
    return orjson.dumps(_normal(orjson.loads(text)), option=orjson.OPT_SORT_KEYS).decode()


def equal(left: Any, right: Any) -> bool:
    """Return whether the values are deeply equal. Booleans never equal numbers."""
    if rank(left) != rank(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)
    return bool(left == right)


def compare(left: Any, right: Any) -> int | None:
    """Return a number below, at or above zero for two scalars of one type, otherwise None."""
    if rank(left) != rank(right) or rank(left) not in (NULL, BOOLEAN, NUMBER, STRING):
        return None
    return 0 if left is None else (left > right) - (left < right)


def _text_equal(left: str | None, right: str | None) -> bool | None:
    if left is None or right is None:
        return None
    return equal(orjson.loads(left), orjson.loads(right))


def _text_compare(left: str | None, right: str | None, most: int) -> bool | None:
    result = compare(decode(left), decode(right))
    return None if result is None else result <= most


def _member(base: str | None, key: str | None) -> str | None:
    value, name = decode(base), decode(key)
    if isinstance(value, dict) and isinstance(name, str) and name in value:
        return encode(value[name])
    if isinstance(value, list) and isinstance(name, int | float) and not isinstance(name, bool):
        position = int(name)
        if position == name and 0 <= position < len(value):
            return encode(value[position])
    return None


def _int32(number: float) -> int:
    return (int(number) + 2**31) % 2**32 - 2**31


def _bits(op: str, left: float | None, right: float | None) -> int | None:
    """Evaluate a bitwise operator on 32 bits, as JavaScript does."""
    if left is None or right is None:
        return None
    a, b = _int32(left), _int32(right)
    shift = b & 31
    results = {"&": a & b, "|": a | b, "^": a ^ b, "~": ~a, "<<": _int32(a << shift), ">>": a >> shift,
               ">>>": (a % 2**32) >> shift}  # fmt: skip
    return results[op]


class _Extreme:
    """MIN or MAX over values of any type, in the order of types.

    An array or object makes the result undefined.
    """

    def __init__(self, direction: int) -> None:
        self.direction = direction
        self.best: Any = UNDEFINED
        self.spoiled = False

    def step(self, *arguments: Any) -> None:
        value = decode(arguments[0])
        if value is UNDEFINED or self.spoiled:
            return
        if rank(value) >= ARRAY:
            self.spoiled = True
        elif self.best is UNDEFINED or self._order(value) * self.direction > 0:
            self.best = value

    def _order(self, value: Any) -> int:
        return rank(value) - rank(self.best) or compare(value, self.best) or 0

    def final(self) -> str | None:
        return encode(UNDEFINED if self.spoiled else self.best)


def register_values(connection: apsw.Connection) -> None:
    pure: dict[str, tuple[Any, int]] = {
        "c_quote": (lambda value: None if value is None else encode(value), 1),
        "c_canon": (canonical, 1),
        "c_eq": (_text_equal, 2),
        "c_lt": (lambda left, right: _text_compare(left, right, -1), 2),
        "c_le": (lambda left, right: _text_compare(left, right, 0), 2),
        "c_get": (_member, 2),
        "c_starts": (
            lambda text, start: None if text is None or start is None else text.startswith(start),
            2,
        ),
        "c_bits": (_bits, 3),
    }
    for name, (function, arguments) in pure.items():
        connection.create_scalar_function(name, function, arguments, deterministic=True)
    connection.create_aggregate_function("c_min", lambda: _Extreme(-1), 1)
    connection.create_aggregate_function("c_max", lambda: _Extreme(+1), 1)
