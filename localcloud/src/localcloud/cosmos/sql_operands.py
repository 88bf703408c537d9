"""Operands of expressions: constants and parameters, which are bound, and paths, which are indexed."""

from typing import Any

import orjson

from localcloud.cosmos.errors import bad_request
from localcloud.cosmos.sql_ast import ArrayLiteral, Const, Expr, Param
from localcloud.cosmos.sql_pieces import Binder, State, Value, typed
from localcloud.cosmos.sql_values import ARRAY, NULL, OBJECT, UNDEFINED, rank


class Operands:
    def __init__(self, state: State, names: dict[str, Value]) -> None:
        self.state = state
        self.names = dict(names)

    def index(self, value: Value) -> None:
        if value.indexed and value.steps != "$":
            self.state.indexes.add((value.t.replace("d.body", "body"), value.v.replace("d.body", "body")))

    def known(self, expr: Expr) -> Any:
        """Return the value if it is known at compile time, otherwise UNDEFINED.

        The SQL may depend only on its type.
        """
        if isinstance(expr, Const):
            return expr.value
        if isinstance(expr, ArrayLiteral):
            items = [self.known(item) for item in expr.items]
            return UNDEFINED if UNDEFINED in items else items
        return self.parameter(expr) if isinstance(expr, Param) else UNDEFINED

    def constant(self, expr: Expr) -> Any:
        """Return the known value and let the SQL depend on it.

        The program then serves only these parameters.
        """
        if not isinstance(expr, Const):
            self.state.reusable = False
        return self.known(expr)

    def getter(self, expr: Expr) -> Binder:
        if isinstance(expr, Param):
            return lambda parameters: parameters[expr.name]
        return always(self.known(expr))

    def parameter(self, expr: Param) -> Any:
        if expr.name not in self.state.parameters:
            raise bad_request(f"the query uses the parameter {expr.name}, which is not given")
        return self.state.parameters[expr.name]

    def bound(self, value: Any, binder: Binder) -> Value:
        kind = rank(value)
        if kind == NULL:
            return Value(str(NULL), "NULL", "'null'", NULL, const=True)
        if kind in (ARRAY, OBJECT):
            text = self.state.bind(lambda parameters: orjson.dumps(binder(parameters)).decode())
            return Value(str(kind), "NULL", text, kind, const=True)
        name = self.state.bind(lambda parameters: storable(binder(parameters)))
        return typed(kind, name, const=True)

    def scalar(self, value: Value, kind: int) -> str:
        if value.rank is not None:
            return value.v if value.rank == kind else "NULL"
        return f"CASE WHEN {value.t} = {kind} THEN {value.v} END"


def always(value: Any) -> Binder:
    return lambda _: value


def storable(value: Any) -> Any:
    """Return a scalar in SQLite's representation."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value
