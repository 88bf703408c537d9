"""The built-in functions of Cosmos SQL. An argument of the wrong type gives undefined, never an error."""

import math
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import apsw
import orjson
import re2  # type: ignore[import-untyped]  # the wheel ships no types

from localcloud.cosmos.sql_values import UNDEFINED, canonical, decode, encode, equal

__all__ = ["BUILTINS", "Builtin", "like_matcher", "register_functions"]

MAX_RESULT = 2 * 1024 * 1024
MAX_REPLICATE = 10_000


@dataclass(frozen=True)
class Builtin:
    function: Callable[..., Any]
    minimum: int
    maximum: int
    types: str = ""  # one letter an argument: s string, n number, a array, o object, b boolean, * any defined
    deterministic: bool = True


BUILTINS: dict[str, Builtin] = {}


def _add(
    name: str, types: str, function: Callable[..., Any], *, optional: int = 0, deterministic: bool = True
) -> None:
    BUILTINS[name] = Builtin(function, len(types) - optional, len(types), types, deterministic)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "s": lambda value: isinstance(value, str),
    "n": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "b": lambda value: isinstance(value, bool),
    "a": lambda value: isinstance(value, list),
    "o": lambda value: isinstance(value, dict),
    "*": lambda value: value is not UNDEFINED,
    "?": lambda _: True,
}


def _call(builtin: Builtin, texts: tuple[str | None, ...]) -> str | None:
    values = [decode(text) for text in texts]
    types = builtin.types or "?" * len(values)
    if not all(_CHECKS[kind](value) for kind, value in zip(types, values, strict=False)):
        return None
    try:
        return encode(builtin.function(*values))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None  # outside the function's domain, such as the root of -1


def _bounded(size: float, make: Callable[[], Any]) -> Any:
    return make() if size <= MAX_RESULT else UNDEFINED


# strings


def _concat(*parts: Any) -> Any:
    if not all(isinstance(part, str) for part in parts):
        return UNDEFINED
    return _bounded(sum(map(len, parts)), lambda: "".join(parts))


def _fold(text: str, ignore_case: bool) -> str:  # noqa: FBT001 - positional, as in the query
    return text.casefold() if ignore_case else text


def _index_of(text: str, part: str, start: float = 0) -> int:
    return text.find(part, max(0, int(start)))


def _substring(text: str, start: float, length: float) -> str:
    first = max(0, int(start))
    return text[first : first + max(0, int(length))]


def _replace(text: str, old: str, new: str) -> Any:
    if not old:
        return text
    return _bounded(len(text) + text.count(old) * len(new), lambda: text.replace(old, new))


def _replicate(text: str, times: float) -> Any:
    if times < 0 or len(text) * times > MAX_REPLICATE:
        return UNDEFINED
    return text * int(times)


