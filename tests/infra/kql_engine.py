"""Run our KQL files on rows: the subset of the language that they use, with its rules for missing values.

A row is a dict, a time is seconds since the epoch, and a timespan is seconds. Comparisons with null are
false, the sum of nothing is 0, and the minimum and maximum of nothing are null.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["KqlError", "Rows", "run_kql"]

Row = dict[str, Any]
Rows = list[Row]
Value = Callable[[Row], Any]

_TOKEN = re.compile(r'\s*("[^"]*"|\d+(?:\.\d+)?[smhd]?\b|\w+|\.\.|==|!=|>=|<=|[-><+*/()\[\],.|;=])')
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt,
    "<=": operator.le,
    "has": lambda text, word: word.lower() in text.lower(),
    "startswith": lambda text, start: text.lower().startswith(start.lower()),
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": lambda left, right: left / right if right else math.nan,
}  # fmt: skip


class KqlError(ValueError):
    """The query uses something that the engine does not support."""


def run_kql(query: str, tables: Mapping[str, Rows], now: float) -> Rows:
    """Return the rows that the query gives on these tables."""
    bare = re.sub(r"//[^\n]*", "", query)
    return _Reader(_tokens(bare), tables, now).query()


def _tokens(text: str) -> list[str]:
    found, end = [], 0
    while text[end:].strip():
        match = _TOKEN.match(text, end)
        if match is None:
            raise KqlError(f"cannot read {text[end : end + 20]!r}")
        found.append(match[1])
        end = match.end()
    return found


class _Reader:
    def __init__(self, tokens: Sequence[str], tables: Mapping[str, Rows], now: float) -> None:
        self._tokens = [*tokens, ""]
        self._at = 0
        self._tables = tables
        self._now = now
        self._lets: dict[str, Any] = {}

    @property
    def _next(self) -> str:
        return self._tokens[self._at]

    def _take(self, *wanted: str) -> str:
        token = self._next
        if wanted and token not in wanted:
            raise KqlError(f"expected {' or '.join(wanted)}, found {token!r}")
        self._at += 1
        return token

    def _is(self, *tokens: str) -> bool:
        if self._next in tokens:
            self._at += 1
            return True
        return False

    def _list(self, item: Callable[[], Any]) -> list[Any]:
        items = [item()]
        while self._is(","):
            items.append(item())
        return items

    def query(self) -> Rows:
        while self._is("let"):
            name = self._take()
            self._take("=")
            self._lets[name] = self._expression()({})
            self._take(";")
        return self._pipeline()

    def _pipeline(self) -> Rows:
        table = self._take()
        if table not in self._tables:
            raise KqlError(f"no table {table}")
        rows = [dict(row) for row in self._tables[table]]
        while self._is("|"):
            rows = self._stage(rows)
        return rows

    def _stage(self, rows: Rows) -> Rows:
        name = self._take()
        if name == "project" and self._is("-"):
            name += f"-{self._take('away')}"
        stages: dict[str, Callable[[Rows], Rows]] = {
            "where": self._where,
            "extend": self._extend,
            "project": self._project,
            "project-away": self._project_away,
            "summarize": self._summarize,
            "order": self._order,
            "top": self._top,
            "render": self._render,
        }
        if name not in stages:
            raise KqlError(f"no operator {name}")
        return stages[name](rows)

    def _render(self, rows: Rows) -> Rows:
        self._take("timechart")
        return rows

    def _where(self, rows: Rows) -> Rows:
        condition = self._expression()
        return [row for row in rows if condition(row)]

    def _extend(self, rows: Rows) -> Rows:
        named = self._list(self._named)
        return [{**row, **{name: value(row) for name, value in named}} for row in rows]

    def _project(self, rows: Rows) -> Rows:
        named = self._list(self._named)
        return [{name: value(row) for name, value in named} for row in rows]

    def _project_away(self, rows: Rows) -> Rows:
        dropped = set(self._list(self._take))
        return [{name: value for name, value in row.items() if name not in dropped} for row in rows]

    def _order(self, rows: Rows) -> Rows:
        self._take("by")
        return self._sorted(rows)

    def _top(self, rows: Rows) -> Rows:
        count = int(self._take())
        self._take("by")
        return self._sorted(rows)[:count]

    def _sorted(self, rows: Rows) -> Rows:
        key = self._expression()
        return sorted(rows, key=key, reverse=self._take("asc", "desc") == "desc")

    def _summarize(self, rows: Rows) -> Rows:
        aggregates = self._list(self._aggregate)
        by = self._list(self._named) if self._is("by") else []
        groups: dict[tuple[Any, ...], Rows] = {} if by else {(): []}
        for row in rows:
            groups.setdefault(tuple(value(row) for _, value in by), []).append(row)
        names = [name for name, _ in by]
        return [
            dict(zip(names, key, strict=True)) | {k: v for give in aggregates for k, v in give(group).items()}
            for key, group in groups.items()
        ]

    def _aggregate(self) -> Callable[[Rows], Row]:
        name = self._take() if self._tokens[self._at + 1] == "=" else None
        if name is not None:
            self._take("=")
        function = self._take()
        self._take("(")
        start = self._at
        arguments = self._list(self._expression)
        columns = [token for token in self._tokens[start : self._at] if token != ","]
        self._take(")")
        if function == "arg_max":
            return lambda rows: _arg_max(rows, arguments, columns)
        if function not in _AGGREGATES:
            raise KqlError(f"no aggregate {function}")
        give = _AGGREGATES[function]
        return lambda rows: {name or f"{function}_{columns[0]}": give(rows, *arguments)}

    def _named(self) -> tuple[str, Value]:
        if self._tokens[self._at + 1] == "=":
            name = self._take()
            self._take("=")
            return name, self._expression()
        start = self._at
        value = self._expression()
        tokens = self._tokens[start : self._at]
        return (tokens[2] if tokens[0] == "bin" else tokens[0]), value

    # From the loosest binding to the tightest.

    def _expression(self) -> Value:
        value = self._both()
        while self._is("or"):
            value = _either(value, self._both())
        return value

    def _both(self) -> Value:
        value = self._comparison()
        while self._is("and"):
            value = _all_of(value, self._comparison())
        return value

    def _comparison(self) -> Value:
        left = self._sum()
        if self._is("in"):
            self._take("(")
            options = self._list(self._expression)
            self._take(")")
            return lambda row: left(row) in [option(row) for option in options]
        if self._is("between"):
            return self._between(left)
        if self._next in _COMPARE:
            compare = _COMPARE[self._take()]
            return _where_known(compare, left, self._sum(), missing=False)
        return left

    def _between(self, value: Value) -> Value:
        self._take("(")
        low = self._sum()
        self._take("..")
        high = self._sum()
        self._take(")")
        return lambda row: (found := value(row)) is not None and low(row) <= found <= high(row)

    def _sum(self) -> Value:
        value = self._product()
        while self._next in ("+", "-"):
            value = _where_known(_ARITHMETIC[self._take()], value, self._product())
        return value

    def _product(self) -> Value:
        value = self._primary()
        while self._next in ("*", "/"):
            value = _where_known(_ARITHMETIC[self._take()], value, self._primary())
        return value

    def _primary(self) -> Value:
        token = self._take()
        if token == "(":
            value = self._expression()
            self._take(")")
            return value
        if token.startswith('"'):
            return _constant(token[1:-1])
        if token[0].isdigit():
            return _constant(_number(token))
        if self._is("("):
            return self._call(token)
        return self._member(token)

    def _member(self, name: str) -> Value:
        if name in self._lets:
            return _constant(self._lets[name])
        if self._is("."):
            key = self._take()
        elif self._is("["):
            key = self._take()[1:-1]
            self._take("]")
        else:
            return lambda row: _column(row, name)
        return lambda row: _column(row, name).get(key)

    def _call(self, name: str) -> Value:
        if name == "toscalar":
            rows = self._pipeline()
            self._take(")")
            return _constant(next(iter(rows[0].values())) if rows else None)
        arguments = self._list(self._expression)
        self._take(")")
        if name == "ago":
            return lambda row: self._now - arguments[0](row)
        if name not in _FUNCTIONS:
            raise KqlError(f"no function {name}")
        return lambda row: _FUNCTIONS[name](*(argument(row) for argument in arguments))


def _constant(value: Any) -> Value:
    return lambda _row: value


def _either(left: Value, right: Value) -> Value:
    return lambda row: bool(left(row)) or bool(right(row))


def _all_of(left: Value, right: Value) -> Value:
    return lambda row: bool(left(row)) and bool(right(row))


def _where_known(work: Callable[[Any, Any], Any], left: Value, right: Value, *, missing: Any = None) -> Value:
    def value(row: Row) -> Any:
        one, other = left(row), right(row)
        return missing if one is None or other is None else work(one, other)

    return value


def _column(row: Row, name: str) -> Any:
    if name not in row:
        raise KqlError(f"no column {name}")
    return row[name]


def _number(token: str) -> float:
    return float(token[:-1]) * _SECONDS[token[-1]] if token[-1] in _SECONDS else float(token)


def _known(rows: Rows, value: Value) -> list[Any]:
    return [found for row in rows if (found := value(row)) is not None]


def _sum_of(rows: Rows, value: Value) -> float:
    return float(sum(_known(rows, value)))


def _if(rows: Rows, condition: Value) -> Rows:
    return [row for row in rows if condition(row)]


def _arg_max(rows: Rows, arguments: Sequence[Value], columns: Sequence[str]) -> Row:
    newest = max(rows, key=arguments[0], default={})
    return {name: newest.get(name) for name in columns}


_AGGREGATES: dict[str, Callable[..., Any]] = {
    "sum": _sum_of,
    "sumif": lambda rows, value, condition: _sum_of(_if(rows, condition), value),
    "min": lambda rows, value: min(_known(rows, value), default=None),
    "max": lambda rows, value: max(_known(rows, value), default=None),
    "minif": lambda rows, value, condition: min(_known(_if(rows, condition), value), default=None),
    "maxif": lambda rows, value, condition: max(_known(_if(rows, condition), value), default=None),
}


def _to_int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _first_known(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _bin(value: float, size: float) -> float:
    return value // size * size


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tostring": lambda value: "" if value is None else str(value),
    "toint": _to_int,
    "iff": lambda condition, yes, no: yes if condition else no,
    "coalesce": _first_known,
    "bin": _bin,
}
