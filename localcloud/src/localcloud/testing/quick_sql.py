"""Queries over documents in memory: the syntax trees of Cosmos DB's SQL as Python functions.

They support a part of the language. Any other query raises NotImplementedError.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import orjson

from localcloud.cosmos import sql_ast as ast
from localcloud.cosmos.sql_parser import parse_condition, parse_query
from localcloud.cosmos.sql_values import UNDEFINED, compare, equal, rank

Document = Mapping[str, Any]
Values = Mapping[str, Any]  # of parameters
Scope = Mapping[str, Any]  # the values of a query's names
Expression = Callable[[Scope, Values], Any]
_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.@])-?\d+(?:\.\d+)?(?![\w.])""")


class Select(NamedTuple):
    """A compiled query, which can run over any documents."""

    where: Expression | None
    order: tuple[tuple[Expression, bool], ...]
    shown: Callable[[Scope, Values], Any]
    top: Expression | None
    offset: Expression | None
    limit: Expression | None
    counts: bool
    distinct: bool
    alias: str

    def run(self, documents: Sequence[Document], values: Values) -> list[Any]:
        scopes: list[Scope] = [{self.alias: document} for document in documents]
        if self.where is not None:
            scopes = [scope for scope in scopes if self.where(scope, values) is True]
        for key, descending in reversed(self.order):
            scopes.sort(key=lambda scope, key=key: _place(key(scope, values)), reverse=descending)  # type: ignore[misc]
        if self.counts:
            return [len(scopes)]
        shown = [item for scope in scopes if (item := self.shown(scope, values)) is not UNDEFINED]
        if self.distinct:
            shown = list(dict.fromkeys(shown))
        start = int(self.offset({}, values)) if self.offset is not None else 0
        most = self.top or self.limit
        return shown[start:] if most is None else shown[start : start + int(most({}, values))]


def _place(value: Any) -> tuple[int, Any]:
    return rank(value), "" if value is None or value is UNDEFINED else value


@cache
def compiled(text: str) -> Select:
    return _select(parse_query(text))


def meets(document: Document, condition: str) -> bool:
    """Return whether a document meets a patch condition, whose text contains its values."""
    values: dict[str, Any] = {}

    def named(found: re.Match[str]) -> str:
        name = f"@v{len(values)}"
        values[name] = _value(found.group())
        return name

    where = _condition(_LITERAL.sub(named, condition))
    return where is None or where.run([document], values) != []


@cache
def _condition(template: str) -> Select | None:
    return _select(parse_condition(template))


def _value(literal: str) -> Any:
    if literal[0] == "'":
        literal = '"' + literal[1:-1].replace('"', '\\"') + '"'
    return orjson.loads(literal)


def _select(query: ast.Query) -> Select:
    if query.group_by or len(query.sources) > 1:
        raise NotImplementedError(f"the simulated Cosmos DB does not support this query: {query.from_text}")
    alias = query.sources[0].alias if query.sources else ""
    counts = query.aggregates
    if counts and (query.select is None or not query.select_value or not _is_count(query.select[0].expr)):
        raise NotImplementedError("the simulated Cosmos DB supports no aggregate except COUNT(1)")
    return Select(
        _optional(query.where),
        tuple((_expression(key.expr), key.descending) for key in query.order_by),
        _shown(query, alias) if not counts else _whole(alias),
        _optional(query.top),
        _optional(query.offset),
        _optional(query.limit),
        counts,
        query.distinct,
        alias,
    )


def _optional(expr: ast.Expr | None) -> Expression | None:
    return _expression(expr) if expr is not None else None


def _is_count(expr: ast.Expr) -> bool:
    return expr == ast.Call("COUNT", (ast.Const(1),))


def _whole(alias: str) -> Expression:
    return lambda scope, _: scope[alias]


def _shown(query: ast.Query, alias: str) -> Expression:
    if query.select is None:
        return _whole(alias)
    if query.select_value:
        return _expression(query.select[0].expr)
    members = [(item.alias, _expression(item.expr)) for item in query.select]

    def shown(scope: Scope, values: Values) -> dict[str, Any]:
        found = ((name, of(scope, values)) for name, of in members)
        return {name: value for name, value in found if value is not UNDEFINED}

    return shown


