"""Hours without one service."""

import random

from tests.simulation.chance import Outage, Plan
from tests.simulation.scenarios import Scenario


def outage_plan(scenario: Scenario, seed: int) -> Plan:
    """Return a plan without faults, except that one service is away for the scenario's hours."""
    draw = random.Random(f"outage-{seed}")
    start = draw.uniform(0.5, 12)
    return Plan(
        outages=(Outage(scenario.away, start, start + 3600 * scenario.away_hours),),
        concurrent_calls=draw.choice([1, 2, 16]),
        quiet_seconds=draw.choice([0, 5]),
        sdk_retries=draw.choice([0, 2]),
    )
