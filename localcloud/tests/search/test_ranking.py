"""BM25 against a plain reference, and the analysis and query syntax that it uses."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcloud.search.analysis import _STANDARD, ANALYZERS
from localcloud.search.errors import SearchError
from localcloud.search.query_syntax import parse_simple
from localcloud.search.request import parse_search
from localcloud.search.schema import parse_index
from localcloud.search.searching import run_search
from localcloud.search.segment import Segment
from localcloud.search.view import View
from tests.search.conftest import KEY

SCHEMA = parse_index(
    {
        "name": "ranking",
        "fields": [
            KEY,
            {"name": "title", "type": "Edm.String"},
            {"name": "body", "type": "Edm.String"},
        ],
    }
)
WORDS = ["ant", "bee", "cat", "dog", "eel"]
K1, B = 1.2, 0.75
bodies = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
written_documents = st.lists(
    st.fixed_dictionaries({"title": st.none() | bodies, "body": bodies}), min_size=1, max_size=10
)


def view_of(written: list[dict[str, Any]], batches: int, removed: set[int]) -> View:
    view = View([])
    for start in range(0, len(written), batches):
        part = [{"id": str(start + n), **item} for n, item in enumerate(written[start : start + batches])]
        rowids = list(range(start, start + len(part)))
        view = view.after(Segment.build(SCHEMA, rowids, part), np.empty(0, dtype=np.int64))
    return view.after(None, np.array(sorted(removed), dtype=np.int64))


def ranked(view: View, written: list[dict[str, Any]], text: str, mode: str) -> list[tuple[str, float]]:
    def fetch(rowids: list[int]) -> list[dict[str, Any] | None]:
        return [{"id": str(rowid), **written[rowid]} for rowid in rowids]

    query = parse_search({"search": text, "searchMode": mode, "top": 100}, SCHEMA)
    hits = run_search(query, view, SCHEMA, fetch)["value"]
    return [(hit["id"], hit["@search.score"]) for hit in hits]


def reference(written: dict[int, dict[str, Any]], words: list[str], mode: str) -> dict[str, float]:
    """Compute BM25 by definition, in loops: each word in each field, summed."""
    scores: defaultdict[int, float] = defaultdict(float)
    matched: dict[int, set[str]] = {row: set() for row in written}
    for field in ("title", "body"):
        terms = {row: (item[field] or "").split() for row, item in written.items()}
        lengths = [len(found) for found in terms.values() if found]
        for word in words:
            holders = [row for row, found in terms.items() if word in found]
            for row in holders:
                inverse = math.log(1 + (len(lengths) - len(holders) + 0.5) / (len(holders) + 0.5))
                frequency = terms[row].count(word)
                norm = K1 * (1 - B + B * len(terms[row]) * len(lengths) / sum(lengths))
                scores[row] += inverse * frequency / (frequency + norm)
                matched[row].add(word)
    wanted = set(words)
    return {
        str(row): scores[row]
        for row, found in matched.items()
        if (found == wanted if mode == "all" else bool(found))
    }


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    written_documents,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True),
    st.sampled_from(["any", "all"]),
    st.integers(1, 4),
    st.sets(st.integers(0, 9), max_size=3),
)
def test_scores_and_order_are_those_of_plain_bm25(
    written: list[dict[str, Any]], words: list[str], mode: str, batches: int, removed: set[int]
) -> None:
    found = ranked(view_of(written, batches, removed), written, " ".join(words), mode)
    alive = {row: item for row, item in enumerate(written) if row not in removed}
    expected = reference(alive, words, mode)
    assert dict(found) == pytest.approx(expected)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_a_rare_word_a_short_text_and_a_frequent_word_in_it_rank_higher() -> None:
    written: list[dict[str, Any]] = [
        {"title": None, "body": "common common common rare"},
        {"title": None, "body": "common filler filler filler filler filler"},
        {"title": None, "body": "common"},
        {"title": None, "body": "common common"},
    ]
    view = view_of(written, 2, set())
    assert ranked(view, written, "rare common", "any")[0][0] == "0"
    order = [key for key, _ in ranked(view, written, "common", "any")]
    assert order.index("3") < order.index("2") < order.index("1")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from("aB9_'.,- é日"), max_size=25))
def test_the_fast_tokens_are_those_of_the_pattern(text: str) -> None:
    analyzer = ANALYZERS["standard.lucene"]
    assert analyzer.terms(text) == _STANDARD.findall(text.lower())


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from('ab"|+-()*\\ ~'), max_size=60), st.sampled_from(["any", "all"]))
def test_any_text_is_a_query(text: str, mode: str) -> None:
    written: list[dict[str, Any]] = [{"title": "a b", "body": "ab ba"}, {"title": None, "body": "b"}]
    found = ranked(view_of(written, 1, set()), written, text, mode)
    assert all(math.isfinite(score) for _, score in found)


@pytest.mark.parametrize("text", ["(" * 5000 + "a" + ")" * 5000, "a " * 50_000, "a|" * 2000, "x" * 100_001])
def test_a_query_that_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(SearchError) as refusal:
        parse_simple(text, match_all=False)
    assert refusal.value.status == 400


@pytest.mark.parametrize("text", ['"' * 99_999, "(" * 99_999, "-" * 99_999, "\\" * 99_999, ")(" * 40_000])
def test_a_query_of_nothing_but_operators_is_read_in_no_time(text: str) -> None:
    parse_simple(text, match_all=True)
