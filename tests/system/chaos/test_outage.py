"""Each service is away for longer than all retries while archives arrive, and everything recovers by itself.

The settings shorten the waits (`world.QUICK`). tests/simulation covers half an hour of virtual time.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from shared.azure.connections import Clients
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.operations.oversight.status import read_status
from tests.support.cloud import wait_for
from tests.system.chaos.test_chaos import PASSING, ask, is_complete, upload
from tests.system.chaos.world import HOSTS, World, world

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    # If a connection breaks while it opens, the Service Bus SDK does not close its socket.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model"),
]
AWAY_SECONDS = 20.0  # a stage gives up after two seconds, and the sweep runs every twelve
PATIENCE_SECONDS = 300
# The housekeeping records consumers only every five minutes, so none is recorded by then.
NOT_ASKED = {"no_consumer"}
# The status needs both, so the test waits for a refused upload instead.
NOBODY_TO_ASK = {"cosmos", "servicebus"}
# On a busy machine a slow answer is not a failure, and a sweep may start late.
PATIENT: dict[str, float] = {"REQUEST_SECONDS": 20.0, "RETRY_JOB_INTERVAL_SECONDS": 60}


def service_away(name: str) -> Callable[[World], AbstractContextManager[None]]:
    @contextmanager
    def away(app: World) -> Iterator[None]:
        app.kill(name)
        yield
        app.start(name)

    return away


@contextmanager
def model_away(app: World) -> Iterator[None]:
    """Remove the model's folder, and restart the hosts without it."""
    assert app.model is not None
    app.model.unlink()
    for host in HOSTS:
        app.kill(host)
        app.start(host)
    yield
    app.model.symlink_to(DEFAULT_FOLDER)


OUTAGES: dict[str, Callable[[World], AbstractContextManager[None]]] = {
    "cosmos": service_away("cosmos"),
    "servicebus": service_away("servicebus"),
    "search": service_away("search"),
    "storage": service_away("storage"),
    "model": model_away,
}


async def troubles(app: World) -> list[str]:
    clients = await Clients.connect(app.settings().model_copy(update=PATIENT))
    try:
        status = await read_status(clients, operations=1)
        said = [f"{trouble.kind}: {trouble.says}" for trouble in status.troubles]
        return [*said, *(f"not asked: {part}" for part in status.unanswered)]
    finally:
        await clients.close()


def ringing(app: World) -> list[str]:
    return [one for one in asyncio.run(troubles(app)) if one.partition(":")[0] not in NOT_ASKED]


@pytest.mark.parametrize("away", OUTAGES)
def test_after_an_outage_everything_completes_and_nothing_rings(away: str, tmp_path: Path) -> None:
    (tmp_path / "model").symlink_to(DEFAULT_FOLDER)
    with world(tmp_path, model=tmp_path / "model") as app:
        before = [upload(app, "list", f"a{n}.mbox", PASSING.format(f"a{n}").encode()) for n in range(3)]
        content = PASSING.format("meanwhile").encode()
        address = f"{app.app()}/api/archives?source=list&filename=meanwhile.mbox"
        refused, until = 0, time.monotonic() + AWAY_SECONDS
        with OUTAGES[away](app):
            while time.monotonic() < until:  # a client that keeps trying
                refused += ask("POST", address, content) is None
                time.sleep(1)
            rang = [] if away in NOBODY_TO_ASK else ringing(app)
        assert rang or refused, "nobody has noticed the outage"
        archives = [*before, upload(app, "list", "meanwhile.mbox", content)]
        for archive in archives:
            wait_for(lambda a=archive: is_complete(app, a), seconds=PATIENCE_SECONDS, what=archive)
        wait_for(lambda: not ringing(app), seconds=PATIENCE_SECONDS, what="silence")
        assert ask("GET", f"{app.app()}/api/health") is not None