def _expression(expr: ast.Expr) -> Expression:  # noqa: C901, PLR0911 - one case for each kind
    match expr:
        case ast.Const(value):
            return lambda _scope, _values: value
        case ast.Undefined():
            return lambda _scope, _values: UNDEFINED
        case ast.Param(name):
            return lambda _scope, values: values[name]
        case ast.Name(name):
            return lambda scope, _values: scope.get(name, UNDEFINED)
        case ast.Member(base, key):
            return _member(_expression(base), _expression(key))
        case ast.Unary("NOT", operand):
            return _negated(_expression(operand))
        case ast.Binary(op, left, right) if op in _COMPARISONS:
            return _compared(_COMPARISONS[op], _expression(left), _expression(right))
        case ast.Logic(op, operands):
            return _chain([_expression(operand) for operand in operands], is_and=op == "AND")
        case ast.In(operand, choices):
            return _among(_expression(operand), [_expression(choice) for choice in choices])
        case ast.Call(name, arguments) if name in _FUNCTIONS:
            return _called(_FUNCTIONS[name], [_expression(argument) for argument in arguments])
        case ast.Exists(query):
            return _exists(query)
    raise NotImplementedError(f"the simulated Cosmos DB does not support {expr}")


def _member(base: Expression, key: Expression) -> Expression:
    def member(scope: Scope, values: Values) -> Any:
        found, name = base(scope, values), key(scope, values)
        if isinstance(found, list) and isinstance(name, int):
            return found[name] if name < len(found) else UNDEFINED
        return found.get(name, UNDEFINED) if isinstance(found, dict) else UNDEFINED

    return member


def _negated(operand: Expression) -> Expression:
    def negated(scope: Scope, values: Values) -> Any:
        value = operand(scope, values)
        return not value if isinstance(value, bool) else UNDEFINED

    return negated


def _ordered(test: Callable[[int], bool]) -> Callable[[Any, Any], Any]:
    def ordered(left: Any, right: Any) -> Any:
        order = compare(left, right)
        return UNDEFINED if order is None else test(order)

    return ordered


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _ordered(lambda order: order < 0),
    "<=": _ordered(lambda order: order <= 0),
    ">": _ordered(lambda order: order > 0),
    ">=": _ordered(lambda order: order >= 0),
}


def _compared(test: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    def compared(scope: Scope, values: Values) -> Any:
        a, b = left(scope, values), right(scope, values)
        return UNDEFINED if a is UNDEFINED or b is UNDEFINED else test(a, b)

    return compared


def _chain(operands: Sequence[Expression], *, is_and: bool) -> Expression:
    """Evaluate AND or OR. A deciding operand takes precedence over a non-boolean operand."""
    decides = not is_and

    def chain(scope: Scope, values: Values) -> Any:
        result: Any = is_and
        for operand in operands:
            value = operand(scope, values)
            if value is decides:
                return decides
            if not isinstance(value, bool):
                result = UNDEFINED
        return result

    return chain


def _among(operand: Expression, choices: Sequence[Expression]) -> Expression:
    def among(scope: Scope, values: Values) -> Any:
        value = operand(scope, values)
        if value is UNDEFINED:
            return UNDEFINED
        return any(equal(value, choice(scope, values)) for choice in choices)

    return among


def _called(function: Callable[..., Any], arguments: Sequence[Expression]) -> Expression:
    return lambda scope, values: function(*(argument(scope, values) for argument in arguments))


def _array_contains(items: Any, wanted: Any) -> Any:
    if items is UNDEFINED or wanted is UNDEFINED:
        return UNDEFINED
    return isinstance(items, list) and any(equal(item, wanted) for item in items)


def _concatenated(*texts: Any) -> Any:
    return "".join(texts) if all(isinstance(text, str) for text in texts) else UNDEFINED


def _length(text: Any) -> Any:
    return len(text) if isinstance(text, str) else UNDEFINED


def _starts_with(text: Any, start: Any) -> Any:
    return text.startswith(start) if isinstance(text, str) and isinstance(start, str) else UNDEFINED


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ARRAY_CONTAINS": _array_contains,
    "ARRAY_LENGTH": lambda value: len(value) if isinstance(value, list) else UNDEFINED,
    "CONCAT": _concatenated,
    "IS_ARRAY": lambda value: isinstance(value, list),
    "IS_DEFINED": lambda value: value is not UNDEFINED,
    "IS_NULL": lambda value: value is None,
    "IS_OBJECT": lambda value: isinstance(value, dict),
    "IS_STRING": lambda value: isinstance(value, str),
    "LENGTH": _length,
    "STARTSWITH": _starts_with,
}


def _exists(query: ast.Query) -> Expression:
    """Compile EXISTS: whether an item of an array meets a condition."""
    (source,) = query.sources
    if not source.iterates or source.expr is None or query.where is None:
        raise NotImplementedError("the simulated Cosmos DB supports EXISTS only over an array's items")
    items, where = _expression(source.expr), _expression(query.where)

    def exists(scope: Scope, values: Values) -> Any:
        found = items(scope, values)
        inner = found if isinstance(found, list) else []
        return any(where({**scope, source.alias: item}, values) is True for item in inner)

    return exists
