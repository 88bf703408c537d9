"""A naive evaluator of Cosmos SQL over plain Python values, the reference for the compiler.

It works on its own small syntax trees (tuples), which `render` writes as SQL. It shares no code with the
parser or the compiler. UNDEFINED is an ordinary value here.
"""

from typing import Any


class _Undefined:
    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Any = _Undefined()
Expr = tuple[Any, ...]


def type_order(value: Any) -> int:
    kinds: tuple[Any, ...] = (type(None), bool, (int, float), str, list, dict)
    return 0 if value is UNDEFINED else next(n for n, kind in enumerate(kinds, 1) if isinstance(value, kind))


def same(left: Any, right: Any) -> bool:
    if type_order(left) != type_order(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return set(left) == set(right) and all(same(left[name], right[name]) for name in left)
    return bool(left == right)


def truth(value: Any) -> Any:
    return value if isinstance(value, bool) else UNDEFINED


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def evaluate(expr: Expr, document: dict[str, Any]) -> Any:  # noqa: C901, PLR0911, PLR0912 - intentionally naive
    kind, *rest = expr
    if kind == "const":
        return rest[0]
    if kind == "path":
        return follow(document, rest[0])
    if kind in ("and", "or"):
        return connect(kind, [truth(evaluate(operand, document)) for operand in rest[0]])
    if kind == "not":
        value = truth(evaluate(rest[0], document))
        return UNDEFINED if value is UNDEFINED else not value
    if kind == "compare":
        return compare(rest[0], evaluate(rest[1], document), evaluate(rest[2], document))
    if kind == "between":
        value = evaluate(rest[0], document)
        parts = [
            compare(op, value, evaluate(bound, document))
            for op, bound in zip((">=", "<="), rest[1:], strict=True)
        ]
        return connect("and", parts)
    if kind == "in":
        value = evaluate(rest[0], document)
        if value is UNDEFINED:
            return UNDEFINED
        return any(same(value, evaluate(choice, document)) for choice in rest[1])
    if kind == "coalesce":
        value = evaluate(rest[0], document)
        return evaluate(rest[1], document) if value is UNDEFINED else value
    if kind == "if":
        return evaluate(rest[1 if evaluate(rest[0], document) is True else 2], document)
    if kind == "arithmetic":
        return calculate(rest[0], evaluate(rest[1], document), evaluate(rest[2], document))
    if kind == "concat":
        left, right = (evaluate(operand, document) for operand in rest)
        return left + right if isinstance(left, str) and isinstance(right, str) else UNDEFINED
    if kind == "call":
        return call(rest[0], [evaluate(argument, document) for argument in rest[1]])
    if kind == "array":
        items = [evaluate(item, document) for item in rest[0]]
        return [item for item in items if item is not UNDEFINED]
    if kind == "object":
        members = {name: evaluate(member, document) for name, member in rest[0]}
        return {name: value for name, value in members.items() if value is not UNDEFINED}
    if kind == "exists":
        items = follow(document, rest[0])
        return isinstance(items, list) and any(compare(rest[1], item, rest[2]) is True for item in items)
    raise AssertionError(kind)


def follow(value: Any, steps: tuple[Any, ...]) -> Any:
    for step in steps:
        named = isinstance(step, str) and isinstance(value, dict) and step in value
        counted = isinstance(step, int) and isinstance(value, list) and step < len(value)
        if not named and not counted:
            return UNDEFINED
        value = value[step]
    return value


def connect(op: str, values: list[Any]) -> Any:
    decisive = op == "or"
    if decisive in [value for value in values if value is not UNDEFINED]:
        return decisive
    return UNDEFINED if any(value is UNDEFINED for value in values) else not decisive


def compare(op: str, left: Any, right: Any) -> Any:
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    if op in ("=", "!="):
        return same(left, right) == (op == "=")
    if type_order(left) != type_order(right) or isinstance(left, list | dict):
        return UNDEFINED
    if left is None:
        return op in ("<=", ">=")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def calculate(op: str, left: Any, right: Any) -> Any:
    if not is_number(left) or not is_number(right):
        return UNDEFINED
    return {"+": left + right, "-": left - right, "*": left * right}[op]


def call(name: str, arguments: list[Any]) -> Any:
    first = arguments[0]
    checks = {"IS_DEFINED": {1, 2, 3, 4, 5, 6}, "IS_NULL": {1}, "IS_BOOL": {2}, "IS_NUMBER": {3},
              "IS_STRING": {4},
              "IS_ARRAY": {5}, "IS_OBJECT": {6}, "IS_PRIMITIVE": {1, 2, 3, 4}}  # fmt: skip
    if name in checks:
        return type_order(first) in checks[name]
    if name == "ARRAY_LENGTH":
        return len(first) if isinstance(first, list) else UNDEFINED
    if name == "ARRAY_CONTAINS":
        if not isinstance(first, list) or arguments[1] is UNDEFINED:
            return UNDEFINED
        return any(same(item, arguments[1]) for item in first)
    if not all(isinstance(argument, str) for argument in arguments):
        return UNDEFINED
    texts: dict[str, Any] = {"LENGTH": len, "UPPER": str.upper, "LOWER": str.lower,
                             "REVERSE": lambda s: s[::-1],
                             "CONTAINS": lambda s, p: p in s, "STARTSWITH": str.startswith,
                             "ENDSWITH": str.endswith, "INDEX_OF": str.find}  # fmt: skip
    return texts[name](*arguments)


def sort_key(value: Any) -> tuple[int, Any]:
    order = type_order(value)
    return order, value if order in (2, 3, 4) else 0
