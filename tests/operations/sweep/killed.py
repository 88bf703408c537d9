"""A sweep that is killed at a named step, for the tests."""

from datetime import datetime
from typing import Any

from shared.azure.connections import Clients
from shared.operations.sweep import Options, sweep
from shared.settings.app import load_settings
from tests.support.clock import with_clock
from tests.support.kills import Step, serve


async def operate(asked: dict[str, Any], step: Step) -> None:
    now = datetime.fromisoformat(asked["now"])
    clients = await Clients.connect(load_settings(asked["settings"]))
    try:
        await sweep(with_clock(clients, lambda: now), Options(progress=step))
    finally:
        await clients.close()


if __name__ == "__main__":
    serve(operate)
