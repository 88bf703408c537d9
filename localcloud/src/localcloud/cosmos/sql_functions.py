"""The built-in functions of Cosmos SQL on numbers, arrays and objects. Other modules have the rest."""

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import apsw

from localcloud.cosmos.sql_builtins import Builtin, Builtins, is_number
from localcloud.cosmos.sql_datetimes import DATETIMES
from localcloud.cosmos.sql_like import like_matcher
from localcloud.cosmos.sql_strings import STRINGS
from localcloud.cosmos.sql_values import UNDEFINED, canonical, decode, encode, equal

# numbers


def _round(value: float, digits: float = 0) -> float:
    scale = 10.0 ** int(digits)
    return math.copysign(math.floor(abs(value) * scale + 0.5) / scale, value)


def _int64(value: float) -> int:
    """Return a 64-bit integer. Any other number makes the call undefined."""
    if value != int(value) or not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return int(value)


def _on_integers(function: Callable[..., int]) -> Callable[..., int]:
    """Wrap a function on 64-bit integers, whose results overflow as in a processor."""
    return lambda *values: (function(*map(_int64, values)) + 2**63) % 2**64 - 2**63


def _divide(left: int, right: int) -> int:
    """Divide and round towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


NUMBERS = Builtins()
NUMBERS.add("ABS", "n", abs)
NUMBERS.add("CEILING", "n", math.ceil)
NUMBERS.add("FLOOR", "n", math.floor)
NUMBERS.add("TRUNC", "n", math.trunc)
NUMBERS.add("ROUND", "nn", _round, optional=1)
NUMBERS.add("SIGN", "n", lambda n: (n > 0) - (n < 0))
NUMBERS.add("SQRT", "n", math.sqrt)
NUMBERS.add("SQUARE", "n", lambda n: float(n) * n)
NUMBERS.add("POWER", "nn", math.pow)
NUMBERS.add("EXP", "n", math.exp)
NUMBERS.add(
    "LOG", "nn", lambda n, base=math.e: math.log(n) if base == math.e else math.log(n, base), optional=1
)
NUMBERS.add("LOG10", "n", math.log10)
NUMBERS.add("PI", "", lambda: math.pi)
NUMBERS.add("SIN", "n", math.sin)
NUMBERS.add("COS", "n", math.cos)
NUMBERS.add("TAN", "n", math.tan)
NUMBERS.add("COT", "n", lambda n: 1 / math.tan(n))
NUMBERS.add("ASIN", "n", math.asin)
NUMBERS.add("ACOS", "n", math.acos)
NUMBERS.add("ATAN", "n", math.atan)
NUMBERS.add("ATN2", "nn", math.atan2)
NUMBERS.add("DEGREES", "n", math.degrees)
NUMBERS.add("RADIANS", "n", math.radians)
NUMBERS.add("RAND", "", random.random, deterministic=False)
NUMBERS.add("NUMBERBIN", "nn", lambda value, size=1: math.floor(value / size) * size, optional=1)
NUMBERS.add("IS_INTEGER", "?", lambda v: is_number(v) and float(v).is_integer())
NUMBERS.add("IS_FINITE_NUMBER", "?", lambda v: is_number(v) and math.isfinite(v))
NUMBERS.add("INTADD", "nn", _on_integers(lambda a, b: a + b))
NUMBERS.add("INTSUB", "nn", _on_integers(lambda a, b: a - b))
NUMBERS.add("INTMUL", "nn", _on_integers(lambda a, b: a * b))
NUMBERS.add("INTDIV", "nn", _on_integers(_divide))
NUMBERS.add("INTMOD", "nn", _on_integers(lambda a, b: a - _divide(a, b) * b))
NUMBERS.add("INTBITAND", "nn", _on_integers(lambda a, b: a & b))
NUMBERS.add("INTBITOR", "nn", _on_integers(lambda a, b: a | b))
NUMBERS.add("INTBITXOR", "nn", _on_integers(lambda a, b: a ^ b))
NUMBERS.add("INTBITNOT", "n", _on_integers(lambda a: ~a))
NUMBERS.add("INTBITLEFTSHIFT", "nn", _on_integers(lambda a, b: a << (b & 63)))
NUMBERS.add("INTBITRIGHTSHIFT", "nn", _on_integers(lambda a, b: a >> (b & 63)))

# arrays and objects


def _holds(item: Any, wanted: Any, part: bool) -> bool:  # noqa: FBT001 - positional, as in the query
    if part and isinstance(item, dict) and isinstance(wanted, dict):
        return all(name in item and equal(item[name], value) for name, value in wanted.items())
    return equal(item, wanted)


def _array_contains(items: list[Any], wanted: Any, part: bool = False) -> bool:  # noqa: FBT001, FBT002
    return any(_holds(item, wanted, part) for item in items)


def _array_slice(items: list[Any], start: float, length: float | None = None) -> list[Any]:
    first = int(start) if start >= 0 else max(0, len(items) + int(start))
    return items[first:] if length is None else items[first : first + max(0, int(length))]


def _array_concat(*arrays: Any) -> Any:
    if not all(isinstance(array, list) for array in arrays):
        return UNDEFINED
    return [item for array in arrays for item in array]


def _keys(items: list[Any]) -> dict[str | None, Any]:
    return {canonical(encode(item)): item for item in items}


def _contains(test: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a function that compares the keys of the defined arguments with those of the array."""

    def contains(items: Any, *wanted: Any) -> Any:
        if not isinstance(items, list):
            return UNDEFINED
        return bool(test(_keys([value for value in wanted if value is not UNDEFINED]), _keys(items)))

    return contains


