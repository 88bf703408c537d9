"""Slow queries do not block other requests, and they end."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.cosmos import ContainerProxy, DatabaseProxy
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.queries import QUERY_SECONDS, Scope, SlowQueryError
from localcloud.cosmos.slow_queries import SlowQueryThread
from tests.support.clock import ManualClock

PRODUCT = "SELECT VALUE COUNT(1) FROM c JOIN x IN c.l JOIN y IN c.l JOIN z IN c.l"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def account(tmp_path: Path, clock: ManualClock) -> Iterator[Account]:
    account = Account(tmp_path, clock)
    yield account
    account.close()


async def test_a_query_that_was_stopped_on_the_loop_is_answered_from_the_thread(account: Account) -> None:
    account.create_database({"id": "d"}, Throughput())
    account.create_container("d", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, Throughput())
    container = account.container("d", "c")
    key = container.key.of_values(["p"])
    account.documents.create(container, key, {"id": "1", "pk": "p", "l": list(range(30))})
    work = account.queries.prepare(container, account.replica.view(container), Scope(key), PRODUCT, {})
    with pytest.raises(SlowQueryError):
        work(account.store.connection, 0)
    lane = SlowQueryThread(account.store)
    try:
        page = await lane.run(work, 60)
        assert page.items == ["27000"]
        with pytest.raises(SlowQueryError):
            await lane.run(work, 0)
    finally:
        lane.close()


async def test_a_change_feed_that_takes_long_is_read_in_the_thread(
    account: Account, clock: ManualClock
) -> None:
    account.create_database({"id": "d"}, Throughput())
    account.create_container("d", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, Throughput())
    container = account.container("d", "c")
    key = container.key.of_values(["p"])
    for number in range(5000):  # too old: the query must skip them all
        account.documents.create(container, key, {"id": str(number), "pk": "p"})
    clock.advance(10)
    account.documents.create(container, key, {"id": "last", "pk": "p"})
    since = int(clock.now()) - 5
    work = account.queries.changes(account.replica.view(container), Scope(range=0), 0, since, None)
    with pytest.raises(SlowQueryError):
        work(account.store.connection, 0)
    lane = SlowQueryThread(account.store)
    try:
        page = await lane.run(work, 60)
    finally:
        lane.close()
    assert [json.loads(item)["id"] for item in page.items] == ["last"]
    assert page.reached == 5001


async def test_others_are_served_while_a_query_works(
    container: ContainerProxy, database: DatabaseProxy, async_client: AsyncCosmosClient
) -> None:
    container.create_item({"id": "1", "pk": "p", "l": list(range(1000))})  # the query has a billion rows
    there = async_client.get_database_client(database.id).get_container_client(container.id)
    await there.read_item("1", "p")

    async def work() -> list[Any]:
        return [count async for count in there.query_items(PRODUCT, partition_key="p")]

    query = asyncio.create_task(work())
    try:
        # The duration of the query, which must not block the reads.
        async with asyncio.timeout(QUERY_SECONDS):
            for _ in range(10):
                await there.read_item("1", "p")
                await asyncio.sleep(0.05)
        assert not query.done()
    finally:
        query.cancel()
        await asyncio.gather(query, return_exceptions=True)
