"""The compiler of Cosmos SQL expressions to SQLite."""

import re
from typing import Any

from localcloud.cosmos import sql_ast as ast
from localcloud.cosmos.errors import bad_request
from localcloud.cosmos.sql_functions import BUILTINS
from localcloud.cosmos.sql_operands import Operands, always
from localcloud.cosmos.sql_pieces import (
    NOTHING,
    Binder,
    Parameters,
    Value,
    balanced,
    concatenate,
    dynamic,
    literal,
    typed,
)  # fmt: skip
from localcloud.cosmos.sql_values import (
    ARRAY,
    BOOLEAN,
    NULL,
    NUMBER,
    OBJECT,
    RANKS,
    STRING,
    UNDEFINED,
    are_scalars,
    encode,
    rank,
)

_PLAIN_KEY = re.compile(r'[^"\\\x00-\x1f\x7f]+')
_IS_TYPE = {"IS_NULL": NULL, "IS_BOOL": BOOLEAN, "IS_NUMBER": NUMBER, "IS_STRING": STRING, "IS_ARRAY": ARRAY,
            "IS_OBJECT": OBJECT}  # fmt: skip
_TYPED_RESULTS = {
    **dict.fromkeys(("CONTAINS", "STARTSWITH", "ENDSWITH", "STRINGEQUALS", "REGEXMATCH"), BOOLEAN),
    "ARRAY_CONTAINS": BOOLEAN,
    **dict.fromkeys(("LENGTH", "INDEX_OF", "ARRAY_LENGTH", "ABS", "FLOOR", "CEILING", "ROUND"), NUMBER),
    **dict.fromkeys(("LOWER", "UPPER", "CONCAT", "SUBSTRING", "TRIM", "TOSTRING"), STRING),
}  # fmt: skip
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_ARITHMETIC = {"+": "({0} + {1})", "-": "({0} - {1})", "*": "({0} * {1})", "/": "({0} * 1.0 / {1})",
               "%": "mod({0}, {1})"}  # fmt: skip
_LAST_CHARACTERS = "\U0010ffff" * 4  # sorts after every text that continues a prefix
_BITS = frozenset({"&", "|", "^", "<<", ">>", ">>>"})


