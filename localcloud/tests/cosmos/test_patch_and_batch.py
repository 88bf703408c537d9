"""Partial updates and transactional batches."""

from typing import Any

import pytest
from azure.cosmos import ContainerProxy, exceptions
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosHttpResponseError

from tests.cosmos.conftest import query


@pytest.fixture
def patched(container: ContainerProxy) -> Any:
    """A function that patches {"n": 1, "list": [1, 2, 3], "deep": {"x": 1}} and returns the result."""
    container.create_item({"id": "a", "pk": "p", "n": 1, "list": [1, 2, 3], "deep": {"x": 1}})

    def patch(*operations: dict[str, Any], **options: Any) -> dict[str, Any]:
        result = container.patch_item("a", "p", list(operations), **options)
        assert container.read_item("a", "p") == result
        return {name: value for name, value in result.items() if name[0] != "_" and name not in ("id", "pk")}

    return patch


PATCHES = [
    ({"op": "add", "path": "/new", "value": {"y": 2}}, {"new": {"y": 2}}),
    ({"op": "add", "path": "/list/1", "value": 9}, {"list": [1, 9, 2, 3]}),
    ({"op": "add", "path": "/list/-", "value": 9}, {"list": [1, 2, 3, 9]}),
    ({"op": "set", "path": "/list/1", "value": 9}, {"list": [1, 9, 3]}),
    ({"op": "set", "path": "/deep/y", "value": None}, {"deep": {"x": 1, "y": None}}),
    ({"op": "replace", "path": "/n", "value": "text"}, {"n": "text"}),
    ({"op": "remove", "path": "/list/0"}, {"list": [2, 3]}),
    ({"op": "remove", "path": "/deep/x"}, {"deep": {}}),
    ({"op": "incr", "path": "/n", "value": 2.5}, {"n": 3.5}),
    ({"op": "incr", "path": "/n", "value": -4}, {"n": -3}),
    ({"op": "incr", "path": "/counter", "value": 5}, {"counter": 5}),
    ({"op": "move", "from": "/n", "path": "/deep/n"}, {"deep": {"x": 1, "n": 1}, "n": ...}),
]


@pytest.mark.parametrize(("operation", "changes"), PATCHES)
def test_a_patch_operation_changes_only_its_path(
    patched: Any, operation: dict[str, Any], changes: dict[str, Any]
) -> None:
    expected = {"n": 1, "list": [1, 2, 3], "deep": {"x": 1}, **changes}
    assert patched(operation) == {name: value for name, value in expected.items() if value is not ...}


BAD_PATCHES = [
    {"op": "replace", "path": "/missing", "value": 1},
    {"op": "remove", "path": "/missing"},
    {"op": "incr", "path": "/list", "value": 1},
    {"op": "incr", "path": "/n", "value": "1"},
    {"op": "add", "path": "/list/7", "value": 1},
    {"op": "add", "path": "/a/b/c", "value": 1},
    {"op": "set", "path": "/id", "value": "b"},
    {"op": "set", "path": "/pk", "value": "q"},
    {"op": "set", "path": "/_ts", "value": 1},
    {"op": "move", "from": "/missing", "path": "/n"},
    {"op": "move", "from": "/deep", "path": "/deep/inside"},
    {"op": "set", "path": "no-slash", "value": 1},
    {"op": "invent", "path": "/n", "value": 1},
    {"op": "set", "path": "/n"},
]


@pytest.mark.parametrize("operation", BAD_PATCHES)
def test_a_patch_that_cannot_apply_changes_nothing(
    patched: Any, container: ContainerProxy, operation: dict[str, Any]
) -> None:
    before = container.read_item("a", "p")
    with pytest.raises(CosmosHttpResponseError) as error:
        patched({"op": "set", "path": "/n", "value": 99}, operation)
    assert error.value.status_code == 400
    assert container.read_item("a", "p") == before


def test_a_patch_takes_at_most_ten_operations(patched: Any) -> None:
    operations = [{"op": "incr", "path": "/n", "value": 1}] * 10
    assert patched(*operations)["n"] == 11
    with pytest.raises(CosmosHttpResponseError):
        patched(*operations, operations[0])


