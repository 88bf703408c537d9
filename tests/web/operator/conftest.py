import asyncio
from collections.abc import Iterator

import pytest

from shared.operations.provisioning import provision
from tests.support.cloud import AppCloud, servicebus
from tests.support.host import Host, running_host
from tests.support.services import ROOT, RunningService
from tests.web.site import environment

KEY = "correct horse battery staple"


@pytest.fixture(scope="session")
def bus_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A namespace for the app of all these files, because its start takes longer than their tests."""
    with servicebus(tmp_path_factory.mktemp("bus")) as running:
        yield running


@pytest.fixture(scope="session")
def environ(cloud: AppCloud, bus_service: RunningService) -> dict[str, str]:
    admin = bus_service.addresses["admin"]
    settings = cloud.settings(
        bus_service, OPERATOR_KEY=KEY, SERVICEBUS_ADMIN_ENDPOINT=admin, RATE_LIMITS="signin=0"
    )
    asyncio.run(provision(settings))
    return environment(cloud, bus_service, settings)


@pytest.fixture(scope="session")
def host(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with running_host(ROOT, tmp_path_factory.mktemp("operator") / "data", **environ) as running:
        yield running
