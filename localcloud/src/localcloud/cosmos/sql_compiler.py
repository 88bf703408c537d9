"""The compiler of Cosmos SQL queries to SQLite."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from localcloud.cosmos import sql_ast as ast
from localcloud.cosmos.errors import bad_request
from localcloud.cosmos.positions import Column, ResumeFilter
from localcloud.cosmos.sql_expressions import Expressions
from localcloud.cosmos.sql_operands import storable
from localcloud.cosmos.sql_pieces import Binder, Parameters, State, Value, literal, path, type_of
from localcloud.cosmos.sql_values import ARRAY, rank

TABLE = "$TABLE"  # placeholder for the table of documents
_RESUME = "$RESUME"  # placeholder for the condition that resumes after the previous page


@dataclass
class Program:
    """A compiled query: SQL that returns rows of (JSON text, sort columns ...)."""

    sql: str
    binders: list[Binder]
    columns: tuple[Column, ...]  # the columns to resume by. Without them, a page resumes by offset
    key_lengths: tuple[int, ...]  # the number of columns of each ORDER BY key
    limit: int | None
    offset: int
    indexes: frozenset[tuple[str, str]] = frozenset()
    reusable: bool = True  # for other parameters of the same types

    def bindings(self, parameters: Parameters) -> dict[str, Any]:
        return {f"p{number}": bind(parameters) for number, bind in enumerate(self.binders)}

    def sql_from(self, table: str, conditions: list[str]) -> str:
        """Return the SQL for this table, with these conditions added."""
        return self.sql.replace(TABLE, table).replace(_RESUME, " AND ".join(conditions) or "1")

    def bound_of(self, resume: ResumeFilter, k: int | None) -> tuple[Any, ...]:
        """Return the sort columns that a resume filter specifies."""
        if not self.key_lengths or not self.columns or len(resume.values) != len(self.key_lengths):
            raise bad_request(
                f"resumeFilter has {len(resume.values)} values for {len(self.key_lengths)} ORDER BY keys"
            )
        bound: list[Any] = []
        for value, length in zip(resume.values, self.key_lengths, strict=True):
            undefined = value == []
            if not undefined and rank(value) >= ARRAY:
                raise bad_request(
                    "resumeFilter with an array or object as ORDER BY value is not supported here: resume "
                    "with the continuation token alone"
                )
            pair = (None, None) if undefined else (rank(value), storable(value))
            bound += pair[-length:]
        return (*bound, k) if k is not None else tuple(bound)


def compile_query(
    query: ast.Query,
    parameters: Parameters,
    filters: Iterable[str] = (),
    explicit: frozenset[str] = frozenset(),
) -> Program:
    """Compile for the table `TABLE` with the alias d. `filters` are SQL conditions on it.

    `explicit` are the paths that the container's indexing policy includes by name.
    """
    state = State(parameters, explicit)
    try:
        return _compile(query, state, list(filters))
    except RecursionError:
        raise bad_request("the query is too complex: its expressions are nested too deeply") from None


def _compile(query: ast.Query, state: State, filters: list[str]) -> Program:
    scope = Scope(state, {}, top=True)
    body = scope.select(query, filters)
    limits = [scope.count(bound) for bound in (query.top, query.limit) if bound is not None]
    return Program(
        body,
        state.binders,
        tuple(scope.columns),
        tuple(scope.key_lengths),
        limit=min(limits) if limits else None,
        offset=scope.count(query.offset) if query.offset is not None else 0,
        indexes=frozenset(state.indexes),
        reusable=state.reusable,
    )


class Scope(Expressions):
    """One SELECT, with its own aliases and those of the enclosing queries."""

    def __init__(self, state: State, names: dict[str, Value], *, top: bool) -> None:
        super().__init__(state, names)
        self.top = top
        self.has_rows = False  # whether the container's documents are among the sources
        self.columns: list[Column] = []  # the columns that a page resumes by
        self.key_lengths: list[int] = []

    def select(self, query: ast.Query, filters: list[str]) -> str:
        tables, conditions = self.sources(query.sources)
        conditions += filters if self.has_rows else []
        if query.where is not None:
            conditions.append(self.truth(query.where))
        if self.has_rows and len(query.order_by) == 1:
            conditions += self.sortable(query.order_by[0].expr)
        result = self.result(query)
        if query.select_value and not query.aggregates:  # an object is never undefined
            conditions.append(f"{result} IS NOT NULL")
        order = self.ordering(query)
        selected = [f"{result} AS x"]
        if self.top and self.has_rows and _resumes_by_value(query):
            self.columns = order
            selected += [column.sql for column in order]
            conditions.append(_RESUME)
        sql = f"SELECT {', '.join(selected)}"
        sql += f" FROM {' CROSS JOIN '.join(tables)}" if tables else ""
        sql += f" WHERE {' AND '.join(conditions)}" if conditions else ""
        sql += self.grouping(query, result)
        directed = [f"{column.sql}{' DESC' if column.descending else ''}" for column in order]
        return sql + (f" ORDER BY {', '.join(directed)}" if directed else "")

    def grouping(self, query: ast.Query, result: str) -> str:
        if query.group_by:
            keys = [f"c_canon({self.value(key.expr).j})" for key in query.group_by]
            return f" GROUP BY {', '.join(keys)}"
        return f" GROUP BY c_canon({result})" if query.distinct and not query.aggregates else ""

    def ordering(self, query: ast.Query) -> list[Column]:
        """Return the sort columns. The document's number is the last, as the rid is in Azure."""
        if query.order_by and query.group_by:
            raise bad_request("ORDER BY cannot be combined with GROUP BY")
        if query.aggregates or query.group_by:
            return []
        columns: list[Column] = []
        for key in query.order_by:
            pieces = self.order(key.expr)
            self.key_lengths.append(len(pieces))
            columns += [Column(piece, key.descending) for piece in pieces]
        if self.has_rows and not query.distinct and (columns or self.top):
            columns.append(Column("d.k", bool(columns) and columns[0].descending))
        return columns

    def sortable(self, expr: ast.Expr) -> list[str]:
        """Return the condition that excludes documents without the ORDER BY property.

        Azure's index on the path lacks these documents, unless the indexing policy includes the path by name.
        """
        value = self.value(expr)
        return [] if value.indexed and value.steps in self.state.explicit else [f"{value.t} IS NOT NULL"]

    def order(self, expr: ast.Expr) -> tuple[str, ...]:
        value = self.value(expr)
        self.index(value)
        return (value.v,) if value.rank else (value.t, value.v)

    def sources(self, sources: tuple[ast.Source, ...]) -> tuple[list[str], list[str]]:
        tables: list[str] = []
        conditions: list[str] = []
        for source in sources:
            if source.expr is None and self.top:
                self.add_documents(source.alias, tables)
                continue
            value = self.source_value(source, tables)
            if source.iterates:
                tables.append(self.iterate(source.alias, value))
            else:
                self.names[source.alias] = value
                conditions.append(f"{value.j} IS NOT NULL")
        return tables, conditions

    def source_value(self, source: ast.Source, tables: list[str]) -> Value:
        """Return the source's value. In the first source, an unknown name is the container."""
        if source.expr is None:
            return self.value(ast.Name(source.alias))
        if self.top and not self.has_rows:
            root = _root(source.expr)
            if root is not None and root not in self.names:
                self.add_documents(root, tables)
        return self.value(source.expr)

    def add_documents(self, alias: str, tables: list[str]) -> None:
        self.has_rows = True
        self.names[alias] = path("d.body", "$", indexed=True)
        tables.append(f"{TABLE} AS d")

    def iterate(self, name: str, value: Value) -> str:
        alias = self.state.alias()
        document, steps = (value.document, value.steps) if value.document else (value.j, "$")
        place = f"{document}, {literal(steps)}"
        composite = f"CASE WHEN {alias}.type IN ('array', 'object') THEN {alias}.value END"
        text = (
            f"CASE {alias}.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null' "
            f"WHEN 'array' THEN {alias}.value WHEN 'object' THEN {alias}.value "
            f"ELSE json_quote({alias}.value) END"
        )
        self.names[name] = Value(type_of(f"{alias}.type"), f"{alias}.atom", text, document=composite)
        array = f"CASE WHEN json_type({place}) = 'array' THEN {document} END"
        return f"json_each({array}, {literal(steps)}) AS {alias}"

    def result(self, query: ast.Query) -> str:
        if query.select is None:
            only = next(reversed(self.names.values()))
            return "json(d.body)" if only.indexed and only.steps == "$" else only.j
        if query.select_value:
            return self.value(query.select[0].expr).j
        return self.object([(item.alias, self.value(item.expr)) for item in query.select])

    def count(self, expr: ast.Expr) -> int:
        number = self.constant(expr)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 2**31 - 1:
            raise bad_request("TOP, OFFSET and LIMIT take a whole number from 0 to 2147483647")
        return number

    def nested(self, query: ast.Query) -> str:
        scope = Scope(self.state, self.names, top=False)
        sql = scope.select(query, [])
        limits = [scope.count(bound) for bound in (query.top, query.limit) if bound is not None]
        if limits:
            sql += f" LIMIT {min(limits)}"
            sql += f" OFFSET {scope.count(query.offset)}" if query.offset is not None else ""
        return sql


def _resumes_by_value(query: ast.Query) -> bool:
    """Return whether the sort columns identify rows. For DISTINCT, they do if they are the selected items."""
    if not query.distinct:
        return not (query.group_by or query.aggregates)
    return [item.expr for item in query.select or ()] == [key.expr for key in query.order_by]


def _root(expr: ast.Expr | None) -> str | None:
    """Return the root name of a source. It is the container, unless it is an alias."""
    while isinstance(expr, ast.Member):
        expr = expr.base
    if isinstance(expr, ast.Name):
        return expr.name
    if not isinstance(expr, ast.ArrayOf | ast.Subquery) or not expr.query.sources:
        return None
    first = expr.query.sources[0]
    if expr.query.needs_plan:
        raise bad_request(
            "a subquery in FROM is evaluated for each document here: it cannot group, sort, cut or aggregate"
        )
    return first.alias if first.expr is None else _root(first.expr)
