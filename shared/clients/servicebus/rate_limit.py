"""How fast: a token bucket that never lets more through than was asked for."""

import asyncio
import time
from collections.abc import Awaitable, Callable

__all__ = ["RateLimiter"]

BURST_SECONDS = 0.25  # a larger rate is sent in bursts of this length, so that batches pay off
LARGEST_BURST = 100
LONGEST_SLEEP = 0.5  # then it looks whether it was stopped


class RateLimiter:
    """`rate` a second; None is as fast as it goes."""

    def __init__(
        self,
        rate: float | None,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        if rate is not None and rate <= 0:
            raise ValueError("a rate is more than 0")
        self.rate = rate
        self._now = now
        self._sleep = sleep
        self._stopped = stopped
        self.burst = LARGEST_BURST if rate is None else max(1, min(LARGEST_BURST, int(rate * BURST_SECONDS)))
        self._tokens = float(self.burst)
        self._filled = now()

    async def take(self, wanted: int) -> int:
        """Wait for leave; how many may go now, from one up to what is wanted. None when it was stopped."""
        if self.rate is None:
            return min(wanted, self.burst)
        asked = min(wanted, self.burst)
        self._fill(self.rate)
        while self._tokens < asked:
            if self._stopped():
                return 0
            await self._sleep(min(LONGEST_SLEEP, (asked - self._tokens) / self.rate))
            self._fill(self.rate)
        self._tokens -= asked
        return asked

    def give_back(self, count: int) -> None:
        """What was not used after all."""
        self._tokens = min(float(self.burst), self._tokens + count)

    def _fill(self, rate: float) -> None:
        now = self._now()
        self._tokens = min(float(self.burst), self._tokens + (now - self._filled) * rate)
        self._filled = now
