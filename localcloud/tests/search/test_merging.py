"""Segments over time: merged, half deleted, written to files, and loaded after a kill.

The tests also write to a plain dictionary, and every kind of read must match it.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localcloud.clock import SystemClock
from localcloud.search.catalog import Catalog, Conditions
from localcloud.search.documents import parse_batch
from localcloud.search.index import Index
from localcloud.search.request import parse_search
from localcloud.search.searching import run_search
from tests.search.conftest import KEY, VECTORS, vector_field

DEFINITION = {
    "name": "long-lived",
    "fields": [
        KEY,
        {"name": "text", "type": "Edm.String"},
        {"name": "tag", "type": "Edm.String", "searchable": False},
        {"name": "number", "type": "Edm.Int32"},
        {"name": "tags", "type": "Collection(Edm.String)", "searchable": False},
        {"name": "prices", "type": "Collection(Edm.Int32)"},
        vector_field("v", 2, "exact"),
    ],
    "vectorSearch": VECTORS,
}
KEYS = 9000
Model = dict[str, dict[str, Any]]


def some_fields(chance: random.Random) -> dict[str, Any]:
    return {
        "text": " ".join(f"w{chance.randrange(30)}" for _ in range(chance.randrange(1, 6))),
        "tag": chance.choice([None, None, "a", "b", f"t{chance.randrange(500)}"]),
        "number": chance.choice([None, chance.randrange(-50, 50)]),
        "tags": chance.sample(["x", "y", "z"], chance.randrange(3)),
        "prices": [chance.randrange(10) for _ in range(chance.randrange(3))],
        "v": chance.choice([None, [chance.uniform(-1, 1), chance.uniform(-1, 1)]]),
    }


def random_batch(chance: random.Random, model: Model) -> list[dict[str, Any]]:
    """Return random actions, which are also applied to the model."""
    actions = []
    for _ in range(chance.randrange(400, 1200)):
        key, kind = str(chance.randrange(KEYS)), chance.choice(["upload"] * 6 + ["merge", "delete", "delete"])
        fields = some_fields(chance) if kind != "delete" else {}
        if kind == "upload":
            model[key] = {"id": key} | fields
        elif kind == "delete":
            model.pop(key, None)
        elif key in model:
            fields = {name: fields[name] for name in chance.sample(sorted(fields), 2)}
            model[key] = model[key] | fields
        actions.append({"@search.action": kind, "id": key} | fields)
    return actions


def write(index: Index, actions: list[dict[str, Any]]) -> None:
    index.apply(parse_batch(index.schema, {"value": actions}))


def found(index: Index, **body: Any) -> list[str]:
    query = parse_search({"top": 1000, "select": "id"} | body, index.schema)
    return [hit["id"] for hit in run_search(query, index.view(), index.schema, index.documents)["value"]]


def counted(index: Index, **body: Any) -> int:
    query = parse_search({"top": 0, "count": True} | body, index.schema)
    answer = run_search(query, index.view(), index.schema, index.documents)
    return int(answer["@odata.count"])


FILTERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "tag eq null": lambda item: item["tag"] is None,
    "tag eq 'a'": lambda item: item["tag"] == "a",
    "tag ne 'a'": lambda item: item["tag"] != "a",
    "tag gt 't3'": lambda item: (item["tag"] or "") > "t3",
    "search.in(tag, 'a b t7')": lambda item: item["tag"] in ("a", "b", "t7"),
    "number eq null": lambda item: item["number"] is None,
    "number lt 0": lambda item: item["number"] is not None and item["number"] < 0,
    "tags/any(t: t eq 'x')": lambda item: "x" in item["tags"],
    "tags/all(t: t ne 'x')": lambda item: "x" not in item["tags"],
    "not tags/any()": lambda item: not item["tags"],
    "prices/any(p: p gt 7)": lambda item: any(price > 7 for price in item["prices"]),
    "prices/all(p: p gt 7)": lambda item: all(price > 7 for price in item["prices"]),
}


def assert_agrees(index: Index, model: Model, chance: random.Random) -> None:
    assert index.view().count == counted(index) == len(model)
    for where, holds in FILTERS.items():
        assert counted(index, filter=where) == sum(map(holds, model.values())), where
        rare = sorted(item["id"] for item in model.values() if holds(item) and item["id"].startswith("12"))
        narrowed = f"({where}) and id ge '12' and id lt '13'"
        assert sorted(found(index, filter=narrowed)) == rare, where
    words = [item["id"] for item in model.values() if {"w1", "w2"} <= set(item["text"].split())]
    assert sorted(found(index, search="w1+w2")) == sorted(words)[:1000]
    facet = parse_search({"top": 0, "facets": ["tag,count:3"]}, index.schema)
    shown = run_search(facet, index.view(), index.schema, index.documents)["@search.facets"]["tag"]
    counts = Counter(item["tag"] for item in model.values() if item["tag"])
    expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
    assert [(item["value"], item["count"]) for item in shown] == expected
    ordered = sorted(model.values(), key=lambda item: (item["tag"] is not None, item["tag"], item["id"]))
    assert found(index, orderby="tag,id", top=300) == [item["id"] for item in ordered[:300]]
    assert_neighbours(index, model, chance)
    for key in [str(chance.randrange(KEYS)) for _ in range(200)]:
        rowid = index.view().find(key)
        assert (rowid is not None) == (key in model)
        if rowid is not None:
            document = index.documents([rowid])[0]
            assert document is not None
            assert {name: document.get(name) for name in ("text", "tag", "number", "tags", "prices")} == {
                name: model[key][name] for name in ("text", "tag", "number", "tags", "prices")
            }


def cosine(first: list[float], second: list[float]) -> float:
    product = sum(one * other for one, other in zip(first, second, strict=True))
    return product / (math.hypot(*first) * math.hypot(*second))


def assert_neighbours(index: Index, model: Model, chance: random.Random) -> None:
    point = [chance.uniform(-1, 1), chance.uniform(-1, 1)]
    query = {"kind": "vector", "vector": point, "k": 10, "fields": "v"}
    with_vector = [item for item in model.values() if item["v"] is not None]
    for where, holds in (("number ge -50", lambda item: item["number"] is not None), ("tag eq 'a'", None)):
        fits = holds or (lambda item: item["tag"] == "a")
        near = sorted((-cosine(point, item["v"]), item["id"]) for item in with_vector if fits(item))[:10]
        assert found(index, vectorQueries=[query], filter=where) == [key for _, key in near]


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[Callable[[], Catalog]]:
    """A function that opens the catalog of a folder, as if a killed process had used it before."""
    opened: list[Catalog] = []

    def open_again() -> Catalog:
        opened.append(Catalog(tmp_path / "data", SystemClock()))
        return opened[-1]

    yield open_again
    for catalog in opened:
        catalog.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_every_read_agrees_with_a_dictionary_through_merges_and_a_kill(
    reopened: Callable[[], Catalog], tmp_path: Path, seed: int
) -> None:
    chance, model = random.Random(seed), Model()
    index = reopened().create_index(DEFINITION)
    for number in range(16):
        write(index, random_batch(chance, model))
        if number % 5 == 0:
            assert_agrees(index, model, chance)
    assert list((tmp_path / "data").glob("segments/*/*.segment")), "none of the segments became a file"
    for _ in range(2):
        again = reopened().index("long-lived")
        assert_agrees(again, model, chance)
        write(again, random_batch(chance, model))
        assert_agrees(again, model, chance)


def test_the_last_batches_of_a_killed_writer_are_indexed_in_addition_to_the_files(
    reopened: Callable[[], Catalog], tmp_path: Path
) -> None:
    index = reopened().create_index(DEFINITION)
    for first in range(0, 8000, 1000):
        write(index, [{"id": str(n), "text": "filed", "tags": ["x"]} for n in range(first, first + 1000)])
    files = list((tmp_path / "data").glob("segments/*/*.segment"))
    assert len(files) == 1
    write(index, [{"@search.action": "delete", "id": "17"}, {"id": "late", "text": "tail"}])
    write(index, [{"@search.action": "merge", "id": "18", "text": "tail again"}])
    again = reopened().index("long-lived")
    assert found(again, search="tail") == found(index, search="tail") != []
    assert sorted(found(again, search="tail")) == ["18", "late"]
    assert counted(again, search="filed") == 7998
    assert again.view().find("17") is None
    assert counted(again) == 8000
    # The file was loaded, not rebuilt: its rows are one part, and the rest another.
    assert [part.segment.rows for part in again.view().parts] == [8000, 2]


def test_a_batch_that_fails_half_way_leaves_nothing(reopened: Callable[[], Catalog]) -> None:
    index = reopened().create_index(DEFINITION)
    write(index, [{"id": "1", "text": "old"}])
    rowid = index.view().find("1")
    assert rowid is not None
    index._next_rowid = rowid  # makes the database reject the insert after the update
    with pytest.raises(Exception, match="UNIQUE"):
        write(index, [{"id": "1", "text": "new"}])
    again = reopened().index("long-lived")
    assert found(again, search="old") == ["1"]
    assert found(again, search="new") == []


def test_a_rowid_is_not_used_again_after_its_document_is_gone(reopened: Callable[[], Catalog]) -> None:
    index = reopened().create_index(DEFINITION)
    write(index, [{"id": str(n)} for n in range(5)])
    last = index.view().find("4")
    write(index, [{"@search.action": "delete", "id": "4"}])
    with closing(reopened()) as catalog:
        again = catalog.index("long-lived")
        write(again, [{"id": "new"}])
        fresh = again.view().find("new")
        assert last is not None
        assert fresh is not None
        assert fresh > last


def test_a_field_added_later_is_null_in_older_rows_through_merges_and_a_kill(
    reopened: Callable[[], Catalog],
) -> None:
    catalog = reopened()
    index = catalog.create_index({"name": "long-lived", "fields": [KEY]})
    for n in range(5):
        write(index, [{"id": f"old-{n}"}])
    added = {"name": "tag", "type": "Edm.String"}
    several = {"name": "tags", "type": "Collection(Edm.String)"}
    catalog.put_index("long-lived", {"fields": [KEY, added, several]}, Conditions())
    for n in range(5):
        write(index, [{"id": f"new-{n}", "tag": f"t{n}", "tags": ["x"]}])
    assert len(index.view().parts) < 10  # some were merged
    older = [f"old-{n}" for n in range(5)]
    newer = [f"new-{n}" for n in range(5)]
    for read in (index, reopened().index("long-lived")):
        assert found(read, filter="tag eq null") == older
        assert found(read, filter="tag ge ''") == newer
        assert found(read, filter="tags/any(t: t eq 'x')") == newer
        assert found(read, filter="tags/all(t: t ne 'x')") == older
        assert found(read, orderby="tag desc,id") == [*reversed(newer), *older]
        assert found(read, search="t3") == ["new-3"]
