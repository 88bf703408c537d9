"""Half an hour without one service."""

import random

from tests.simulation.chance import Outage, Plan

OUTAGE_SECONDS = 1800.0


def outage_plan(service: str, seed: int) -> Plan:
    """One service is away for half an hour, and nothing else goes wrong."""
    draw = random.Random(f"outage-{seed}")
    start = draw.uniform(0.5, 12)
    return Plan(
        outages=(Outage(service, start, start + OUTAGE_SECONDS),),
        concurrent_calls=draw.choice([1, 2, 16]),
        quiet_seconds=draw.choice([0, 5]),
        sdk_retries=draw.choice([0, 2]),
    )
