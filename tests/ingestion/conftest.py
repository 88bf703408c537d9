from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from localcloud.testing import Faults
from tests.ingestion.environment import Place, a_place
from tests.support.cloud import AppCloud
from tests.support.services import RunningService


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[Place]:
    settings = cloud.settings(bus_service, SOURCE_ALLOWED_HOSTS="127.0.0.1")
    async with a_place(settings) as ready:
        yield ready


@pytest.fixture
def place(shared_place: Place) -> Place:
    return shared_place.fresh()


@pytest.fixture(autouse=True)
def no_faults_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "shared_place" in request.fixturenames:
        for service in (request.getfixturevalue("cloud").cosmos, request.getfixturevalue("bus_service")):
            Faults(service).plan()
