"""The changes: each makes one other program of a module's source."""

import ast
import difflib
import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

__all__ = ["Mutant", "mutants_of", "named_mutant"]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
}
_SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
# Inside the text of a condition.
_SQL = (
    (" AND ", " OR "), (" OR ", " AND "), ("NOT ", ""), (" = ", " != "), (" != ", " = "),
    (" < ", " <= "), (" <= ", " < "),
)  # fmt: skip
_SQL_FIELD = re.compile(r"\bc\.")
_MANY_TIMES = 10_000  # a limit that large is none
_STRANGE = "XX"


@dataclass(frozen=True)
class Mutant:
    line: int
    source: str
    diff: tuple[str, ...]
    name: str = ""  # of one that is asked for by name, and must die

    @property
    def key(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]


def mutants_of(source: str, only: Collection[str] = ()) -> Iterator[Mutant]:
    """Every change to the module, or to the functions named in `only`; each program once."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for spot in _spots(tree, only):
        node = spot.get()
        for other in _others(node, spot):
            spot.put(other)
            changed = ast.unparse(ast.fix_missing_locations(tree))
            spot.put(node)
            if changed not in seen:
                seen.add(changed)
                yield Mutant(getattr(node, "lineno", spot.line), changed, _diff(original, changed))


def named_mutant(source: str, name: str, before: str, after: str) -> Mutant:
    if source.count(before) != 1:
        raise ValueError(f"{name}: {before!r} is to be there once, and is {source.count(before)} times")
    position = source.index(before)
    diff = (f"-{before}", f"+{after}")
    return Mutant(source.count("\n", 0, position) + 1, source.replace(before, after), diff, name)


def _diff(before: str, after: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return tuple(line for line in lines if not line.startswith(("---", "+++", "@@")))


# where


@dataclass
class _Spot:
    """A node's position in the tree: a field of its parent, or one of a list."""

    parent: ast.AST
    field: str
    index: int | None
    line: int
    function: ast.FunctionDef | ast.AsyncFunctionDef | None
    in_raise: bool

    def get(self) -> Any:
        value = getattr(self.parent, self.field)
        return value if self.index is None else value[self.index]

    def put(self, node: Any) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