class Expressions(Operands):
    """Compiler of the expressions of one SELECT, whose aliases are `names`."""

    def nested(self, query: ast.Query) -> str:
        """Compile a subquery that can use these names."""
        raise NotImplementedError

    # conditions

    def truth(self, expr: ast.Expr) -> str:
        """Return SQL that is true exactly if the expression is true, in a form that can use an index."""
        match expr:
            case ast.Call("STARTSWITH", (operand, prefix)) | ast.Like(operand, prefix, None):
                return balanced([*self.prefix(expr, operand, prefix), self.boolean(expr)], " AND ")
            case _:
                return self.boolean(expr, exact=False)

    def prefix(self, expr: ast.Expr, operand: ast.Expr, pattern: ast.Expr) -> list[str]:
        """Return conditions that limit the search to the prefix's range. The caller adds the exact test."""
        value = self.value(operand)
        if not isinstance(self.known(pattern), str) or not (value.indexed or value.rank == STRING):
            return []
        get = self.getter(pattern)

        def start(parameters: Parameters) -> str:
            text = str(get(parameters))
            return re.split(r"[%_\[]", text, maxsplit=1)[0] if isinstance(expr, ast.Like) else text

        low = self.bound("", start)
        high = self.bound("", lambda parameters: start(parameters) + _LAST_CHARACTERS)
        return [self.comparison(op, value, bound, exact=False) for op, bound in ((">=", low), ("<=", high))]

    def boolean(self, expr: ast.Expr, *, exact: bool = True) -> str:
        """Return SQL that is 1, 0 or NULL for true, false and undefined.

        Without `exact`, 0 and NULL are interchangeable.
        """
        match expr:
            case ast.Logic(op, operands):
                part = self.boolean if exact else self.truth
                return balanced([part(operand) for operand in operands], f" {op} ")
            case ast.Unary("NOT", operand):
                return f"(NOT {self.boolean(operand)})"
            case ast.Binary(op, left, right) if op in _MIRRORED:
                return self.comparison(op, self.value(left), self.value(right), exact=exact)
            case ast.Between(operand, low, high):
                value = self.value(operand)
                bounds = ((">=", self.value(low)), ("<=", self.value(high)))
                return balanced(
                    [self.comparison(op, value, bound, exact=exact) for op, bound in bounds], " AND "
                )
            case ast.In(operand, choices):
                return self.membership(self.value(operand), choices)
            case ast.Exists(query):
                return f"EXISTS (SELECT 1 FROM ({self.nested(query)}) WHERE x IS NOT NULL)"
            case ast.Like(operand, pattern, escape):
                escaped = self.value(escape).j if escape is not None else "NULL"
                return f"c_like({self.value(operand).j}, {self.value(pattern).j}, {escaped})"
            case _:
                value = self.value(expr)
                if value.rank is not None:
                    return value.v if value.rank == BOOLEAN else "NULL"
                return f"CASE WHEN {value.t} = {BOOLEAN} THEN {value.v} END"

    def comparison(self, op: str, left: Value, right: Value, *, exact: bool) -> str:
        if left.const and not right.const:
            op, left, right = _MIRRORED[op], right, left
        if right.const and right.rank is not None and right.rank <= STRING:
            return self.against_constant(op, left, right, exact=exact)
        if left.rank == right.rank and left.rank in (NUMBER, STRING, BOOLEAN):
            return f"({left.v} {op} {right.v})"
        if op in (">", ">="):
            op, left, right = _MIRRORED[op], right, left
        function = {"=": "c_eq", "!=": "NOT c_eq", "<": "c_lt", "<=": "c_le"}[op]
        return f"({function}({left.j}, {right.j}))"

    def against_constant(self, op: str, left: Value, right: Value, *, exact: bool) -> str:
        self.index(left)
        matches = f"{left.v} {op if op != '!=' else '='} {right.v}"
        if right.rank == NULL:
            matches = "0" if op in ("<", ">") else "1"
        if op in ("=", "!="):
            if left.rank == right.rank and right.rank != NULL:
                return f"({left.v} {op} {right.v})"
            test = f"({left.t} = {right.rank} AND {matches})"
            return test if op == "=" else f"(NOT {test})"
        if left.rank == right.rank and right.rank != NULL:
            return f"({matches})"
        if exact:
            return f"CASE {left.t} WHEN {right.rank} THEN {matches} END"
        return f"({left.t} = {right.rank} AND {matches})"

    def membership(self, value: Value, choices: tuple[ast.Expr, ...]) -> str:
        constants = [self.known(choice) for choice in choices]
        if any(constant is UNDEFINED or rank(constant) > STRING for constant in constants):
            equalities = [self.comparison("=", value, self.value(choice), exact=True) for choice in choices]
            # An undefined choice matches nothing, but the result stays defined.
            matched = balanced([f"coalesce({equality}, 0)" for equality in equalities], " OR ")
            return f"iif({value.t} IS NULL, NULL, {matched})"
        return self.among(value, constants, [self.getter(choice) for choice in choices])

    def among(self, value: Value, constants: list[Any], getters: list[Binder]) -> str:
        """Return a test for membership in a list of scalars, in a form that can use an index."""
        self.index(value)
        tests = [f"({value.t} = {NULL})"] if None in constants else []
        by_kind: dict[int, list[Binder]] = {}
        for constant, get in zip(constants, getters, strict=True):
            by_kind.setdefault(rank(constant), []).append(get)
        for kind in (BOOLEAN, NUMBER, STRING):
            if chosen := by_kind.get(kind):
                listed = self.state.bind(_json_list(chosen))
                test = f"{value.v} IN (SELECT value FROM json_each({listed}))"
                tests.append(f"({value.t} = {kind} AND {test})" if value.rank != kind else f"({test})")
        return balanced(tests, " OR ") if tests else f"iif({value.t} IS NULL, NULL, 0)"

    # values

    def value(self, expr: ast.Expr) -> Value:  # noqa: C901, PLR0912 - one case for each kind of expression
        match expr:
            case ast.Const(value):
                return self.bound(value, lambda _: value)
            case ast.Param(name):
                return self.bound(self.parameter(expr), lambda parameters: parameters[name])
            case ast.Undefined():
                return NOTHING
            case ast.Name(name):
                if name not in self.names:
                    raise bad_request(f"the name {name!r} in the query is not defined: add it to FROM")
                return self.names[name]
            case ast.Member(base, key):
                return self.member(self.value(base), key)
            case ast.Call():
                return self.call(expr)
            case ast.Ternary() | ast.Unary() | ast.Binary():
                return self.operation(expr)
            case ast.ArrayLiteral(items):
                return self.array([self.value(item) for item in items])
            case ast.ObjectLiteral(members):
                text = self.object([(name, self.value(member)) for name, member in members])
                return Value(str(OBJECT), "NULL", text, OBJECT)
            case ast.Subquery(query):
                return dynamic(f"(SELECT x FROM ({self.nested(query)}) LIMIT 1)")
            case ast.ArrayOf(query):
                listed = f"SELECT group_concat(x, ',') FROM ({self.nested(query)})"
                return dynamic(f"'[' || coalesce(({listed}), '') || ']'")
            case _:
                return typed(BOOLEAN, self.boolean(expr))

    def member(self, base: Value, key: ast.Expr) -> Value:
        name = self.constant(key) if isinstance(key, ast.Const | ast.Param) else UNDEFINED
        if isinstance(name, str) and _PLAIN_KEY.fullmatch(name):
            if base.indexed and base.steps == "$" and name == "id":
                return typed(STRING, "d.id", const=False)
            return base.member(name)
        if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < 2**31:
            return base.member(name)
        return dynamic(f"c_get({base.j}, {self.value(key).j})")

    def array(self, values: list[Value]) -> Value:
        items = concatenate([f"(',' || {value.j})" for value in values])
        return Value(str(ARRAY), "NULL", f"('[' || ltrim({items}, ',') || ']')", ARRAY)

    def object(self, members: list[tuple[str, Value]]) -> str:
        last = dict(members)  # the last value of a repeated name counts
        parts = [f"({literal(f',{encode(name)}:')} || {value.j})" for name, value in last.items()]
        return "('{' || ltrim(" + concatenate(parts) + ", ',') || '}')"

    def operation(self, expr: ast.Ternary | ast.Unary | ast.Binary) -> Value:
        match expr:
            case ast.Ternary(condition, yes, no):
                chosen = (
                    f"CASE WHEN {self.truth(condition)} THEN {self.value(yes).j} ELSE {self.value(no).j} END"
                )
                return dynamic(f"({chosen})")
            case ast.Unary("NOT", _):
                return typed(BOOLEAN, self.boolean(expr))
            case ast.Unary("~", operand):
                return typed(NUMBER, f"c_bits('~', {self.number(operand)}, 0)")
            case ast.Unary(op, operand):
                return typed(NUMBER, f"({op}{self.number(operand)})")
            case ast.Binary("??", left, right):
                return dynamic(f"coalesce({self.value(left).j}, {self.value(right).j})")
            case ast.Binary("||", left, right):
                return typed(STRING, f"({self.string(left)} || {self.string(right)})")
            case ast.Binary(op, left, right) if op in _ARITHMETIC:
                return typed(NUMBER, _ARITHMETIC[op].format(self.number(left), self.number(right)))
            case ast.Binary(op, left, right) if op in _BITS:
                return typed(NUMBER, f"c_bits('{op}', {self.number(left)}, {self.number(right)})")
            case _:
                return typed(BOOLEAN, self.boolean(expr))

    def number(self, expr: ast.Expr) -> str:
        return self.scalar(self.value(expr), NUMBER)

    def string(self, expr: ast.Expr) -> str:
        return self.scalar(self.value(expr), STRING)

    # functions

    def call(self, call: ast.Call) -> Value:
        if call.name in ast.AGGREGATES:
            return self.aggregate(call)
        if call.name in _IS_TYPE or call.name in ("IS_DEFINED", "IS_PRIMITIVE"):
            return self.type_check(call)
        builtin = BUILTINS.get(call.name)
        if builtin is None:
            raise bad_request(f"{call.name} is not a built-in function that the local Cosmos DB supports")
        if not builtin.minimum <= len(call.arguments) <= builtin.maximum:
            raise bad_request(f"{call.name} takes {builtin.minimum} to {builtin.maximum} arguments")
        special = self.special_call(call)
        if special is not None:
            return special
        text = f"c_{call.name.lower()}({', '.join(self.value(argument).j for argument in call.arguments)})"
        result = _TYPED_RESULTS.get(call.name)
        return dynamic(text) if result is None else typed(result, f"json_extract({text}, '$')")

    def special_call(self, call: ast.Call) -> Value | None:
        """Compile calls that SQLite's own functions can evaluate."""
        if call.name == "ARRAY_CONTAINS" and len(call.arguments) == 2:  # noqa: PLR2004
            return self.array_contains(*call.arguments)
        if call.name in ("CONTAINS", "STARTSWITH") and len(call.arguments) == 2:  # noqa: PLR2004
            text, part = map(self.string, call.arguments)
            test = f"(instr({text}, {part}) > 0)" if call.name == "CONTAINS" else f"c_starts({text}, {part})"
            return typed(BOOLEAN, test)
        return None

    def array_contains(self, array: ast.Expr, wanted: ast.Expr) -> Value | None:
        items, sought = self.constant(array), self.known(wanted)
        if isinstance(items, list) and are_scalars(items):
            return typed(BOOLEAN, self.among(self.value(wanted), items, [always(item) for item in items]))
        value = self.value(array)
        if not value.document or sought is UNDEFINED or rank(sought) > STRING:
            return None
        alias = self.state.alias()
        types = [name for name, number in RANKS.items() if number == rank(sought)]
        if isinstance(sought, bool):
            types = ["true" if self.constant(wanted) else "false"]
        test = f"{alias}.type IN ({', '.join(map(literal, types))})"
        if rank(sought) in (NUMBER, STRING):
            test += f" AND {alias}.atom = {self.value(wanted).v}"
        place = f"{value.document}, {literal(value.steps)}"
        found = f"EXISTS (SELECT 1 FROM json_each({place}) AS {alias} WHERE {test})"
        return typed(BOOLEAN, f"CASE WHEN {value.t} = {ARRAY} THEN {found} END")

    def type_check(self, call: ast.Call) -> Value:
        if len(call.arguments) != 1:
            raise bad_request(f"{call.name} takes one argument")
        value = self.value(call.arguments[0])
        if call.name == "IS_DEFINED":
            return typed(BOOLEAN, f"({value.t} IS NOT NULL)", const=False)
        if call.name == "IS_PRIMITIVE":
            return typed(BOOLEAN, f"(coalesce({value.t}, {ARRAY}) < {ARRAY})")
        return typed(BOOLEAN, f"({value.t} IS {_IS_TYPE[call.name]})")

    def aggregate(self, call: ast.Call) -> Value:
        if len(call.arguments) != 1:
            raise bad_request(f"{call.name} takes one argument")
        if ast.contains_aggregate(call.arguments[0]):
            raise bad_request("an aggregate cannot contain another aggregate")
        value = self.value(call.arguments[0])
        if call.name == "COUNT":
            return typed(NUMBER, "count(*)" if value.const else f"count({value.t})")
        if call.name == "COUNTIF":
            return typed(NUMBER, f"count(iif({self.truth(call.arguments[0])}, 1, NULL))")
        if call.name in ("MIN", "MAX"):
            return dynamic(f"c_{call.name.lower()}({value.j})")
        # The sum of no values is 0, their average undefined.
        function = "total" if call.name == "SUM" else "avg"
        total = f"{function}({self.scalar(value, NUMBER)} * 1.0)"
        return typed(
            NUMBER, f"CASE WHEN count({value.t}) = count(iif({value.t} = {NUMBER}, 1, NULL)) THEN {total} END"
        )


def _json_list(getters: list[Binder]) -> Binder:
    return lambda parameters: encode([get(parameters) for get in getters])
