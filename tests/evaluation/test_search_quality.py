"""The labeled queries and their scores."""

import math
from collections import Counter

import pytest

from evaluation.search_quality import interval, load_queries, ndcg, recall

HALVES = ("tuned", "unread")


def test_each_half_has_every_kind_and_forty_queries_without_an_answer() -> None:
    queries = load_queries()
    assert len({query.query for query in queries}) == len(queries) == 213
    for half in HALVES:
        kinds = Counter(query.kind for query in queries if query.half == half)
        assert set(kinds) == {"words", "meaning", "person", "identifier", "question", "none"}
        assert kinds["none"] == 40
        assert min(kinds.values()) >= 8
    assert all(bool(query.relevant) == query.is_answerable for query in queries)


def test_scores_are_those_of_the_textbook() -> None:
    grades = {"a": 3, "b": 1}
    assert ndcg(["a", "b"], grades) == 1.0
    assert ndcg(["x", "a"], grades) == pytest.approx((7 / math.log2(3)) / (7 + 1 / math.log2(3)))
    assert (ndcg([], grades), recall(["b", "x"], grades), recall(["a", "b"], grades)) == (0.0, 0.5, 1.0)
    low, high = interval([0.0, 1.0] * 50)
    assert 0.35 < low < 0.5 < high < 0.65