_NOT_BEHAVIOUR = {"annotation", "returns", "decorator_list", "bases", "ctx", "type_comment"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _spots(tree: ast.Module, only: Collection[str]) -> Iterator[_Spot]:
    yield from _below(tree, None, only, in_raise=False)


def _below(
    node: ast.AST,
    function: ast.FunctionDef | ast.AsyncFunctionDef | None,
    only: Collection[str],
    *,
    in_raise: bool,
) -> Iterator[_Spot]:
    for field, value in ast.iter_fields(node):
        if field in _NOT_BEHAVIOUR:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_left_alone(child):
                continue
            inner = child if isinstance(child, _FUNCTIONS) and function is None else function
            raising = in_raise or isinstance(child, ast.Raise)
            if not only or (inner is not None and inner.name in only):
                line = getattr(child, "lineno", getattr(node, "lineno", 0))
                yield _Spot(node, field, index, line, inner, raising)
            yield from _below(child, inner, only, in_raise=raising)


def _is_left_alone(node: ast.AST) -> bool:
    """Docstrings, imports, export lists, loggers and what they write, and type variables."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
        case ast.Assign(value=ast.Call(func=func)):
            return ast.unparse(func) in {"TypeVar", "logging.getLogger"}
        case _:
            return False


# what


def _others(node: ast.AST, spot: _Spot) -> Iterator[ast.AST]:
    match node:
        case ast.Constant():
            yield from _other_constants(node, spot)
        case ast.Call():
            yield from _other_calls(node)
        case ast.Dict() | ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()):
            if not isinstance(spot.parent, ast.Subscript):
                yield from _smaller_collections(node)
        case ast.comprehension(target=target, iter=iter_, is_async=is_async, ifs=[_, *_]):
            yield ast.comprehension(target, iter_, [], is_async)
        case ast.stmt():
            yield from _other_statements(node, spot)
        case ast.expr():
            yield from _other_operations(node)
        case _:
            return


def _other_operations(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            yield from _other_comparisons(node)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield from _without_one(node, "values")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
            yield ast.BinOp(left, _ARITHMETIC[type(op)](), right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(_negated(test), body, orelse)
        case _:
            return


def _smaller_collections(node: ast.Dict | ast.Tuple | ast.List) -> Iterator[ast.expr]:
    if isinstance(node, ast.Dict):
        for n in range(len(node.keys)):
            yield ast.Dict(node.keys[:n] + node.keys[n + 1 :], node.values[:n] + node.values[n + 1 :])
    else:
        yield from _without_one(node, "elts")


def _other_constants(node: ast.Constant, spot: _Spot) -> Iterator[ast.Constant]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        numbers = [value + 1, value - 1] + ([value * _MANY_TIMES] if value else [])
        yield from (ast.Constant(number) for number in numbers)
    elif isinstance(value, str) and not spot.in_raise:
        yield from (ast.Constant(text) for text in _other_texts(value))
    elif value is None and isinstance(spot.parent, ast.Dict | ast.keyword):
        yield ast.Constant(_STRANGE)


def _other_texts(text: str) -> Iterator[str]:
    if _SQL_FIELD.search(text) or any(f" {word} " in text for word in ("AND", "OR")):
        for before, after in _SQL:
            if before in text:
                yield text.replace(before, after, 1)
    else:
        yield f"{_STRANGE}{text}{_STRANGE}"


def _other_comparisons(node: ast.Compare) -> Iterator[ast.Compare]:
    for n, op in enumerate(node.ops):
        for other in _COMPARISONS[type(op)]:
            yield ast.Compare(node.left, [*node.ops[:n], other(), *node.ops[n + 1 :]], node.comparators)


def _other_calls(node: ast.Call) -> Iterator[ast.Call]:
    """Without one of its keywords; the other of a pair."""
    yield from _without_one(node, "keywords")
    if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED_CALLS:
        yield ast.Call(ast.Name(_SWAPPED_CALLS[node.func.id], ast.Load()), node.args, node.keywords)


def _without_one(node: ast.AST, field: str) -> Iterator[Any]:
    values = getattr(node, field)
    for n in range(len(values)):
        fewer = values[:n] + values[n + 1 :]
        if isinstance(node, ast.BoolOp) and len(fewer) == 1:
            yield fewer[0]
        else:
            yield _with(node, field, fewer)


def _other_statements(node: ast.stmt, spot: _Spot) -> Iterator[ast.stmt]:
    removed: Callable[[], ast.stmt] = ast.Pass
    match node:
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Constant):
            yield _with(node, "test", _negated(test))
        case ast.Return(value=None) | ast.Raise() | ast.Continue() | ast.Expr() | ast.Delete():
            yield removed()
        case ast.Return(value=value) if not (isinstance(value, ast.Constant) and value.value is None):
            returns = spot.function.returns if spot.function is not None else None
            is_bool = returns is not None and ast.unparse(returns) == "bool"
            for constant in (True, False) if is_bool else (None,):
                yield ast.Return(ast.Constant(constant))
        case ast.AugAssign(target=target, op=op, value=value):
            yield removed()
            if type(op) in _ARITHMETIC:
                yield ast.AugAssign(target, _ARITHMETIC[type(op)](), value)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield removed()
        case ast.Try(body=body, handlers=[_, *_]):
            # Exceptions go through; what the handlers would have done is missing.
            yield ast.If(ast.Constant(value=True), [*body, *node.orelse, *node.finalbody], [])
        case _:
            return


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _with(node: ast.AST, field: str, value: Any) -> Any:
    other = deepcopy(node)
    setattr(other, field, value)
    return other
