"""Time as a dependency: engines take a clock, so that tests and simulations can own it."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the Unix epoch."""


class SystemClock:
    def now(self) -> float:
        return time.time()
