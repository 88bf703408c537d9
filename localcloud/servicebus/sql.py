"""The SQL-92 subset of Service Bus filters, compiled into functions of a message.

    or          := and { OR and }                 and := not { AND not }
    not         := NOT not | predicate
    predicate   := EXISTS ( name ) | sum [ comparison ]
    comparison  := (= | <> | != | < | <= | > | >=) sum | IS [NOT] NULL
                 | [NOT] IN ( value, ... ) | [NOT] LIKE pattern [ESCAPE character] | [NOT] BETWEEN sum AND sum
    sum         := product { (+ | -) product }     product := unary { (* | / | %) unary }
    unary       := (+ | -) unary | ( or ) | literal | [sys. | user.] name

Logic is three-valued as in SQL: None is unknown, for a property that is absent or of another type.
"""

import operator
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from localcloud.servicebus.messages import SYSTEM_PROPERTIES, MessageView

Expression = Callable[[MessageView], Any]

MAX_EXPRESSION = 1024  # characters, as in Azure
MAX_DEPTH = 32  # of nesting, so that a filter cannot exhaust the stack


class SqlError(ValueError):
    """The SQL expression is not one that a Service Bus filter may have."""


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    | (?P<string>'(?:[^']|'')*')
    | (?P<name>[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$-]*)*|\[(?:[^\]]|\]\])+\]|"(?:[^"]|"")+")
    | (?P<operator><>|!=|<=|>=|[-=<>+*/%(),.])
    )""",
    re.VERBOSE,
)
_KEYWORDS = frozenset(
    {"AND", "OR", "NOT", "IN", "LIKE", "ESCAPE", "IS", "NULL", "EXISTS", "TRUE", "FALSE", "BETWEEN"}
)
_SYSTEM = {name.lower(): field for name, field in SYSTEM_PROPERTIES.items()} | {"subject": "subject"}


def parse_sql(text: str) -> Expression:
    if len(text) > MAX_EXPRESSION:
        raise SqlError(f"a SQL filter has at most {MAX_EXPRESSION} characters")
    parser = _Parser(_tokens(text))
    expression = parser.disjunction()
    if parser.kind:
        raise SqlError(f"{parser.text!r} is not expected there")
    return expression


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            raise SqlError(f"cannot read {text[position:].strip()[:20]!r}")
        kind, value = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "name" and value.upper() in _KEYWORDS:
            kind, value = "keyword", value.upper()
        tokens.append((kind, value))
        position = match.end()
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("", "the end")]
        self._at = 0
        self._depth = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def text(self) -> str:
        return self._tokens[self._at][1]

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _accept(self, *texts: str) -> str | None:
        return self._next() if self.kind in {"keyword", "operator"} and self.text in texts else None

    def _expect(self, text: str) -> None:
        if self._accept(text) is None:
            raise SqlError(f"expected {text}, found {self.text!r}")

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SqlError("the SQL filter is nested too deeply")

    def disjunction(self) -> Expression:
        self._enter()
        left = self._conjunction()
        while self._accept("OR"):
            left = _either(left, self._conjunction())
        self._depth -= 1
        return left

    def _conjunction(self) -> Expression:
        left = self._negation()
        while self._accept("AND"):
            left = _both(left, self._negation())
        return left

    def _negation(self) -> Expression:
        if self._accept("NOT"):
            self._enter()
            negated = _negate(self._negation())
            self._depth -= 1
            return negated
        return self._predicate()

    def _predicate(self) -> Expression:
        if self._accept("EXISTS"):
            self._expect("(")
            subject = self._name()
            self._expect(")")
            return lambda view: subject(view) is not None
        left = self._sum()
        if symbol := self._accept(*_COMPARISONS):
            return _compare(_COMPARISONS[symbol], left, self._sum())
        if self._accept("IS"):
            wanted = self._accept("NOT") is None
            self._expect("NULL")
            return lambda view: (left(view) is None) is wanted
        negative = self._accept("NOT") is not None
        test = self._membership(left, required=negative)
        return _negate(test) if negative else test

    def _membership(self, left: Expression, *, required: bool) -> Expression:
        if self._accept("IN"):
            return self._in(left)
        if self._accept("LIKE"):
            return self._like(left)
        if self._accept("BETWEEN"):
            low = self._sum()
            self._expect("AND")
            high = self._sum()
            return _both(_compare(operator.ge, left, low), _compare(operator.le, left, high))
        if required:
            raise SqlError(f"expected IN, LIKE or BETWEEN after NOT, found {self.text!r}")
        return left

    def _in(self, left: Expression) -> Expression:
        self._expect("(")
        tests = [_compare(operator.eq, left, self._sum())]
        while self._accept(","):
            tests.append(_compare(operator.eq, left, self._sum()))
        self._expect(")")
        result = tests[0]
        for test in tests[1:]:
            result = _either(result, test)
        return result

    def _like(self, left: Expression) -> Expression:
        pattern = self._string()
        escape = self._string() if self._accept("ESCAPE") else ""
        if len(escape) > 1:
            raise SqlError("ESCAPE takes one character")
        matcher = _like_matcher(pattern, escape)

        def like(view: MessageView) -> bool | None:
            value = left(view)
            return matcher(value) if isinstance(value, str) else None

        return like

    def _string(self) -> str:
        if self.kind != "string":
            raise SqlError(f"expected a string, found {self.text!r}")
        return self._next()[1:-1].replace("''", "'")

    def _sum(self) -> Expression:
        left = self._product()
        while symbol := self._accept("+", "-"):
            left = _compute(_ARITHMETIC[symbol], left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._unary()
        while symbol := self._accept("*", "/", "%"):
            left = _compute(_ARITHMETIC[symbol], left, self._unary())
        return left

    def _unary(self) -> Expression:
        if symbol := self._accept("-", "+"):
            self._enter()
            value = self._unary()
            self._depth -= 1
            return _compute(_ARITHMETIC[symbol], lambda _: 0, value)
        if self._accept("("):
            inner = self.disjunction()
            self._expect(")")
            return inner
        return self._literal()

    def _literal(self) -> Expression:
        if self.kind == "number":
            text = self._next()
            number = int(text) if text.isdigit() else float(text)
            return lambda _: number
        if self.kind == "string":
            string = self._string()
            return lambda _: string
        if keyword := self._accept("TRUE", "FALSE", "NULL"):
            constant = {"TRUE": True, "FALSE": False}.get(keyword)
            return lambda _: constant
        return self._name()

    def _name(self) -> Expression:
        if self.kind != "name":
            raise SqlError(f"expected a property or a value, found {self.text!r}")
        name = self._next()
        if self._accept("("):
            raise SqlError(f"the function {name!r} is not supported")
        scope, dot, rest = name.partition(".")
        if dot and scope.lower() == "sys":
            return _system_property(rest)
        if dot and scope.lower() == "user":
            name = rest
        elif name[0] in '["':
            closing = "]" if name[0] == "[" else '"'
            name = name[1:-1].replace(closing * 2, closing)
        return lambda view: view.application.get(name)


def _system_property(name: str) -> Expression:
    field = _SYSTEM.get(name.lower())
    if field is None:
        raise SqlError(f"sys.{name} is not a property that a filter may use: {', '.join(sorted(_SYSTEM))}")

    def read(view: MessageView) -> Any:
        value = view.properties[field]
        return value if value is None else str(value)

    return read


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


_ORDERED = (str, bool, bytes, UUID)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compare(test: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    def compare(view: MessageView) -> bool | None:
        a, b = left(view), right(view)
        if a is None or b is None:
            return None
        if _is_number(a) and _is_number(b):
            return bool(test(a, b))
        return (
            bool(test(a, b))
            if any(isinstance(a, kind) and isinstance(b, kind) for kind in _ORDERED)
            else None
        )

    return compare


def _compute(compute: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    def result(view: MessageView) -> Any:
        a, b = left(view), right(view)
        if compute is operator.add and isinstance(a, str) and isinstance(b, str):
            return a + b
        if not (_is_number(a) and _is_number(b)):
            return None
        try:
            return compute(a, b)
        except (ZeroDivisionError, OverflowError):
            return None

    return result


def _both(left: Expression, right: Expression) -> Expression:
    return _combine(left, right, decisive=False)


def _either(left: Expression, right: Expression) -> Expression:
    return _combine(left, right, decisive=True)


def _combine(left: Expression, right: Expression, *, decisive: bool) -> Expression:
    """One False decides AND, one True decides OR; otherwise an unknown operand leaves the result unknown."""

    def combined(view: MessageView) -> bool | None:
        operands = _truth(left(view)), _truth(right(view))
        if decisive in operands:
            return decisive
        return None if None in operands else not decisive

    return combined


def _negate(inner: Expression) -> Expression:
    def negated(view: MessageView) -> bool | None:
        value = _truth(inner(view))
        return None if value is None else not value

    return negated


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _like_matcher(pattern: str, escape: str) -> Callable[[str], bool]:
    """% is any text, _ any character. No regular expression, as some patterns would take exponential time."""
    parts: list[str | None] = []  # None stands for %, "" for _, else a literal character
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            parts.append(next(characters, escape))
        elif character == "%":
            if not parts or parts[-1] is not None:
                parts.append(None)
        else:
            parts.append("" if character == "_" else character)
    return lambda text: _matches_like(parts, text)


def _matches_like(parts: list[str | None], text: str) -> bool:
    """Greedy wildcard matching with a single point to fall back to: at most len(parts) * len(text) steps."""
    at = position = 0
    star = resume = -1
    while position < len(text):
        if at < len(parts) and parts[at] is None:
            star, resume, at = at, position, at + 1
        elif at < len(parts) and parts[at] in {"", text[position]}:
            at, position = at + 1, position + 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(part is None for part in parts[at:])
