"""The syntax tree of a Cosmos SQL query: `from localcloud.cosmos import sql_ast as ast`.

What a plan rewrites keeps its own text beside its expression.
"""

from dataclasses import dataclass
from typing import Any, Union

AGGREGATES = frozenset({"COUNT", "COUNTIF", "SUM", "AVG", "MIN", "MAX"})


@dataclass(frozen=True)
class Const:
    value: Any


@dataclass(frozen=True)
class Undefined:
    pass


@dataclass(frozen=True)
class Param:
    name: str


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Member:
    base: "Expr"
    key: "Expr"  # a Const where the text names the property


@dataclass(frozen=True)
class Unary:
    op: str
    operand: "Expr"


@dataclass(frozen=True)
class Binary:
    op: str
    left: "Expr"
    right: "Expr"


@dataclass(frozen=True)
class Logic:
    """A chain of AND or of OR."""

    op: str
    operands: tuple["Expr", ...]


@dataclass(frozen=True)
class Between:
    operand: "Expr"
    low: "Expr"
    high: "Expr"


@dataclass(frozen=True)
class In:
    operand: "Expr"
    choices: tuple["Expr", ...]


@dataclass(frozen=True)
class Like:
    operand: "Expr"
    pattern: "Expr"
    escape: "Expr | None"


@dataclass(frozen=True)
class Ternary:
    condition: "Expr"
    consequent: "Expr"
    alternative: "Expr"


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple["Expr", ...]


@dataclass(frozen=True)
class ArrayLiteral:
    items: tuple["Expr", ...]


@dataclass(frozen=True)
class ObjectLiteral:
    members: tuple[tuple[str, "Expr"], ...]


@dataclass(frozen=True)
class Subquery:
    query: "Query"


@dataclass(frozen=True)
class Exists:
    query: "Query"


@dataclass(frozen=True)
class ArrayOf:
    query: "Query"


Expr = Union[
    "Const", "Undefined", "Param", "Name", "Member", "Unary", "Binary", "Logic", "Between", "In", "Like",
    "Ternary", "Call", "ArrayLiteral", "ObjectLiteral", "Subquery", "Exists", "ArrayOf",
]  # fmt: skip


@dataclass(frozen=True)
class SelectItem:
    expr: Expr
    alias: str
    text: str


@dataclass(frozen=True)
class OrderKey:
    expr: Expr
    descending: bool
    text: str


@dataclass(frozen=True)
class Source:
    """`alias IN expr` goes over an array's items; without IN the alias stands for the value itself."""

    alias: str
    expr: Expr | None  # None: the container's documents
    iterates: bool = False


@dataclass(frozen=True)
class Query:
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
        """Whether the results of several ranges cannot simply be put one after the other."""
        combined = self.order_by or self.group_by or self.distinct or self.aggregates
        return bool(combined) or self.top is not None or self.offset is not None


def children(expr: Expr) -> tuple[Expr, ...]:
    """The operands of an expression; those inside a subquery are its own."""
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
