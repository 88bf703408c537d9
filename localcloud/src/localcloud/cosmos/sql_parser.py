"""The parser of Cosmos SQL queries: their clauses."""

from functools import lru_cache

from localcloud.cosmos import sql_ast as ast
from localcloud.cosmos.errors import bad_request
from localcloud.cosmos.sql_expression_parser import ExpressionParser
from localcloud.cosmos.sql_lexer import KEYWORDS


@lru_cache(maxsize=512)
@lru_cache(1024)
def parse_query(text: str) -> ast.Query:
    parser = _QueryParser(text)
    try:
        query = parser.query()
    except RecursionError:  # such as thousands of additions in a row
        raise bad_request("the query is too complex: its expressions are nested too deeply") from None
    if parser.token.kind != "end":
        raise parser.error("the end of the query")
    return query


@lru_cache(maxsize=512)
def parse_condition(text: str) -> ast.Query:
    """Parse a patch's condition: `from c where ...`."""
    return parse_query(f"SELECT VALUE 1 {text}")


class _QueryParser(ExpressionParser):
    def query(self) -> ast.Query:
        self.enter()
        self.expect_keyword("SELECT")
        distinct = self.accept_keyword("DISTINCT")
        top = self.count() if self.accept_keyword("TOP") else None
        select_value = self.accept_keyword("VALUE")
        select = self.select_list(value=select_value)
        from_start = self.position
        sources = self.sources() if self.accept_keyword("FROM") else ()
        from_text = self.span(from_start) if sources else ""
        where_start = self.position
        where = self.expression() if self.accept_keyword("WHERE") else None
        where_text = self.span(where_start + 1) if where is not None else ""
        group_by = self.keys() if self.accept_keyword("GROUP") else ()
        order_by = self.keys(directions=True) if self.accept_keyword("ORDER") else ()
        offset, limit = self.window()
        self.depth -= 1
        if select is None and (group_by or not sources or len(sources) > 1):
            raise bad_request("SELECT * needs a single source in FROM and no GROUP BY")
        aggregates = any(ast.contains_aggregate(item.expr) for item in select or ())
        return ast.Query(
            select, select_value, distinct, top, sources, where, group_by, order_by, offset, limit,
            from_text, where_text, aggregates,
        )  # fmt: skip

    def select_list(self, *, value: bool) -> tuple[ast.SelectItem, ...] | None:
        if not value and self.accept("*"):
            return None
        items = [self.select_item(1)]
        unnamed = 1
        while not value and self.accept(","):
            unnamed += items[-1].alias == f"${unnamed}"
            items.append(self.select_item(unnamed))
        return tuple(items)

    def select_item(self, number: int) -> ast.SelectItem:
        """Parse an item. Without an alias or a path, its name is $1, $2 and so on."""
        start = self.position
        expr = self.expression()
        text = self.span(start)
        alias = _implied_alias(expr) or f"${number}"
        if self.accept_keyword("AS"):
            alias = str(self.next().value) if self.token.kind == "string" else self.identifier()
        elif self.token.kind == "word" and self.token.text.upper() not in KEYWORDS:
            alias = self.identifier()
        return ast.SelectItem(expr, alias, text)

    def sources(self) -> tuple[ast.Source, ...]:
        sources = [self.source(first=True)]
        while self.accept_keyword("JOIN"):
            sources.append(self.source(first=False))
        return tuple(sources)

    def source(self, *, first: bool) -> ast.Source:
        if self.accept("("):
            subquery = ast.ArrayOf(self.query())
            self.expect(")")
            self.accept_keyword("AS")
            return ast.Source(self.identifier(), subquery, iterates=True)
        start = self.position
        alias = self.identifier()
        if self.accept_keyword("IN"):
            if self.accept("("):
                subquery_of = ast.Subquery(self.query())
                self.expect(")")
                return ast.Source(alias, subquery_of, iterates=True)
            return ast.Source(alias, self.collection(), iterates=True)
        if not first:
            raise self.error("IN")
        self.position = start
        expr = self.collection()
        alias = _implied_alias(expr)
        if self.accept_keyword("AS") or (self.token.kind == "word" and not self.token.is_keyword(*KEYWORDS)):
            alias = self.identifier()
        return ast.Source(alias, None if isinstance(expr, ast.Name) else expr)

    def collection(self) -> ast.Expr:
        """Parse a source's value: the container, an alias, or a path that starts with one of them."""
        return self.postfix(ast.Name(self.identifier()))

    def keys(self, *, directions: bool = False) -> tuple[ast.OrderKey, ...]:
        self.expect_keyword("BY")
        keys = [self.key(directions=directions)]
        while self.accept(","):
            keys.append(self.key(directions=directions))
        return tuple(keys)

    def key(self, *, directions: bool) -> ast.OrderKey:
        start = self.position
        expr = self.expression()
        text = self.span(start)
        descending = directions and self.accept_keyword("DESC")
        if directions and not descending:
            self.accept_keyword("ASC")
        return ast.OrderKey(expr, descending, text)

    def window(self) -> tuple[ast.Expr | None, ast.Expr | None]:
        if not self.accept_keyword("OFFSET"):
            return None, None
        offset = self.count()
        self.expect_keyword("LIMIT")
        return offset, self.count()

    def count(self) -> ast.Expr:
        token = self.next()
        if token.kind == "param":
            return ast.Param(token.text)
        if token.kind == "number" and isinstance(token.value, int):
            return ast.Const(token.value)
        self.position -= 1
        raise self.error("a whole number or a parameter")


def _implied_alias(expr: ast.Expr) -> str:
    if isinstance(expr, ast.Name):
        return expr.name
    if isinstance(expr, ast.Member) and isinstance(expr.key, ast.Const) and isinstance(expr.key.value, str):
        return expr.key.value
    return ""
