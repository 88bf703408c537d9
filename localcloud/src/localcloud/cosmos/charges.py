"""A simple model of request units, and a rate limit.

A point read costs 1 RU for each started KB and a write 5 RU. A query costs 2 RU, 0.05 RU for each result and
1 RU for each 4 KB that it returns. In Azure, charges depend on the index and the data.
"""

from localcloud.clock import Clock
from localcloud.cosmos.errors import throttled

KB = 1024


def read_charge(size: int) -> float:
    return float(max(1, -(-size // KB)))


def write_charge(size: int) -> float:
    return 5.0 * max(1, -(-size // KB))


def query_charge(items: int, size: int) -> float:
    return round(2.0 + 0.05 * items + size / (4 * KB), 2)


class Budget:
    """A token bucket that refills at `rate` RU a second and holds one second's worth. Rate 0 turns it off."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self._clock = clock
        self.rate = rate
        self._balance = rate
        self._filled = clock.now()

    def admit(self) -> None:
        """Raise 429 while earlier requests have overdrawn the budget."""
        if not self.rate:
            return
        now = self._clock.now()
        self._balance = min(self.rate, self._balance + (now - self._filled) * self.rate)
        self._filled = now
        if self._balance < 0:
            raise throttled(max(1, int(-self._balance / self.rate * 1000) + 1))

    def spend(self, charge: float) -> None:
        self._balance -= charge
