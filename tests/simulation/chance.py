"""The decisions of a seed: possible faults, their frequency, and the duration of every step.

Each seed enables a subset of the faults (swarm testing), so a fault that hides another one is absent from
half of the runs.
"""

import random
from dataclasses import dataclass, field, replace
from enum import StrEnum


class Fault(StrEnum):
    REFUSE = "refuse"  # 503, or server busy
    THROTTLE = "throttle"  # 429 with Retry-After
    LOSE_REQUEST = "lose_request"
    LOSE_ANSWER = "lose_answer"  # the effect happened, the caller gets an error
    SLOW = "slow"
    PAUSE = "pause"  # the whole host stops for a while, and leases and locks expire
    CRASH_BEFORE = "crash_before"
    CRASH_AFTER = "crash_after"
    LOSE_LOCK = "lose_lock"  # the broker gives the message to another host during the work
    REDELIVER = "redeliver"  # the same, without counting a failed delivery
    REORDER = "reorder"
    LAG = "lag"  # replicas of Cosmos DB lag
    INDEX_DELAY = "index_delay"  # the search index shows stored documents later
    OUTAGE = "outage"  # a service is down for a long time
    SKEW = "skew"  # the hosts' clocks differ
    RESTART = "restart"  # a service restarts: the broker forgets all locks


ON_CALLS = (
    Fault.REFUSE,
    Fault.THROTTLE,
    Fault.LOSE_REQUEST,
    Fault.LOSE_ANSWER,
    Fault.SLOW,
    Fault.PAUSE,
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
)
SERVICES = ("cosmos", "bus", "search", "blobs")
MOST_SKEW = 10.0
SLOW_SECONDS = 3.0
SLOW_DAYS = 0.04  # share of the runs


@dataclass(frozen=True)
class Outage:
    service: str
    start: float
    end: float


@dataclass(frozen=True)
class Plan:
    """The fixed settings of a run."""

    faults: frozenset[Fault] = frozenset()
    rate: float = 0.0  # share of calls that a fault hits
    budget: int = 0  # number of faults
    lag: float = 0.0
    index_delay: float = 0.0
    outages: tuple[Outage, ...] = ()
    restarts: tuple[Outage, ...] = ()
    skews: tuple[float, ...] = (0.0, 0.0)
    concurrent_calls: int = 16
    quiet_seconds: int = 0
    sdk_retries: int = 0
    slow_calls: float = 0.03  # share of calls with a way that takes up to so many seconds:
    slow_seconds: float = SLOW_SECONDS
    hosts: int = 2


def calm_plan() -> Plan:
    return Plan(hosts=1, slow_calls=0.0)


def plan_of(seed: int) -> Plan:
    draw = random.Random(f"plan-{seed}")
    faults = frozenset(fault for fault in Fault if draw.random() < 0.5)
    return Plan(
        faults=faults,
        rate=draw.choice([0.01, 0.03, 0.06, 0.12]),
        budget=draw.randint(3, 14),
        lag=draw.choice([0.5, 5.0, 30.0]) if Fault.LAG in faults and draw.random() < 0.6 else 0.0,
        index_delay=draw.choice([1.0, 20.0]) if Fault.INDEX_DELAY in faults else 0.0,
        outages=_outages(draw) if Fault.OUTAGE in faults and draw.random() < 0.4 else (),
        restarts=_restarts(draw) if Fault.RESTART in faults else (),
        skews=tuple(draw.uniform(-MOST_SKEW, MOST_SKEW) if Fault.SKEW in faults else 0.0 for _ in range(2)),
        concurrent_calls=draw.choice([1, 2, 16]),
        quiet_seconds=draw.choice([0, 5]),
        sdk_retries=draw.choice([0, 2]),
        slow_calls=draw.choice([0.0, 0.03, 0.1]),
    )


def later_plan_of(seed: int) -> Plan:
    """Return the plan of a run that begins within a scenario: fewer faults, because fewer calls are left."""
    draw = random.Random(f"later-{seed}")
    plan = replace(plan_of(seed), budget=draw.choice([1, 2, 3, 4, 6, 9]), rate=draw.choice([0.02, 0.05, 0.1]))
    return slow_day(plan) if draw.random() < SLOW_DAYS else plan


def last_plan_of(seed: int) -> Plan:
    """Return the plan of a run that begins near the end: a few faults, at a high rate."""
    draw = random.Random(f"last-{seed}")
    plan = later_plan_of(seed)
    return replace(plan, budget=draw.choice([1, 2, 3]), rate=draw.choice([0.03, 0.06, 0.15]))


def slow_day(plan: Plan) -> Plan:
    """Return a plan with calls that mostly take seconds, so that leases and locks expire."""
    return replace(plan, slow_calls=0.8, slow_seconds=12.0)


def _outages(draw: random.Random) -> tuple[Outage, ...]:
    start = draw.uniform(0.5, 12)
    return (Outage(draw.choice(SERVICES), start, start + draw.choice([60, 600, 1500])),)


def _restarts(draw: random.Random) -> tuple[Outage, ...]:
    starts = [draw.uniform(0.5, 15) for _ in range(draw.randint(1, 2))]
    return tuple(Outage(draw.choice(SERVICES), start, start + draw.uniform(0.5, 4)) for start in starts)


@dataclass
class Chance:
    """The run's source of delays and faults."""

    plan: Plan
    seed: int
    spent: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = random.Random(f"run-{self.seed}")
        self.left = self.plan.budget

    def stop(self) -> None:
        """Stop all new faults."""
        self.left = 0

    def leg(self) -> float:
        """Return the seconds of one way to a service: mostly milliseconds, sometimes seconds."""
        share = self.draw.random()
        if share < self.plan.slow_calls:
            return 0.05 + self.plan.slow_seconds * share / self.plan.slow_calls
        return 0.0005 + 0.004 * share

    def think(self) -> float:
        return 0.0005 + 0.003 * self.draw.random()

    def strike(self, *faults: Fault, rate: float | None = None) -> Fault | None:
        """Return the fault that hits now, or None."""
        if self.left <= 0 or self.draw.random() >= (self.plan.rate if rate is None else rate):
            return None
        enabled = [fault for fault in faults if fault in self.plan.faults]
        if not enabled:
            return None
        fault = enabled[int(self.draw.random() * len(enabled))]
        self.left -= 1
        self.spent[fault] = self.spent.get(fault, 0) + 1
        return fault
