"""A token bucket: operations on dead letters never exceed the rate that the operator asked for."""

from collections.abc import Callable

from shared.core.runtime import Runtime

BURST_SECONDS = 0.25  # a larger rate is sent in bursts of this length, so that batches pay off
LARGEST_BURST = 100
LONGEST_SLEEP = 0.5  # then it looks whether it was stopped


class RateLimiter:
    """`rate` a second; None is as fast as it goes."""

    def __init__(
        self,
        rate: float | None,
        runtime: Runtime,
        *,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        if rate is not None and rate <= 0:
            raise ValueError("a rate is more than 0")
        self.rate = rate
        self._runtime = runtime
        self._stopped = stopped
        self.burst = LARGEST_BURST if rate is None else max(1, min(LARGEST_BURST, int(rate * BURST_SECONDS)))
        self._tokens = float(self.burst)
        self._filled = runtime.monotonic()

    async def take(self, wanted: int) -> int:
        """Wait until some may go; how many, from one up to `wanted`. 0 when the operation was stopped."""
        if self.rate is None:
            return min(wanted, self.burst)
        share = min(wanted, self.burst)
        self._fill(self.rate)
        while self._tokens < share:
            if self._stopped():
                return 0
            await self._runtime.sleep(min(LONGEST_SLEEP, (share - self._tokens) / self.rate))
            self._fill(self.rate)
        self._tokens -= share
        return share

    def give_back(self, count: int) -> None:
        """What was not used after all."""
        self._tokens = min(float(self.burst), self._tokens + count)

    def _fill(self, rate: float) -> None:
        now = self._runtime.monotonic()
        self._tokens = min(float(self.burst), self._tokens + (now - self._filled) * rate)
        self._filled = now
