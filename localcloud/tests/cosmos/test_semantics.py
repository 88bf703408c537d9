"""The compiler against a naive evaluator: random documents and queries must give the same results."""

import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcloud.cosmos import queries
from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.container import Container
from localcloud.cosmos.queries import Scope
from tests.cosmos.conftest import engine_page
from tests.cosmos.naive import UNDEFINED, Expr, evaluate, same, sort_key, type_order
from tests.support.clock import ManualClock

NAMES = ("a", "b", "c d", "é")
TEXTS = (
    "",
    "a",
    "ab",
    "b",
    "A",
    "é",
    "%",
    "1",
    "[1]",
    "it's",
    'say "x"',
    "back\\slash",
    "日本",
    "a\nb",
    "null",
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, -1.5, 1.0, 2.0, 1e10]),
    st.sampled_from(TEXTS),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=5,
)
documents = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)

steps = st.lists(st.one_of(st.sampled_from(NAMES), st.integers(0, 2)), max_size=2)
paths = st.builds(lambda first, rest: ("path", (first, *rest)), st.sampled_from(NAMES), steps)
constants = st.builds(lambda value: ("const", value), scalars)
comparisons = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
ONE = ("IS_DEFINED", "IS_NULL", "IS_BOOL", "IS_NUMBER", "IS_STRING", "IS_ARRAY", "IS_OBJECT", "IS_PRIMITIVE",
       "ARRAY_LENGTH", "LENGTH", "UPPER", "LOWER", "REVERSE")  # fmt: skip
TWO = ("ARRAY_CONTAINS", "CONTAINS", "STARTSWITH", "ENDSWITH", "INDEX_OF")


def compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    some = st.lists(inner, min_size=2, max_size=3)
    members = st.lists(st.tuples(st.sampled_from(NAMES), inner), max_size=2, unique_by=lambda pair: pair[0])
    return st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), some),
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("compare"), comparisons, inner, inner),
        st.tuples(st.just("between"), inner, inner, inner),
        st.tuples(st.just("in"), inner, some),
        st.tuples(st.just("coalesce"), inner, inner),
        st.tuples(st.just("if"), inner, inner, inner),
        st.tuples(st.just("arithmetic"), st.sampled_from("+-*"), inner, inner),
        st.tuples(st.just("concat"), inner, inner),
        st.tuples(st.just("call"), st.sampled_from(ONE), st.tuples(inner)),
        st.tuples(st.just("call"), st.sampled_from(TWO), st.tuples(inner, inner)),
        st.tuples(st.just("array"), st.lists(inner, max_size=2)),
        st.tuples(st.just("object"), members),
        st.tuples(st.just("exists"), st.tuples(st.sampled_from(NAMES)), comparisons, scalars),
    )


# The usual queries: combinations of comparisons of a path with a constant. Deep nesting is mostly undefined.
names = st.builds(lambda name: ("path", (name,)), st.sampled_from(NAMES[:2]))
simple = st.tuples(st.just("compare"), comparisons, names, constants)
everyday = st.one_of(
    simple,
    st.tuples(st.just("not"), simple),
    st.tuples(st.sampled_from(["and", "or"]), st.lists(simple, min_size=2, max_size=3)),
    st.tuples(st.just("in"), names, st.lists(constants, min_size=1, max_size=4)),
    st.tuples(st.just("between"), names, constants, constants),
    st.tuples(st.just("not"), st.tuples(st.just("between"), names, constants, constants)),
    st.tuples(st.just("compare"), comparisons, names, names),
)
expressions = st.recursive(st.one_of(paths, constants), compound, max_leaves=6)