def test_a_patch_applies_only_where_its_condition_holds(patched: Any) -> None:
    change = {"op": "set", "path": "/done", "value": True}
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        patched(change, filter_predicate="from c where c.n > 1")
    assert (
        patched(change, filter_predicate="from c where c.n = 1 AND ARRAY_CONTAINS(c.list, 2)")["done"] is True
    )


def create(name: str, **more: Any) -> tuple[str, tuple[Any, ...]]:
    return ("create", ({"id": name, "pk": "p", **more},))


def test_a_batch_applies_all_its_operations_in_order(container: ContainerProxy) -> None:
    container.create_item({"id": "old", "pk": "p", "n": 1})
    results = container.execute_item_batch(
        [
            create("a"),
            ("upsert", ({"id": "b", "pk": "p"},)),
            ("read", ("a",)),
            ("replace", ("a", {"id": "a", "pk": "p", "v": 2})),
            ("patch", ("old", [{"op": "incr", "path": "/n", "value": 1}])),
            ("delete", ("b",)),
        ],
        "p",
    )
    assert [result["statusCode"] for result in results] == [201, 201, 200, 200, 200, 204]
    assert results[2]["resourceBody"]["id"] == "a"
    assert results[0]["eTag"]
    assert sorted(query(container, "SELECT VALUE c.id FROM c", key="p")) == ["a", "old"]
    assert container.read_item("old", "p")["n"] == 2


def test_a_batch_that_fails_leaves_no_trace(container: ContainerProxy) -> None:
    container.create_item({"id": "there", "pk": "p"})
    with pytest.raises(CosmosBatchOperationError) as error:
        container.execute_item_batch([create("a"), ("delete", ("there",)), create("a"), create("b")], "p")
    assert error.value.error_index == 2
    assert [result["statusCode"] for result in error.value.operation_responses] == [424, 424, 409, 424]
    assert query(container, "SELECT VALUE c.id FROM c", key="p") == ["there"]


def test_etags_guard_the_operations_of_a_batch(container: ContainerProxy) -> None:
    stale = container.create_item({"id": "a", "pk": "p"})["_etag"]
    container.upsert_item({"id": "a", "pk": "p", "v": 2})
    with pytest.raises(CosmosBatchOperationError) as error:
        container.execute_item_batch(
            [create("b"), ("replace", ("a", {"id": "a", "pk": "p"}), {"if_match_etag": stale})], "p"
        )
    assert error.value.operation_responses[1]["statusCode"] == 412
    assert container.read_item("a", "p")["v"] == 2


def test_a_batch_is_one_write_to_the_change_feed(container: ContainerProxy) -> None:
    container.execute_item_batch([create(str(number)) for number in range(100)], "p")
    changes = list(container.query_items_change_feed(start_time="Beginning", max_item_count=10))
    assert [change["id"] for change in changes] == [str(number) for number in range(100)]
    assert len({change["_lsn"] for change in changes}) == 1


def test_a_batch_is_bounded_and_keeps_to_one_partition(container: ContainerProxy) -> None:
    with pytest.raises(CosmosHttpResponseError) as error:
        container.execute_item_batch([create(str(number)) for number in range(101)], "p")
    assert error.value.status_code == 400
    with pytest.raises(CosmosBatchOperationError) as failed:
        container.execute_item_batch([("create", ({"id": "x", "pk": "another"},))], "p")
    assert failed.value.operation_responses[0]["statusCode"] == 400
    with pytest.raises(CosmosHttpResponseError) as error:
        container.execute_item_batch([create(str(number), text="x" * 200_000) for number in range(20)], "p")
    assert error.value.status_code == 413


def test_a_minimal_batch_response_has_each_status_and_only_read_bodies(
    container: ContainerProxy,
) -> None:
    operations: list[Any] = [("create", ({"id": "a", "pk": "p", "n": 1},)), ("read", ("a",))]
    created, read = container.execute_item_batch(operations, "p", no_response=True)
    assert created["statusCode"] == 201
    assert created.get("resourceBody") is None
    assert created["eTag"]
    assert read["resourceBody"]["n"] == 1
