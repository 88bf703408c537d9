from collections.abc import AsyncIterator

import pytest

from shared.azure.connections import Clients
from shared.azure.cosmos.store import Store
from tests.support.cosmos_engine import clients_on_engine


@pytest.fixture
async def engine_clients() -> AsyncIterator[Clients]:
    """Clients with only a store, on an empty database in this process."""
    async with clients_on_engine() as clients:
        yield clients


@pytest.fixture
def store(engine_clients: Clients) -> Store:
    return engine_clients.store