def _parsed(kind: type | tuple[type, ...]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = orjson.loads(text.strip())
        except ValueError:
            return UNDEFINED
        if isinstance(value, bool) and kind is not bool:
            return UNDEFINED
        return value if isinstance(value, kind) else UNDEFINED

    return parse


def _to_string(value: Any) -> str:
    return value if isinstance(value, str) else str(encode(value))


def _join(items: list[Any], separator: str) -> Any:
    if not all(isinstance(item, str) for item in items):
        return UNDEFINED
    return _bounded(sum(map(len, items)) + len(separator) * len(items), lambda: separator.join(items))


def _split(text: str, separator: str) -> Any:
    return text.split(separator) if separator else [text]


@lru_cache(maxsize=256)
def _regex(pattern: str, modifiers: str) -> Any:
    """RE2, whose time grows with the text alone: a hostile pattern cannot hang the server."""
    options = re2.Options()
    options.case_sensitive = "i" not in modifiers
    options.dot_nl = "s" in modifiers
    options.log_errors = False
    options.max_mem = 8 << 20
    flags = "(?m)" if "m" in modifiers else ""
    if "x" in modifiers:
        pattern = re.sub(r"\s+", "", pattern)
    try:
        return re2.compile(flags + pattern, options)
    except re2.error:
        return None


def _regex_match(text: str, pattern: str, modifiers: str = "") -> Any:
    compiled = _regex(pattern, modifiers)
    return UNDEFINED if compiled is None else compiled.search(text) is not None


_add("CONTAINS", "ssb", lambda s, p, i=False: _fold(p, i) in _fold(s, i), optional=1)
_add("STARTSWITH", "ssb", lambda s, p, i=False: _fold(s, i).startswith(_fold(p, i)), optional=1)
_add("ENDSWITH", "ssb", lambda s, p, i=False: _fold(s, i).endswith(_fold(p, i)), optional=1)
_add("STRINGEQUALS", "ssb", lambda s, p, i=False: _fold(s, i) == _fold(p, i), optional=1)
_add("INDEX_OF", "ssn", _index_of, optional=1)
_add("LEFT", "sn", lambda s, n: s[: max(0, int(n))])
_add("RIGHT", "sn", lambda s, n: s[-int(n) :] if n >= 1 else "")
_add("LENGTH", "s", len)
_add("LOWER", "s", str.lower)
_add("UPPER", "s", str.upper)
_add("TRIM", "ss", lambda s, chars=None: s.strip(chars), optional=1)
_add("LTRIM", "ss", lambda s, chars=None: s.lstrip(chars), optional=1)
_add("RTRIM", "ss", lambda s, chars=None: s.rstrip(chars), optional=1)
_add("REVERSE", "s", lambda s: s[::-1])
_add("REPLACE", "sss", _replace)
_add("REPLICATE", "sn", _replicate)
_add("SUBSTRING", "snn", _substring)
_add("TOSTRING", "*", _to_string)
_add("STRINGTOARRAY", "s", _parsed(list))
_add("STRINGTOOBJECT", "s", _parsed(dict))
_add("STRINGTOBOOLEAN", "s", _parsed(bool))
_add("STRINGTONULL", "s", _parsed(type(None)))
_add("STRINGTONUMBER", "s", _parsed((int, float)))
_add("STRINGJOIN", "as", _join)
_add("STRINGSPLIT", "ss", _split)
_add("REGEXMATCH", "sss", _regex_match, optional=1)
BUILTINS["CONCAT"] = Builtin(_concat, 2, 200)

# numbers


def _round(value: float, digits: float = 0) -> float:
    scale = 10.0 ** int(digits)
    return math.copysign(math.floor(abs(value) * scale + 0.5) / scale, value)


def _number_bin(value: float, size: float = 1) -> float:
    return math.floor(value / size) * size


_add("ABS", "n", abs)
_add("CEILING", "n", math.ceil)
_add("FLOOR", "n", math.floor)
_add("TRUNC", "n", math.trunc)
_add("ROUND", "nn", _round, optional=1)
_add("SIGN", "n", lambda n: (n > 0) - (n < 0))
_add("SQRT", "n", math.sqrt)
_add("SQUARE", "n", lambda n: float(n) * n)
_add("POWER", "nn", math.pow)
_add("EXP", "n", math.exp)
_add("LOG", "nn", lambda n, base=math.e: math.log(n) if base == math.e else math.log(n, base), optional=1)
_add("LOG10", "n", math.log10)
_add("PI", "", lambda: math.pi)
_add("SIN", "n", math.sin)
_add("COS", "n", math.cos)
_add("TAN", "n", math.tan)
_add("COT", "n", lambda n: 1 / math.tan(n))
_add("ASIN", "n", math.asin)
_add("ACOS", "n", math.acos)
_add("ATAN", "n", math.atan)
_add("ATN2", "nn", math.atan2)
_add("DEGREES", "n", math.degrees)
_add("RADIANS", "n", math.radians)
_add("RAND", "", random.random, deterministic=False)
_add("NUMBERBIN", "nn", _number_bin, optional=1)
_add("IS_INTEGER", "?", lambda v: _CHECKS["n"](v) and float(v).is_integer())
_add("IS_FINITE_NUMBER", "?", lambda v: _CHECKS["n"](v) and math.isfinite(v))

# arrays and objects


def _holds(item: Any, wanted: Any, partial: bool) -> bool:  # noqa: FBT001 - as in the query
    if partial and isinstance(item, dict) and isinstance(wanted, dict):
        return all(name in item and equal(item[name], value) for name, value in wanted.items())
    return equal(item, wanted)


def _array_contains(items: list[Any], wanted: Any, partial: bool = False) -> bool:  # noqa: FBT001, FBT002
    return any(_holds(item, wanted, partial) for item in items)


def _array_slice(items: list[Any], start: float, length: float | None = None) -> list[Any]:
    first = int(start) if start >= 0 else max(0, len(items) + int(start))
    return items[first:] if length is None else items[first : first + max(0, int(length))]


def _array_concat(*arrays: Any) -> Any:
    if not all(isinstance(array, list) for array in arrays):
        return UNDEFINED
    return [item for array in arrays for item in array]


def _keys(items: list[Any]) -> dict[str | None, Any]:
    return {canonical(encode(item)): item for item in items}


def _contains_any(items: list[Any], *wanted: Any) -> Any:
    return bool(_keys(items).keys() & _keys([value for value in wanted if value is not UNDEFINED]).keys())


def _contains_all(items: list[Any], *wanted: Any) -> Any:
    return _keys([value for value in wanted if value is not UNDEFINED]).keys() <= _keys(items).keys()


def _intersect(left: list[Any], right: list[Any]) -> list[Any]:
    keep = _keys(right).keys()
    return [item for key, item in _keys(left).items() if key in keep]


def _difference(left: list[Any], right: list[Any]) -> list[Any]:
    drop = _keys(right).keys()
    return [item for key, item in _keys(left).items() if key not in drop]


def _object_to_array(value: dict[str, Any], name: str = "k", member: str = "v") -> list[Any]:
    return [{name: key, member: item} for key, item in value.items()]


def _choose(index: Any, *choices: Any) -> Any:
    if not _CHECKS["n"](index) or not 1 <= int(index) <= len(choices):
        return UNDEFINED
    return choices[int(index) - 1]


def _only_on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda items, *rest: function(items, *rest) if isinstance(items, list) else UNDEFINED


_add("ARRAY_CONTAINS", "a*b", _array_contains, optional=1)
_add("ARRAY_LENGTH", "a", len)
_add("ARRAY_SLICE", "ann", _array_slice, optional=1)
_add("SETINTERSECT", "aa", _intersect)
_add("SETUNION", "aa", lambda left, right: list(_keys(left + right).values()))
_add("SETDIFFERENCE", "aa", _difference)
_add("SETEQUAL", "aa", lambda left, right: _keys(left).keys() == _keys(right).keys())
_add("OBJECTTOARRAY", "oss", _object_to_array, optional=2)
_add("IIF", "???", lambda condition, yes, no: yes if condition is True else no)
BUILTINS["ARRAY_CONCAT"] = Builtin(_array_concat, 2, 200)
BUILTINS["ARRAY_CONTAINS_ANY"] = Builtin(_only_on_arrays(_contains_any), 2, 200)
BUILTINS["ARRAY_CONTAINS_ALL"] = Builtin(_only_on_arrays(_contains_all), 2, 200)
BUILTINS["CHOOSE"] = Builtin(_choose, 2, 200)

# time


def _to_datetime(milliseconds: float) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}0Z"