class Rendered:
    """An expression as SQL text, with constants alternately inlined and passed as parameters."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    def constant(self, value: Any) -> str:
        if len(self.parameters) % 2 == 0 and not (isinstance(value, float) and value > 1e9):
            self.parameters[f"@p{len(self.parameters)}"] = value
            return f"@p{len(self.parameters) - 1}"
        self.parameters[f"@unused{len(self.parameters)}"] = None
        return json.dumps(value)

    def path(self, steps: tuple[Any, ...]) -> str:
        return "c" + "".join(f"[{json.dumps(step)}]" for step in steps)

    def text(self, expr: Expr) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind
        kind, *rest = expr
        match kind:
            case "const":
                return self.constant(rest[0])
            case "path":
                return self.path(rest[0])
            case "and" | "or":
                return "(" + f" {kind.upper()} ".join(map(self.text, rest[0])) + ")"
            case "not":
                return f"(NOT {self.text(rest[0])})"
            case "compare" | "arithmetic":
                return f"({self.text(rest[1])} {rest[0]} {self.text(rest[2])})"
            case "between":
                return "({} BETWEEN {} AND {})".format(*map(self.text, rest))
            case "in":
                return f"({self.text(rest[0])} IN ({', '.join(map(self.text, rest[1]))}))"
            case "coalesce" | "concat":
                return f"({self.text(rest[0])} {'??' if kind == 'coalesce' else '||'} {self.text(rest[1])})"
            case "if":
                return "({} ? {} : {})".format(*map(self.text, rest))
            case "call":
                return f"{rest[0]}({', '.join(map(self.text, rest[1]))})"
            case "array":
                return f"[{', '.join(map(self.text, rest[0]))}]"
            case "object":
                return (
                    "{"
                    + ", ".join(f"{json.dumps(name)}: {self.text(member)}" for name, member in rest[0])
                    + "}"
                )
            case _:
                condition = f"x {rest[1]} {json.dumps(rest[2])}"
                return f"EXISTS (SELECT VALUE x FROM x IN {self.path(rest[0])} WHERE {condition})"


@pytest.fixture(scope="module")
def engine() -> Iterator[tuple[Account, Container]]:
    account = Account(None, ManualClock(), ranges=2)
    account.create_database({"id": "d"}, Throughput())
    account.create_container("d", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, Throughput())
    yield account, account.container("d", "c")
    account.close()


def fill(engine: tuple[Account, Container], contents: list[dict[str, Any]]) -> None:
    account, container = engine
    account.store.execute(f"DELETE FROM {container.table}")
    for number, content in enumerate(contents):
        key = container.key.of_values([str(number)])
        account.documents.create(container, key, {**content, "id": str(number), "pk": str(number)})


def run(engine: tuple[Account, Container], text: str, parameters: dict[str, Any]) -> list[Any]:
    account, container = engine
    page = engine_page(account, container, Scope(), text, parameters=parameters, max_items=1000)
    return [orjson.loads(item) for item in page.items]


common = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def check_where(engine: tuple[Account, Container], contents: list[dict[str, Any]], condition: Expr) -> None:
    rendered = Rendered()
    text = f"SELECT VALUE c.id FROM c WHERE {rendered.text(condition)}"
    expected = [str(n) for n, content in enumerate(contents) if evaluate(condition, content) is True]
    assert run(engine, text, rendered.parameters) == expected, text


@common
@given(
    contents=st.lists(documents, min_size=1, max_size=6),
    conditions=st.lists(st.one_of(everyday, everyday, expressions), min_size=8, max_size=16),
)
def test_where_matches_the_naive_evaluator(
    engine: tuple[Account, Container], contents: list[dict[str, Any]], conditions: list[Expr]
) -> None:
    fill(engine, contents)
    for condition in conditions:
        check_where(engine, contents, condition)


SAMPLES: list[Any] = [
    None,
    False,
    True,
    0,
    1,
    1.5,
    -2,
    "",
    "a",
    "b",
    "1",
    "null",
    [],
    [1],
    [1.0, "a"],
    {},
    {"a": 1},
]


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
def test_every_comparison_of_every_pair_of_types(engine: tuple[Account, Container], op: str) -> None:
    contents: list[dict[str, Any]] = [{}, *({"a": value} for value in SAMPLES)]
    contents += [{"a": left, "b": right} for left in SAMPLES for right in SAMPLES[::3]]
    fill(engine, contents)
    left: Expr = ("path", ("a",))
    for right in [*(("const", value) for value in SAMPLES), ("path", ("b",))]:
        for comparison in (("compare", op, left, right), ("compare", op, right, left)):
            check_where(engine, contents, comparison)
            check_where(engine, contents, ("not", comparison))


@common
@given(contents=st.lists(documents, min_size=1, max_size=4), expr=expressions)
def test_select_value_matches_the_naive_evaluator(
    engine: tuple[Account, Container], contents: list[dict[str, Any]], expr: Expr
) -> None:
    fill(engine, contents)
    rendered = Rendered()
    found = run(engine, f"SELECT VALUE {rendered.text(expr)} FROM c", rendered.parameters)
    expected = [
        value for value in (evaluate(expr, content) for content in contents) if value is not UNDEFINED
    ]
    assert len(found) == len(expected)
    assert all(same(left, right) for left, right in zip(found, expected, strict=True)), (found, expected)


@common
@given(contents=st.lists(documents, max_size=8), path=paths, descending=st.booleans())
def test_order_by_follows_the_order_of_types_and_values(
    engine: tuple[Account, Container], contents: list[dict[str, Any]], path: Expr, descending: bool
) -> None:
    fill(engine, contents)
    order = f"{Rendered().text(path)} {'DESC' if descending else 'ASC'}"
    found = run(engine, f"SELECT VALUE c.id FROM c ORDER BY {order}", {})
    keys = [sort_key(evaluate(path, contents[int(name)])) for name in found]
    assert keys == sorted(keys, reverse=descending)
    present = [n for n, content in enumerate(contents) if evaluate(path, content) is not UNDEFINED]
    assert sorted(found) == sorted(map(str, present))


@common
@given(contents=st.lists(documents, max_size=8), path=paths)
def test_aggregates_and_groups_agree_with_counting_by_hand(
    engine: tuple[Account, Container], contents: list[dict[str, Any]], path: Expr
) -> None:
    fill(engine, contents)
    text = Rendered().text(path)
    present = [value for value in (evaluate(path, content) for content in contents) if value is not UNDEFINED]
    assert run(engine, f"SELECT VALUE COUNT({text}) FROM c", {}) == [len(present)]
    numbers = all(type_order(value) == 3 for value in present)
    expected = [pytest.approx(sum(present))] if numbers else []
    assert run(engine, f"SELECT VALUE SUM({text}) FROM c", {}) == expected
    scalar = all(type_order(value) < 5 for value in present)
    least = run(engine, f"SELECT VALUE MIN({text}) FROM c", {})
    assert least == ([min(present, key=sort_key)] if present and scalar else [])
    groups = run(engine, f"SELECT VALUE COUNT(1) FROM c GROUP BY {text}", {})
    distinct = run(engine, f"SELECT DISTINCT VALUE {text} FROM c", {})
    different = [
        value for n, value in enumerate(present) if not any(same(value, other) for other in present[:n])
    ]
    assert len(distinct) == len(different)
    assert len(groups) == len(different) + (len(present) < len(contents))
    assert sum(groups) == len(contents)


@settings(parent=common, max_examples=30)
@given(
    contents=st.lists(documents, min_size=1, max_size=6),
    conditions=st.lists(everyday, min_size=4, max_size=8),
)
def test_an_index_changes_no_answer(
    engine: tuple[Account, Container], contents: list[dict[str, Any]], conditions: list[Expr]
) -> None:
    """Repeat the queries with indexes on every compared path."""
    account, container = engine
    fill(engine, contents)
    container.next_k += queries.INDEX_FROM_ROWS
    try:
        for condition in conditions:
            check_where(engine, contents, condition)
    finally:
        for number in range(len(container.indexes)):
            account.store.execute(f"DROP INDEX IF EXISTS {container.table}_x{number}")
        container.indexes.clear()
