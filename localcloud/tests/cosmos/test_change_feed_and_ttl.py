"""The change feed, and documents that expire."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.cosmos import ContainerProxy, DatabaseProxy, PartitionKey, exceptions

from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.queries import Scope
from tests.cosmos.conftest import MakeContainer, engine_page, query
from tests.support.clock import ManualClock


def ids(changes: Any) -> list[str]:
    return [change["id"] for change in changes]


def test_the_feed_gives_the_latest_version_of_each_document_once(container: ContainerProxy) -> None:
    for number in range(9):
        container.create_item({"id": str(number), "pk": str(number)})
    container.upsert_item({"id": "0", "pk": "0", "v": 2})
    container.delete_item("1", "1")
    changes = list(container.query_items_change_feed(start_time="Beginning"))
    assert sorted(ids(changes)) == [str(number) for number in range(9) if number != 1]
    assert next(change for change in changes if change["id"] == "0")["v"] == 2


def test_the_feed_from_now_on_has_only_later_changes(container: ContainerProxy) -> None:
    container.create_item({"id": "before", "pk": "p"})
    feed = container.query_items_change_feed(start_time="Now")
    assert list(feed) == []
    token = container.client_connection.last_response_headers["etag"]
    container.create_item({"id": "after", "pk": "p"})
    assert ids(container.query_items_change_feed(continuation=token)) == ["after"]


def test_a_continuation_resumes_at_the_end_of_the_last_page(container: ContainerProxy) -> None:
    for number in range(20):
        container.create_item({"id": str(number), "pk": str(number % 4)})
    pages = [
        ids(page)
        for page in container.query_items_change_feed(start_time="Beginning", max_item_count=3).by_page()
    ]
    token = container.client_connection.last_response_headers["etag"]
    assert max(map(len, pages)) == 3
    assert sorted(name for page in pages for name in page) == sorted(map(str, range(20)))
    container.create_item({"id": "new", "pk": "9"})
    assert ids(container.query_items_change_feed(continuation=token)) == ["new"]


def test_the_feed_of_one_partition_key_leaves_out_the_others(container: ContainerProxy) -> None:
    for number in range(10):
        container.create_item({"id": str(number), "pk": str(number % 2)})
    assert ids(container.query_items_change_feed(partition_key="1", start_time="Beginning")) == list("13579")


def test_the_feed_from_a_time_omits_older_changes(container: ContainerProxy) -> None:
    container.create_item({"id": "a", "pk": "p"})
    hour = timedelta(hours=1)
    assert ids(container.query_items_change_feed(start_time=datetime.now(UTC) - hour)) == ["a"]
    assert ids(container.query_items_change_feed(start_time=datetime.now(UTC) + hour)) == []


def test_each_feed_range_has_a_feed_of_its_own(container: ContainerProxy) -> None:
    for number in range(30):
        container.create_item({"id": str(number), "pk": str(number)})
    parts = [
        ids(container.query_items_change_feed(feed_range=part, start_time="Beginning"))
        for part in container.read_feed_ranges()
    ]
    assert all(parts)
    assert sorted(name for part in parts for name in part) == sorted(map(str, range(30)))


def eventually(condition: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.05)


def test_documents_end_after_the_containers_ttl_or_their_own(make_container: MakeContainer) -> None:
    container = make_container(default_ttl=1)
    container.create_item({"id": "default", "pk": "p"})
    container.create_item({"id": "own", "pk": "p", "ttl": 3600})
    container.create_item({"id": "never", "pk": "p", "ttl": -1})
    eventually(lambda: sorted(query(container, "SELECT VALUE c.id FROM c", key="p")) == ["never", "own"])
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("default", "p")
    container.create_item({"id": "default", "pk": "p"})


def test_a_documents_ttl_counts_only_where_the_container_has_ttl_on(container: ContainerProxy) -> None:
    container.create_item({"id": "a", "pk": "p", "ttl": 1})
    created = container.read_item("a", "p")["_ts"]
    eventually(lambda: time.time() > created + 2.1)
    assert container.read_item("a", "p")["id"] == "a"


@pytest.mark.parametrize("ttl", [0, -2, "5", 1.5, True, None])
def test_a_ttl_that_makes_no_sense_is_refused(container: ContainerProxy, ttl: Any) -> None:
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        container.create_item({"id": "a", "pk": "p", "ttl": ttl})
    assert error.value.status_code == 400


def test_changing_the_default_ttl_changes_the_expiry_of_existing_documents(
    database: DatabaseProxy, make_container: MakeContainer
) -> None:
    container = make_container(default_ttl=-1)
    container.create_item({"id": "a", "pk": "p"})
    database.replace_container(container, PartitionKey("/pk"), default_ttl=1)
    eventually(lambda: query(container, "SELECT * FROM c", key="p") == [])


def test_an_expired_document_leaves_the_feed_and_its_id_is_free() -> None:
    """Use the engine, because the test controls its clock."""
    clock = ManualClock()
    account = Account(None, clock)
    account.create_database({"id": "d"}, Throughput())
    definition = {"id": "c", "partitionKey": {"paths": ["/pk"]}, "defaultTtl": 100,
                  "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}}  # fmt: skip
    account.create_container("d", definition, Throughput())
    container = account.container("d", "c")
    key = container.key.of_values(["p"])
    account.documents.create(container, key, {"id": "a", "pk": "p", "u": 1})
    clock.advance(99)
    assert account.documents.read(container, account.replica.view(container), "a", key)
    clock.advance(2)
    view = account.replica.view(container)
    changes = account.queries.changes(view, Scope(), 0, None, None)
    assert changes(account.store.connection, 5).items == []
    assert engine_page(account, container, Scope(), "SELECT * FROM c").items == []
    account.documents.create(container, key, {"id": "a", "pk": "p", "u": 1})
    clock.advance(101)
    account.documents.create(container, key, {"id": "b", "pk": "p", "u": 1})
    account.close()
