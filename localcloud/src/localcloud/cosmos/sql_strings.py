"""The string functions of Cosmos SQL."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson
import re2  # type: ignore[import-untyped]  # the wheel ships no types

from localcloud.cosmos.sql_builtins import Builtin, Builtins, bounded
from localcloud.cosmos.sql_values import UNDEFINED, encode

MAX_REPLICATE = 10_000


def _concat(*parts: Any) -> Any:
    if not all(isinstance(part, str) for part in parts):
        return UNDEFINED
    return bounded(sum(map(len, parts)), lambda: "".join(parts))


def _fold(text: str, ignore_case: bool) -> str:  # noqa: FBT001 - positional, as in the query
    return text.casefold() if ignore_case else text


def _replace(text: str, old: str, new: str) -> Any:
    if not old:
        return text
    return bounded(len(text) + text.count(old) * len(new), lambda: text.replace(old, new))


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


def _join(items: list[Any], separator: str) -> Any:
    if not all(isinstance(item, str) for item in items):
        return UNDEFINED
    return bounded(sum(map(len, items)) + len(separator) * len(items), lambda: separator.join(items))


@lru_cache(maxsize=256)
def _regex(pattern: str, modifiers: str) -> Any:
    """Compile with RE2, whose time is linear in the text: a hostile pattern cannot block the server."""
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


STRINGS = Builtins()
STRINGS.add("CONTAINS", "ssb", lambda s, p, i=False: _fold(p, i) in _fold(s, i), optional=1)
STRINGS.add("STARTSWITH", "ssb", lambda s, p, i=False: _fold(s, i).startswith(_fold(p, i)), optional=1)
STRINGS.add("ENDSWITH", "ssb", lambda s, p, i=False: _fold(s, i).endswith(_fold(p, i)), optional=1)
STRINGS.add("STRINGEQUALS", "ssb", lambda s, p, i=False: _fold(s, i) == _fold(p, i), optional=1)
STRINGS.add("INDEX_OF", "ssn", lambda s, part, start=0: s.find(part, max(0, int(start))), optional=1)
STRINGS.add("LEFT", "sn", lambda s, n: s[: max(0, int(n))])
STRINGS.add("RIGHT", "sn", lambda s, n: s[-int(n) :] if n >= 1 else "")
STRINGS.add("LENGTH", "s", len)
STRINGS.add("LOWER", "s", str.lower)
STRINGS.add("UPPER", "s", str.upper)
STRINGS.add("TRIM", "ss", lambda s, chars=None: s.strip(chars), optional=1)
STRINGS.add("LTRIM", "ss", lambda s, chars=None: s.lstrip(chars), optional=1)
STRINGS.add("RTRIM", "ss", lambda s, chars=None: s.rstrip(chars), optional=1)
STRINGS.add("REVERSE", "s", lambda s: s[::-1])
STRINGS.add("REPLACE", "sss", _replace)
STRINGS.add("REPLICATE", "sn", _replicate)
STRINGS.add("SUBSTRING", "snn", lambda s, start, n: s[max(0, int(start)) :][: max(0, int(n))])
STRINGS.add("TOSTRING", "*", lambda v: v if isinstance(v, str) else str(encode(v)))
STRINGS.add("STRINGTOARRAY", "s", _parsed(list))
STRINGS.add("STRINGTOOBJECT", "s", _parsed(dict))
STRINGS.add("STRINGTOBOOLEAN", "s", _parsed(bool))
STRINGS.add("STRINGTONULL", "s", _parsed(type(None)))
STRINGS.add("STRINGTONUMBER", "s", _parsed((int, float)))
STRINGS.add("STRINGJOIN", "as", _join)
STRINGS.add("STRINGSPLIT", "ss", lambda s, separator: s.split(separator) if separator else [s])
STRINGS.add("REGEXMATCH", "sss", _regex_match, optional=1)
STRINGS["CONCAT"] = Builtin(_concat, 2, 200)
