"""The syntax tree of a Cosmos SQL query: `from localcloud.cosmos import sql_ast as ast`.

Nodes that a query plan rewrites also keep their text.
"""

from dataclasses import dataclass
from typing import Any, Union, dataclass_transform

AGGREGATES = frozenset({"COUNT", "COUNTIF", "SUM", "AVG", "MIN", "MAX"})


@dataclass_transform(frozen_default=True)
class _Node:
    """Makes each subclass a frozen dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class Const(_Node):
    value: Any


class Undefined(_Node):
    pass


class Param(_Node):
    name: str


class Name(_Node):
    name: str


class Member(_Node):
    base: "Expr"
    key: "Expr"  # a Const if the text names the property


class Unary(_Node):
    op: str
    operand: "Expr"


class Binary(_Node):
    op: str
    left: "Expr"
    right: "Expr"


class Logic(_Node):
    """A chain of AND or OR."""

    op: str
    operands: tuple["Expr", ...]


class Between(_Node):
    operand: "Expr"
    low: "Expr"
    high: "Expr"


class In(_Node):
    operand: "Expr"
    choices: tuple["Expr", ...]


class Like(_Node):
    operand: "Expr"
    pattern: "Expr"
    escape: "Expr | None"


class Ternary(_Node):
    condition: "Expr"
    consequent: "Expr"
    alternative: "Expr"


class Call(_Node):
    name: str
    arguments: tuple["Expr", ...]


class ArrayLiteral(_Node):
    items: tuple["Expr", ...]


class ObjectLiteral(_Node):
    members: tuple[tuple[str, "Expr"], ...]


class Subquery(_Node):
    query: "Query"


class Exists(_Node):
    query: "Query"


class ArrayOf(_Node):
    query: "Query"


Expr = Union[
    "Const", "Undefined", "Param", "Name", "Member", "Unary", "Binary", "Logic", "Between", "In", "Like",
    "Ternary", "Call", "ArrayLiteral", "ObjectLiteral", "Subquery", "Exists", "ArrayOf",
]  # fmt: skip


class SelectItem(_Node):
    expr: Expr
    alias: str
    text: str


class OrderKey(_Node):
    expr: Expr
    descending: bool
    text: str


class Source(_Node):
    """A source in FROM. `alias IN expr` iterates over an array. Without IN, the alias is the value itself."""

    alias: str
    expr: Expr | None  # None: the container's documents
    iterates: bool = False


class Query(_Node):
    select: tuple[SelectItem, ...] | None  # None: SELECT *
    select_value: bool = False
    distinct: bool = False
    top: Expr | None = None
    sources: tuple[Source, ...] = ()
    where: Expr | None = None
    group_by: tuple[OrderKey, ...] = ()
    order_by: tuple[OrderKey, ...] = ()
    offset: Expr | None = None
    limit: Expr | None = None
    from_text: str = ""
    where_text: str = ""
    aggregates: bool = False

    @property
    def needs_plan(self) -> bool:
        """Whether the results of several ranges cannot simply be concatenated."""
        combined = self.order_by or self.group_by or self.distinct or self.aggregates
        return bool(combined) or self.top is not None or self.offset is not None


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression, without those inside a subquery."""
    match expr:
        case Member(base, key):
            return (base, key)
        case Unary(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Logic(_, operands) | Call(_, operands) | ArrayLiteral(operands):
            return operands
        case Between(operand, low, high) | Ternary(operand, low, high):
            return (operand, low, high)
        case In(operand, choices):
            return (operand, *choices)
        case Like(operand, pattern, _):
            return (operand, pattern)
        case ObjectLiteral(members):
            return tuple(value for _, value in members)
        case _:
            return ()


def contains_aggregate(expr: Expr) -> bool:
    if isinstance(expr, Call) and expr.name in AGGREGATES:
        return True
    return any(contains_aggregate(child) for child in children(expr))
