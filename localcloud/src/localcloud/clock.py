"""Time as a dependency: engines take a clock, which tests and simulations can control."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Return the seconds since the Unix epoch."""


class SystemClock:
    def now(self) -> float:
        return time.time()
