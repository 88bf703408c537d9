"""The clock, sleep, randomness and new ids, which tests and the simulation replace."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random, SystemRandom


@dataclass(frozen=True)
class Runtime:
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Random = field(default_factory=SystemRandom)
    new_id: Callable[[], str] = field(default=lambda: str(uuid.uuid4()))
