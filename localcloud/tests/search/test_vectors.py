"""Vector and hybrid search, with exact scores."""

import math
import random
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.search.documents.models import VectorizedQuery, VectorQuery

from tests.search.conftest import KEY, VECTORS, Search, vector_field

FIELDS: list[dict[str, Any]] = [
    KEY,
    {"name": "text", "type": "Edm.String"},
    {"name": "group", "type": "Edm.Int32"},
    vector_field("v", 3),
    vector_field("w", 3),
    vector_field("unseen", 3, retrievable=False),
]


def query(vector: list[float], k: int = 10, fields: str = "v", **rest: Any) -> VectorQuery:
    return VectorizedQuery(vector=vector, k_nearest_neighbors=k, fields=fields, **rest)


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def score(hits: Any) -> list[tuple[str, float]]:
    return [(hit["id"], hit["@search.score"]) for hit in hits]


@pytest.fixture
def few(search: Search) -> str:
    documents = [
        {
            "id": "x",
            "v": [1, 0, 0],
            "w": [0, 0, 1],
            "text": "red",
            "group": 1,
        },
        {
            "id": "y",
            "v": [0, 1, 0],
            "w": [0, 1, 0],
            "text": "red red",
            "group": 2,
        },
        {
            "id": "xy",
            "v": [1, 1, 0],
            "w": [1, 0, 0],
            "text": "blue",
            "group": 1,
        },
        {"id": "none", "text": "red blue", "group": 2},
    ]
    return search.create(FIELDS, documents, vectorSearch=VECTORS)


def test_the_score_of_a_cosine_is_one_over_one_plus_the_distance(search: Search, few: str) -> None:
    found = score(search.documents(few).search(None, vector_queries=[query([1, 0, 0])]))
    assert [key for key, _ in found] == ["x", "xy", "y"]
    expected = [1 / (1 + (1 - value)) for value in (1.0, 1 / math.sqrt(2), 0.0)]
    assert [value for _, value in found] == pytest.approx(expected, abs=1e-12)


def test_k_limits_the_matches_and_top_limits_the_results(search: Search, few: str) -> None:
    client = search.documents(few)
    hits = client.search(None, vector_queries=[query([1, 0, 0], k=2)], include_total_count=True)
    assert (len(list(hits)), hits.get_count()) == (2, 2)
    assert len(list(client.search(None, vector_queries=[query([1, 0, 0], k=3)], top=1))) == 1
    assert len(list(client.search(None, vector_queries=[query([1, 0, 0], k=3)], skip=1))) == 2


def test_a_filter_applies_before_the_search_or_after_it(search: Search, few: str) -> None:
    client = search.documents(few)
    arguments: dict[str, Any] = {"vector_queries": [query([1, 0, 0], k=1)], "filter": "group eq 2"}
    assert [key for key, _ in score(client.search(None, **arguments))] == ["y"]
    for mode in ("postFilter", "strictPostFilter"):
        assert score(client.search(None, vector_filter_mode=mode, **arguments)) == []
    matching: dict[str, Any] = arguments | {"filter": "group eq 1"}
    assert [key for key, _ in score(client.search(None, vector_filter_mode="postFilter", **matching))] == [
        "x"
    ]


def test_several_vector_queries_are_fused_by_reciprocal_rank(search: Search, few: str) -> None:
    client = search.documents(few)
    queries = [query([1, 0.1, 0]), query([1, 0.1, 0], fields="w", weight=3.0)]
    found = dict(score(client.search(None, vector_queries=queries)))
    # ranks in v: x, xy, y. In w: xy, y, x
    assert found == pytest.approx(
        {"x": 1 / 61 + 3 / 63, "xy": 1 / 62 + 3 / 61, "y": 1 / 63 + 3 / 62}, abs=1e-12
    )
    both = dict(score(client.search(None, vector_queries=[query([1, 0.1, 0], fields="v,w")])))
    assert both == pytest.approx(
        {"x": 1 / 61 + 1 / 63, "xy": 1 / 62 + 1 / 61, "y": 1 / 63 + 1 / 62}, abs=1e-12
    )


