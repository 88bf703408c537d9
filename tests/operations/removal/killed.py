"""A deletion that is killed at a named step, or at the nth of its requests ("request"), for the tests."""

from datetime import datetime
from typing import Any

import aiohttp

from shared.azure.connections import Clients
from shared.operations.removal.run import RemovalRun, run_removal
from shared.settings.app import load_settings
from tests.operations.removal.finished import Clock
from tests.support.clock import with_clock
from tests.support.kills import Step, serve


def tell_requests(step: Step) -> None:
    """Report each request before it is sent."""
    send = aiohttp.ClientSession._request

    async def telling(self: aiohttp.ClientSession, *arguments: Any, **options: Any) -> aiohttp.ClientResponse:
        step("request")
        return await send(self, *arguments, **options)

    aiohttp.ClientSession._request = telling  # type: ignore[method-assign]


async def operate(asked: dict[str, Any], step: Step) -> None:
    clients = await Clients.connect(load_settings(asked["settings"]))
    tell_requests(step)
    try:
        clock = Clock(datetime.fromisoformat(asked["now"]))
        await run_removal(asked["removal"], with_clock(clients, clock), RemovalRun(progress=step))
    finally:
        await clients.close()


if __name__ == "__main__":
    serve(operate)