def _to_timestamp(text: str) -> Any:
    try:
        moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00")))
    except ValueError:
        return UNDEFINED
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


for _name in ("GETCURRENTDATETIME", "GETCURRENTDATETIMESTATIC"):
    _add(_name, "", lambda: _to_datetime(time.time() * 1000), deterministic=False)
for _name in ("GETCURRENTTIMESTAMP", "GETCURRENTTIMESTAMPSTATIC"):
    _add(_name, "", lambda: int(time.time() * 1000), deterministic=False)
_add("DATETIMETOTIMESTAMP", "s", _to_timestamp)
_add("TIMESTAMPTODATETIME", "n", _to_datetime)


# LIKE

_ANY = "%"


@lru_cache(maxsize=512)
def like_matcher(pattern: str, escape: str | None) -> Callable[[str], bool]:
    """Match `pattern` in time proportional to the text, however many wildcards it has.

    The pieces between the % signs have a fixed length each, so that the leftmost match of each is enough.
    """
    pieces = [re.compile(piece, re.DOTALL) for piece in _like_pieces(pattern, escape)]
    last_length = _like_length(pattern, escape)

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
    """The pattern's parts as expressions of one character each, and "%"."""
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
        return "(?!)"  # such as [z-a]: matches nothing
    return expression


def _like_pieces(pattern: str, escape: str | None) -> list[str]:
    pieces = [""]
    for token in _like_tokens(pattern, escape):
        if token == _ANY:
            pieces.append("")
        else:
            pieces[-1] += token
    return pieces


def _like_length(pattern: str, escape: str | None) -> int:
    tokens = _like_tokens(pattern, escape)
    return tokens[::-1].index(_ANY) if _ANY in tokens else len(tokens)


def _like(*texts: Any) -> bool | None:
    text, pattern, escape = map(decode, texts)
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    return like_matcher(pattern, escape if isinstance(escape, str) else None)(text)


def register_functions(connection: apsw.Connection) -> None:
    for name, builtin in BUILTINS.items():
        connection.create_scalar_function(
            f"c_{name.lower()}",
            lambda *texts, builtin=builtin: _call(builtin, texts),
            -1,
            deterministic=builtin.deterministic,
        )
    connection.create_scalar_function("c_like", _like, 3, deterministic=True)
