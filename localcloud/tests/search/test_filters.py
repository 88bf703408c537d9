"""Filters against a naive evaluator: for any documents, the masks must match plain Python."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcloud.search.errors import SearchError
from localcloud.search.filter_parser import parse_filter
from localcloud.search.schema import Schema, parse_index
from localcloud.search.searching import filter_masks
from localcloud.search.segment import Segment
from localcloud.search.snapshot import read_segment, write_segment
from localcloud.search.values import instant, normalise_document
from localcloud.search.view import View
from tests.search.conftest import KEY

SCHEMA: Schema = parse_index(
    {
        "name": "naive",
        "fields": [
            KEY,
            {"name": "text", "type": "Edm.String"},
            {"name": "number", "type": "Edm.Int64"},
            {"name": "real", "type": "Edm.Double"},
            {"name": "flag", "type": "Edm.Boolean"},
            {"name": "moment", "type": "Edm.DateTimeOffset"},
            {"name": "tags", "type": "Collection(Edm.String)"},
            {"name": "marks", "type": "Collection(Edm.Int32)"},
        ],
    }
)

texts = st.sampled_from(["", "a", "b", "it's", "B", "ab", "é", "z z"])
numbers = st.integers(-3, 3)
reals = st.sampled_from([-1.5, 0.0, 0.5, 2.0, 1e10])
moments = st.sampled_from(["2000-01-01T00:00:00Z", "2000-01-01T01:00:00+02:00", "2024-06-30T12:00:00.5Z"])


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


documents = st.fixed_dictionaries(
    {
        "text": maybe(texts),
        "number": maybe(numbers | st.sampled_from([2**62, -(2**63)])),
        "real": maybe(reals),
        "flag": maybe(st.booleans()),
        "moment": maybe(moments),
        "tags": st.lists(texts, max_size=3),
        "marks": st.lists(numbers, max_size=3),
    }
)

# A condition is its text and a predicate on a document.
Condition = tuple[str, Any]
OPERATORS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def compared(value: Any, operation: str, other: Any) -> bool:
    """Compare as OData does: null supports only eq and ne, and any other comparison with null is false."""
    if value is None or other is None:
        same = value is None and other is None
        return same if operation == "eq" else not same if operation == "ne" else False
    return bool(OPERATORS[operation](value, other))


def comparison(path: str, kind: str, value: Any, operation: str, *, flipped: bool) -> Condition:
    text, constant = literal(value), value
    if kind == "moment" and value is not None:
        text, constant = value, instant(value)
    if kind == "flag" and operation not in ("eq", "ne"):
        operation = "eq"
    mirrored = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}.get(operation, operation)
    shown = f"{text} {mirrored} {path}" if flipped else f"{path} {operation} {text}"

    def holds(document: dict[str, Any]) -> bool:
        found = document.get(path)
        if kind == "moment" and found is not None:
            found = instant(found)
        return compared(found, operation, constant)

    return shown, holds


def comparisons(path: str, kind: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Condition]:
    return st.builds(
        lambda value, operation, flipped: comparison(path, kind, value, operation, flipped=flipped),
        maybe(values),
        st.sampled_from(sorted(OPERATORS)),
        st.booleans(),
    )


def search_in(path: str) -> st.SearchStrategy[Condition]:
    def build(values: list[str]) -> Condition:
        quoted = "|".join(values).replace("'", "''")
        wanted = {value for value in values if value}
        return f"search.in({path}, '{quoted}', '|')", lambda document: document.get(path) in wanted

    return st.builds(build, st.lists(texts, max_size=3))


def lambdas(path: str, body: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def build(operation: str, condition: Condition) -> Condition:
        inner, holds = condition
        every = any if operation == "any" else all
        return f"{path}/{operation}(x: {inner})", lambda document: every(
            holds({"x": x}) for x in items(document)
        )

    def items(document: dict[str, Any]) -> list[Any]:
        return list(document.get(path) or [])

    empty = st.just((f"{path}/any()", lambda document: bool(items(document))))
    return empty | st.builds(build, st.sampled_from(["any", "all"]), body)


def string_lambda(path: str) -> st.SearchStrategy[Condition]:
    """Build the only forms that Azure accepts: eq joined by or in any, ne joined by and in all."""

    def build(operation: str, values: list[str]) -> Condition:
        test, joint = ("eq", " or ") if operation == "any" else ("ne", " and ")
        inner = joint.join(f"x {test} {literal(value)}" for value in values)

        def holds(document: dict[str, Any]) -> bool:
            found = document[path]
            return (
                any(x in values for x in found) if operation == "any" else all(x not in values for x in found)
            )

        return f"{path}/{operation}(x: {inner})", holds

    return st.builds(build, st.sampled_from(["any", "all"]), st.lists(texts, min_size=1, max_size=3))


def combined(leaf: st.SearchStrategy[Condition], size: int = 6) -> st.SearchStrategy[Condition]:
    def both(first: Condition, second: Condition, joint: str) -> Condition:
        every = all if joint == "and" else any
        return (
            f"({first[0]}) {joint} ({second[0]})",
            lambda document: every(holds(document) for _, holds in (first, second)),
        )

    return st.recursive(
        leaf,
        lambda inner: (
            st.builds(both, inner, inner, st.sampled_from(["and", "or"]))
            | st.builds(lambda one: (f"not ({one[0]})", lambda document: not one[1](document)), inner)
        ),
        max_leaves=size,
    )


conditions = combined(
    comparisons("text", "text", texts)
    | comparisons("number", "number", numbers | st.sampled_from([2**62, 2**63 - 1]))
    | comparisons("number", "number", reals)
    | comparisons("real", "real", reals)
    | comparisons("flag", "flag", st.booleans())
    | comparisons("moment", "moment", moments)
    | search_in("text")
    | st.just(("flag", lambda document: document["flag"] is True))
    | string_lambda("tags")
    | lambdas("marks", combined(comparisons("x", "number", numbers), 3))
)


def view_of(written: list[dict[str, Any]], cut: int) -> View:
    """Return a view of the documents in two segments, to show that results do not depend on the segment."""
    stored = [normalise_document(SCHEMA, {"id": str(row), **item}) for row, item in enumerate(written)]
    view = View([])
    for start, part in ((0, stored[:cut]), (cut, stored[cut:])):
        if part:
            rowids = list(range(start, start + len(part)))
            view = view.after(Segment.build(SCHEMA, rowids, part), np.empty(0, dtype=np.int64))
    return view


def kept(view: View, where: str) -> list[int]:
    masks = filter_masks(parse_filter(where, SCHEMA), view, SCHEMA)
    return [
        int(rowid)
        for part, mask in zip(view.parts, masks, strict=True)
        for rowid in part.segment.rowids[mask]
    ]


@settings(max_examples=250, deadline=None, derandomize=True)
@given(st.lists(documents, min_size=1, max_size=12), st.integers(0, 12), conditions)
def test_a_filter_matches_a_naive_evaluator(
    written: list[dict[str, Any]], cut: int, condition: Condition
) -> None:
    where, holds = condition
    expected = [row for row, document in enumerate(written) if holds(document)]
    assert kept(view_of(written, cut), where) == expected


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(documents, min_size=2, max_size=12), st.sets(st.integers(0, 11)), conditions)
def test_a_merged_and_reloaded_segment_keeps_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    written: list[dict[str, Any]],
    dead: set[int],
    condition: Condition,
) -> None:
    where, holds = condition
    view = view_of(written, len(written) // 2)
    removed = np.array(sorted(dead), dtype=np.int64)
    smaller = view.after(None, removed)
    expected = [row for row, document in enumerate(written) if holds(document) and row not in dead]
    assert kept(smaller, where) == expected
    if not smaller.parts:
        return
    merged = Segment.merge([(part.segment, part.live) for part in smaller.parts])
    path = tmp_path_factory.mktemp("segments") / "one.segment"
    write_segment(path, merged)
    for segment in (merged, read_segment(path)):
        assert kept(View([(segment, np.ones(segment.rows, dtype=np.bool_))]), where) == expected


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                *(
                    "number",
                    "text",
                    "tags",
                    "x",
                    "/",
                    "any",
                    "all",
                    "(",
                    ")",
                    ":",
                    "eq",
                    "ne",
                    "gt",
                    "and",
                ),
                *(
                    "or",
                    "not",
                    "null",
                    "true",
                    "1",
                    "-1.5e400",
                    "9999999999999999999",
                    "'a'",
                    "'",
                    "search.in",
                ),
                *(
                    "2000-01-01T00:00:00Z",
                    "2000-99-99T00:00:00Z",
                    ",",
                    "INF",
                    "-INF",
                    "NaN",
                    "flag",
                    ".",
                ),
            ]
        ),
        max_size=25,
    ).map(" ".join)
)
def test_any_text_is_a_filter_or_a_clear_refusal(text: str) -> None:
    view = view_of([{"number": 1, "tags": ["a"]}, {}], 1)
    status = 200
    try:
        kept(view, text)
    except SearchError as refusal:
        status = refusal.status
    assert status in (200, 400)


def test_nulls_and_keys_survive_the_merging_of_many_segments() -> None:
    view = View([])
    for row in range(40):
        written = {"id": f"{(row * 7) % 40:02d}", "text": None if row % 3 else f"t{row % 4}"}
        segment = Segment.build(SCHEMA, [row], [normalise_document(SCHEMA, written)])
        view = view.after(segment, np.array([row - 20] if row % 5 == 0 else [], dtype=np.int64))
    assert len(view.parts) < 16
    alive = [row for row in range(40) if not (row < 20 and row % 5 == 0)]
    assert kept(view, "search.in(text, 't0 t1')") == [r for r in alive if r % 3 == 0 and r % 4 in (0, 1)]
    assert kept(view, "text eq null") == [row for row in alive if row % 3]
    assert [view.find(f"{(row * 7) % 40:02d}") for row in alive] == alive
    assert [view.find(f"{(row * 7) % 40:02d}") for row in range(0, 20, 5)] == [None] * 4


def test_huge_and_odd_numbers_compare_as_numbers() -> None:
    view = view_of([{"number": 2**63 - 1, "real": 1e10}, {"number": -(2**63), "real": "NaN"}, {}], 1)
    assert kept(view, "number lt 99999999999999999999999") == [0, 1]
    assert kept(view, "number eq 9223372036854775807") == [0]
    assert kept(view, "number le -9223372036854775808") == [1]
    assert kept(view, "real ne NaN") == [0, 1, 2]
    assert kept(view, "real lt INF") == [0]
    assert kept(view, "real gt -1e999") == [0]
    assert kept(view, "real eq null") == [2]
