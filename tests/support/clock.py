"""Clients whose time a test controls."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from shared.azure.connections import Clients
from shared.core.runtime import Runtime


class SleepClock:
    """A monotonic clock on which time passes only while somebody sleeps, and then at once."""

    def __init__(self) -> None:
        self.time = 0.0

    def on(self, runtime: Runtime) -> Runtime:
        return replace(runtime, monotonic=lambda: self.time, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


def with_clock(clients: Clients, now: Callable[[], datetime]) -> Clients:
    """The same connections; only whoever gets these clients sees the other time."""
    return replace(clients, runtime=replace(clients.runtime, now=now))
