"""The parser of Cosmos SQL expressions: recursive descent, with precedence climbing for binary operators."""

from localcloud.cosmos import sql_ast as ast
from localcloud.cosmos.errors import CosmosError, bad_request
from localcloud.cosmos.sql_lexer import KEYWORDS, Token, syntax_error, tokenize

MAX_DEPTH = 64
_LITERALS = {"TRUE": ast.Const(value=True), "FALSE": ast.Const(value=False), "NULL": ast.Const(None)}
_COMPARISONS = frozenset({"=", "!=", "<>", "<", "<=", ">", ">="})
_PRECEDENCE = {
    "??": 1, "OR": 2, "AND": 3, "IN": 5, "BETWEEN": 5, "LIKE": 5, "NOT": 5,
    **dict.fromkeys(_COMPARISONS, 5),
    "|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, ">>>": 9, "||": 10, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11,
}  # fmt: skip
_NOT_PRECEDENCE = 4
_COMPARISON_PRECEDENCE = 5


class ExpressionParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.position = 0
        self.depth = 0

    # tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def next(self) -> Token:
        token = self.token
        self.position += 1
        return token

    def error(self, wanted: str) -> CosmosError:
        return syntax_error(f"expected {wanted}, found {self.token.text[:40]!r}", self.text, self.token.start)

    def accept(self, op: str) -> bool:
        if self.token.kind == "op" and self.token.text == op:
            self.position += 1
            return True
        return False

    def expect(self, op: str) -> None:
        if not self.accept(op):
            raise self.error(repr(op))

    def accept_keyword(self, *names: str) -> bool:
        if self.token.is_keyword(*names):
            self.position += 1
            return True
        return False

    def expect_keyword(self, name: str) -> None:
        if not self.accept_keyword(name):
            raise self.error(name)

    def identifier(self) -> str:
        token = self.token
        if token.kind != "word" or token.text.upper() in KEYWORDS - {"VALUE", "ARRAY"}:
            raise self.error("a name")
        self.position += 1
        return token.text

    def span(self, start: int) -> str:
        return self.text[self.tokens[start].start : self.tokens[self.position - 1].end]

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise bad_request(f"the query is nested deeper than {MAX_DEPTH} levels")

    def query(self) -> ast.Query:
        """Parse a subquery. The subclass implements the clauses."""
        raise NotImplementedError

    # expressions

    def expression(self) -> ast.Expr:
        self.enter()
        expr = self.operators(0)
        if self.accept("?"):
            consequent = self.expression()
            self.expect(":")
            expr = ast.Ternary(expr, consequent, self.expression())
        self.depth -= 1
        return expr

    def operators(self, minimum: int) -> ast.Expr:
        """Parse binary operators by precedence climbing."""
        left = self.unary()
        while True:
            op = self.token.text.upper() if self.token.kind in ("op", "word") else ""
            precedence = _PRECEDENCE.get(op, 0)
            if precedence <= minimum:
                return left
            self.next()
            if op in ("AND", "OR"):
                left = self.logic(op, left, precedence)
            elif op in ("IN", "BETWEEN", "LIKE", "NOT"):
                left = self.predicate(op, left)
            else:
                left = ast.Binary("!=" if op == "<>" else op, left, self.operators(precedence))

    def logic(self, op: str, first: ast.Expr, precedence: int) -> ast.Expr:
        operands = [first, self.operators(precedence)]
        while self.accept_keyword(op):
            operands.append(self.operators(precedence))
        return ast.Logic(op, tuple(operands))

    def predicate(self, op: str, operand: ast.Expr) -> ast.Expr:
        if op == "NOT":
            inner = self.next().text.upper()
            if inner not in ("IN", "BETWEEN", "LIKE"):
                self.position -= 1
                raise self.error("IN, BETWEEN or LIKE")
            return ast.Unary("NOT", self.predicate(inner, operand))
        if op == "IN":
            self.expect("(")
            return ast.In(operand, self.items(")"))
        if op == "BETWEEN":
            low = self.operators(_COMPARISON_PRECEDENCE)
            self.expect_keyword("AND")
            return ast.Between(operand, low, self.operators(_COMPARISON_PRECEDENCE))
        pattern = self.operators(_COMPARISON_PRECEDENCE)
        escape = self.operators(_COMPARISON_PRECEDENCE) if self.accept_keyword("ESCAPE") else None
        return ast.Like(operand, pattern, escape)

    def unary(self) -> ast.Expr:
        if self.accept_keyword("NOT"):
            self.enter()
            operand = self.operators(_NOT_PRECEDENCE)
            self.depth -= 1
            return ast.Unary("NOT", operand)
        if self.token.kind == "op" and self.token.text in ("-", "+", "~"):
            op = self.next().text
            self.enter()
            operand = self.unary()
            self.depth -= 1
            if op == "-" and isinstance(operand, ast.Const) and type(operand.value) in (int, float):
                return ast.Const(-operand.value)
            return ast.Unary(op, operand)
        return self.postfix(self.primary())

    def postfix(self, expr: ast.Expr) -> ast.Expr:
        steps = 0
        while True:
            if self.accept("."):
                token = self.next()
                if token.kind != "word":
                    self.position -= 1
                    raise self.error("a property name")
                expr = ast.Member(expr, ast.Const(token.text))
            elif self.accept("["):
                expr = ast.Member(expr, self.expression())
                self.expect("]")
            else:
                return expr
            steps += 1
            if steps > MAX_DEPTH:
                raise bad_request(f"a path has at most {MAX_DEPTH} steps")

    def primary(self) -> ast.Expr:
        token = self.token
        if token.kind in ("number", "string"):
            return ast.Const(self.next().value)
        if token.kind == "param":
            return ast.Param(self.next().text)
        if self.accept("("):
            return self.parenthesis()
        if self.accept("["):
            return ast.ArrayLiteral(self.items("]"))
        if self.accept("{"):
            return self.object_literal()
        if token.kind == "word":
            return self.word()
        raise self.error("an expression")

    def parenthesis(self) -> ast.Expr:
        expr = ast.Subquery(self.query()) if self.token.is_keyword("SELECT") else self.expression()
        self.expect(")")
        return expr

    def word(self) -> ast.Expr:
        upper = self.token.text.upper()
        if upper in _LITERALS:
            self.next()
            return _LITERALS[upper]
        if upper == "UNDEFINED":
            self.next()
            return ast.Undefined()
        if upper in ("EXISTS", "ARRAY") and self.tokens[self.position + 1].text == "(":
            self.next()
            self.next()
            query = self.query()
            self.expect(")")
            return ast.Exists(query) if upper == "EXISTS" else ast.ArrayOf(query)
        if upper in KEYWORDS - {"VALUE"} and self.tokens[self.position + 1].text != "(":
            raise self.error("an expression")
        name = self.next().text
        if name.lower() == "udf" and self.token.text == ".":
            raise bad_request("user-defined functions (udf.*) are not supported by the local Cosmos DB")
        if self.accept("("):
            return ast.Call(name.upper(), self.items(")"))
        return ast.Name(name)

    def items(self, closing: str) -> tuple[ast.Expr, ...]:
        if self.accept(closing):
            return ()
        items = [self.expression()]
        while self.accept(","):
            items.append(self.expression())
        self.expect(closing)
        return tuple(items)

    def object_literal(self) -> ast.ObjectLiteral:
        members: list[tuple[str, ast.Expr]] = []
        while not self.accept("}"):
            if members:
                self.expect(",")
            token = self.next()
            if token.kind not in ("string", "word"):
                self.position -= 1
                raise self.error("a property name")
            self.expect(":")
            members.append((str(token.value) if token.kind == "string" else token.text, self.expression()))
        return ast.ObjectLiteral(tuple(members))
