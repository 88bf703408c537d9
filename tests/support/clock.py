"""Clients whose time a test controls."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from shared.azure.connections import Clients
from shared.core.runtime import Runtime


class SleepClock:
    """A monotonic clock whose time passes only during sleeps, and then immediately."""

    def __init__(self) -> None:
        self.time = 0.0

    def on(self, runtime: Runtime) -> Runtime:
        return replace(runtime, monotonic=lambda: self.time, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


def with_clock(clients: Clients, now: Callable[[], datetime]) -> Clients:
    """Return the same connections with another time. Other clients keep their time."""
    return replace(clients, runtime=replace(clients.runtime, now=now))