def _selected(left: list[Any], right: list[Any], *, shared: bool) -> list[Any]:
    others = _keys(right)
    return [item for key, item in _keys(left).items() if (key in others) is shared]


def _choose(index: Any, *choices: Any) -> Any:
    if not is_number(index) or not 1 <= int(index) <= len(choices):
        return UNDEFINED
    return choices[int(index) - 1]


ARRAYS = Builtins()
ARRAYS.add("ARRAY_CONTAINS", "a*b", _array_contains, optional=1)
ARRAYS.add("ARRAY_LENGTH", "a", len)
ARRAYS.add("ARRAY_SLICE", "ann", _array_slice, optional=1)
ARRAYS.add("SETINTERSECT", "aa", partial(_selected, shared=True))
ARRAYS.add("SETUNION", "aa", lambda left, right: list(_keys(left + right).values()))
ARRAYS.add("SETDIFFERENCE", "aa", partial(_selected, shared=False))
ARRAYS.add("SETEQUAL", "aa", lambda left, right: _keys(left).keys() == _keys(right).keys())
ARRAYS.add(
    "OBJECTTOARRAY", "oss", lambda o, k="k", v="v": [{k: n, v: item} for n, item in o.items()], optional=2
)
ARRAYS.add("IIF", "???", lambda condition, yes, no: yes if condition is True else no)
ARRAYS["ARRAY_CONCAT"] = Builtin(_array_concat, 2, 200)
ARRAYS["ARRAY_CONTAINS_ANY"] = Builtin(_contains(lambda wanted, items: wanted.keys() & items.keys()), 2, 200)
ARRAYS["ARRAY_CONTAINS_ALL"] = Builtin(_contains(lambda wanted, items: wanted.keys() <= items.keys()), 2, 200)
ARRAYS["CHOOSE"] = Builtin(_choose, 2, 200)

BUILTINS = {**STRINGS, **NUMBERS, **ARRAYS, **DATETIMES}


def _like(*texts: Any) -> bool | None:
    text, pattern, escape = map(decode, texts)
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    return like_matcher(pattern, escape if isinstance(escape, str) else None)(text)


def register_functions(connection: apsw.Connection) -> None:
    for name, builtin in BUILTINS.items():
        connection.create_scalar_function(
            f"c_{name.lower()}", builtin, -1, deterministic=builtin.deterministic
        )
    connection.create_scalar_function("c_like", _like, 3, deterministic=True)
