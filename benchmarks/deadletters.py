"""Benchmark of dead letters: `python -m benchmarks.deadletters [--count 10000] [--causes 5] [--rate 200]`.

Creates dead letters of several causes, groups them, and requeues a group at the given rate. The broker and
the database are separate processes. The benchmark checks the counts, and measures the rate from the first
batch to the last.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.azure.servicebus.dead_letter_mover import OperationObserver
from shared.operations.audit import Operator
from shared.operations.deadletters.diagnosis import diagnosed_dead_letters, group_dead_letters
from shared.operations.deadletters.journal import REQUEUE
from shared.operations.deadletters.operations import request_operation, run_operation
from tests.ops.environment import OpsPlace, ops_place
from tests.support.cloud import local_cloud, servicebus

LONGEST_GROUPING = 10.0


@dataclass
class Timed:
    wall: float
    cpu: float


async def timed(work: Callable[[], Any]) -> tuple[Any, Timed]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = await work()
    return result, Timed(time.perf_counter() - wall, time.process_time() - cpu)


async def measure(place: OpsPlace, count: int, causes: int, rate: float) -> None:
    letters = count // causes
    for number in range(causes):
        await place.failed_events(letters, f"Error{'ABCDEFGHIJ'[number]}", "no")
    print(f"{letters * causes} dead letters of {causes} causes")

    letters, grouping = await timed(lambda: diagnosed_dead_letters(place.clients, ["parsing"]))
    groups = group_dead_letters(letters)
    assert [group.count for group in groups] == [letters] * causes
    print(f"groups: {grouping.wall:.1f} s, {grouping.cpu:.1f} s CPU here (at most {LONGEST_GROUPING:.0f} s)")

    moments: list[float] = []

    def step(name: str) -> None:
        if name == "acted":
            moments.append(time.perf_counter())

    chosen = {"queues": ["parsing"], "groups": [groups[-1].id]}
    audit = await request_operation(place.clients, REQUEUE, chosen, Operator("benchmark"), rate=rate)
    ended, moving = await timed(
        lambda: run_operation(place.clients, audit.id, watch=OperationObserver(step=step))
    )
    assert ended.counts == {"planned": letters, "requeued": letters, "gone": 0, "refused": 0, "left": 0}
    assert len(await place.waiting()) == letters
    assert len(await place.dead()) == letters * (causes - 1)
    burst = letters / len(moments)
    reached = (letters - burst) / (moments[-1] - moments[0])
    print(f"requeue of {letters} at {rate:.0f}/s: {reached:.1f}/s, {moving.wall:.1f} s in all")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--causes", type=int, default=5)
    parser.add_argument("--rate", type=float, default=200.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, local_cloud() as cloud, servicebus(Path(folder)) as bus:
        async with ops_place(cloud, bus) as place:
            await measure(place, options.count, options.causes, options.rate)


if __name__ == "__main__":
    asyncio.run(main())
