from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from localcloud.testing import Faults
from tests.ops.environment import OpsPlace, namespace_with_short_locks, ops_place
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

QUEUES = ("parsing", "chunking")


@pytest.fixture(scope="module")
def short_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with namespace_with_short_locks(tmp_path_factory.mktemp("ops-bus")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(cloud: AppCloud, short_locks: RunningService) -> AsyncIterator[OpsPlace]:
    async with ops_place(cloud, short_locks) as ready:
        yield ready


@pytest_asyncio.fixture(loop_scope="module")
async def place(shared_place: OpsPlace) -> AsyncIterator[OpsPlace]:
    """A place whose queues are empty before and after the test."""
    yield OpsPlace(shared_place.bench.fresh(), shared_place.service, shared_place.senders)
    Faults(shared_place.service).plan()
    for queue in QUEUES:
        shared_place.empty(queue)