def test_hybrid_search_fuses_text_and_vectors(search: Search, few: str) -> None:
    client = search.documents(few)
    text = [hit["id"] for hit in client.search("red")]
    found = score(client.search("red", vector_queries=[query([1, 0.1, 0], weight=2.0)]))
    ranks = {key: 2 / (60 + rank) for rank, key in enumerate(["x", "xy", "y"], 1)}
    for rank, key in enumerate(text, 1):
        ranks[key] = ranks.get(key, 0) + 1 / (60 + rank)
    assert dict(found) == pytest.approx(ranks, abs=1e-12)
    assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
    hits = client.search(
        "red", vector_queries=[query([1, 0, 0], k=1)], include_total_count=True, facets=["group"]
    )
    assert hits.get_count() == 3
    assert hits.get_facets() == {"group": [{"count": 2, "value": 2}, {"count": 1, "value": 1}]}


def test_a_hybrid_search_can_be_sorted_and_filtered(search: Search, few: str) -> None:
    hits = search.documents(few).search(
        "red blue", vector_queries=[query([1, 0, 0])], filter="group eq 1", order_by=["id desc"]
    )
    assert [hit["id"] for hit in hits] == ["xy", "x"]


def test_a_hidden_vector_can_be_searched_but_not_read(search: Search) -> None:
    index = search.create(FIELDS, [{"id": "1", "unseen": [1, 2, 3]}], vectorSearch=VECTORS)
    client = search.documents(index)
    (hit,) = client.search(None, vector_queries=[query([1, 2, 3], fields="unseen")])
    assert hit["@search.score"] == pytest.approx(1.0)
    assert "unseen" not in hit
    assert "unseen" not in client.get_document("1")


def test_neighbours_are_exact_with_and_without_a_filter(search: Search) -> None:
    generator = random.Random(5)
    documents: list[dict[str, Any]] = [
        {"id": str(n), "group": n % 3, "v": [generator.gauss(0, 1) for _ in range(3)]} for n in range(900)
    ]
    index = search.create(FIELDS, documents[:500], vectorSearch=VECTORS)
    search.write(index, *documents[500:])
    deleted = {str(n) for n in range(0, 900, 7)}
    search.write(index, *({"@search.action": "delete", "id": key} for key in deleted))
    client = search.documents(index)
    for where, kept in ((None, {0, 1, 2}), ("group eq 1", {1}), ("group ne 1", {0, 2})):
        wanted = [generator.gauss(0, 1) for _ in range(3)]
        expected = sorted(
            (item for item in documents if item["group"] in kept and item["id"] not in deleted),
            key=lambda item: -cosine(item["v"], wanted),
        )[:20]
        found = score(client.search(None, vector_queries=[query(wanted, k=20)], filter=where))
        assert [key for key, _ in found] == [item["id"] for item in expected]
        scores = [1 / (2 - cosine(item["v"], wanted)) for item in expected]
        assert [value for _, value in found] == pytest.approx(scores, abs=1e-6)


def test_a_zero_vector_is_no_error(search: Search, few: str) -> None:
    found = score(search.documents(few).search(None, vector_queries=[query([0, 0, 0])]))
    assert [value for _, value in found] == pytest.approx([0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"vector": [1, 2]}, "expects a length of '3'"),
        ({"vector": "x"}, "array of numbers"),
        ({"vector": [1, 2, None]}, "array of numbers"),
        ({"vector": [1e300, 0, 0]}, "finite"),
        ({"fields": "text"}, "not a vector field"),
        ({"fields": "nope"}, "property named 'nope'"),
        ({"fields": ""}, "at least one vector field"),
        ({"k": 0}, "'k'"),
        ({"k": 10_001}, "'k'"),
        ({"weight": 0}, "positive"),
        ({"weight": "x"}, "positive"),
        ({"kind": "text"}, "kind"),
        ({"oversampling": 2.0}, "oversampling"),
        ({"threshold": {"kind": "vectorSimilarity", "value": 0.8}}, "threshold"),
        ({"exhaustive": "yes"}, "exhaustive"),
    ],
)
def test_a_vector_query_that_makes_no_sense_is_a_clear_400(
    search: Search, few: str, change: dict[str, Any], says: str
) -> None:
    sent = {"kind": "vector", "vector": [1, 0, 0], "k": 3, "fields": "v"} | change
    answer = search.search(few, vectorQueries=[sent])
    assert answer.status == 400
    assert says in answer.message


def test_the_sdk_raises_the_error_of_the_service(search: Search, few: str) -> None:
    with pytest.raises(HttpResponseError, match="expects a length of '3'"):
        list(search.documents(few).search(None, vector_queries=[query([1.0])]))
