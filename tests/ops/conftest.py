from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.ops.environment import OpsPlace, namespace_with_short_locks, ops_place
from tests.support.cloud import LocalCloud, plan_faults
from tests.support.services import RunningService

QUEUES = ("parsing", "chunking")


@pytest.fixture(scope="module")
def short_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with namespace_with_short_locks(tmp_path_factory.mktemp("ops-bus")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(cloud: LocalCloud, short_locks: RunningService) -> AsyncIterator[OpsPlace]:
    async with ops_place(cloud, short_locks) as ready:
        yield ready


@pytest_asyncio.fixture(loop_scope="module")
async def place(shared_place: OpsPlace) -> AsyncIterator[OpsPlace]:
    """Its queues are empty before and after."""
    yield OpsPlace(shared_place.bench.fresh(), shared_place.service, shared_place.senders)
    plan_faults(shared_place.service)
    for queue in QUEUES:
        await shared_place.empty(queue)
