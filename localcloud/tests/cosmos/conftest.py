"""A Cosmos DB server for the tests of a worker, and its clients."""

import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest
from azure.cosmos import ContainerProxy, CosmosClient, DatabaseProxy, PartitionKey
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from localcloud.cosmos.account import Account
from localcloud.cosmos.auth import EMULATOR_KEY
from localcloud.cosmos.container import Container
from localcloud.cosmos.queries import Page, Scope
from tests.support.services import RunningService, running_service

RANGES = 3


@pytest.fixture(scope="session")
def cosmos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    data = tmp_path_factory.mktemp("cosmos") / "data"
    with running_service("cosmos", "--ranges", str(RANGES), "--faults", data=data) as service:
        yield service


@pytest.fixture(scope="session")
def client(cosmos: RunningService) -> Iterator[CosmosClient]:
    with CosmosClient(cosmos.addresses["endpoint"], EMULATOR_KEY) as client:
        yield client


@pytest.fixture(scope="session")
def database(client: CosmosClient) -> DatabaseProxy:
    return client.create_database(f"db-{uuid.uuid4().hex[:8]}")


MakeContainer = Callable[..., ContainerProxy]


@pytest.fixture
def make_container(database: DatabaseProxy) -> Iterator[MakeContainer]:
    made: list[str] = []

    def make(path: str | list[str] = "/pk", **options: Any) -> ContainerProxy:
        made.append(f"c-{uuid.uuid4().hex[:12]}")
        key: Any = PartitionKey(path)
        container: ContainerProxy = database.create_container(made[-1], key, **options)
        return container

    yield make
    for name in made:
        database.delete_container(name)


@pytest.fixture
def container(make_container: MakeContainer) -> ContainerProxy:
    return make_container()


@pytest.fixture
async def async_client(cosmos: RunningService) -> AsyncIterator[AsyncCosmosClient]:
    async with AsyncCosmosClient(cosmos.addresses["endpoint"], EMULATOR_KEY) as client:
        yield client


def control(service: RunningService, path: str, method: str = "GET", value: Any = None) -> Any:
    """Call a control path of the server."""
    body = None if value is None else json.dumps(value).encode()
    request = Request(f"{service.addresses['endpoint']}/_localcloud/{path}", body, method=method)
    with urlopen(request, timeout=10) as response:
        return json.load(response)


@pytest.fixture
def plan_faults(cosmos: RunningService) -> Iterator[Callable[..., None]]:
    yield lambda *faults: control(cosmos, "faults", "PUT", list(faults))
    control(cosmos, "faults", "DELETE")


def engine_page(account: Account, container: Container, scope: Scope, text: str, **options: Any) -> Page:
    """Return a page of a query, without HTTP."""
    parameters = options.pop("parameters", {})
    work = account.queries.prepare(
        container, account.replica.view(container), scope, text, parameters, **options
    )
    return work(account.store.connection, account.queries.query_seconds)


def query(container: ContainerProxy, text: str, *, key: Any = None, **parameters: Any) -> list[Any]:
    """Return all results of a query, over all partitions unless a key is given."""
    scope: dict[str, Any] = {"enable_cross_partition_query": True} if key is None else {"partition_key": key}
    values = [{"name": f"@{name}", "value": value} for name, value in parameters.items()]
    return list(container.query_items(text, parameters=values, **scope))
