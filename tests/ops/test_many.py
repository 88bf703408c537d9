"""Ten thousand dead letters of five causes: grouped in seconds, and one group requeued at the requested rate."""

import time

import pytest

from shared.azure.servicebus.dead_letter_mover import OperationObserver
from shared.operations.audit import Operator
from shared.operations.deadletters.diagnosis import diagnosed_dead_letters, group_dead_letters
from shared.operations.deadletters.journal import REQUEUE
from shared.operations.deadletters.operations import request_operation, run_operation
from tests.ops.environment import OpsPlace, ops_place
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

CAUSES, EACH, RATE = 5, 2000, 250.0


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_ten_thousand_dead_letters_of_five_causes(cloud: AppCloud, bus_service: RunningService) -> None:
    async with ops_place(cloud, bus_service) as place:
        for number in range(CAUSES):
            await place.failed_events(EACH, f"Error{'ABCDE'[number]}", f"cause {'abcde'[number]}")
        started = time.perf_counter()
        groups = group_dead_letters(await diagnosed_dead_letters(place.clients, ["parsing"]))
        assert time.perf_counter() - started < 10
        assert [(group.count, group.queue) for group in groups] == [(EACH, "parsing")] * CAUSES
        await requeued_at_the_asked_rate(place, groups[2].id)
        left = group_dead_letters(await diagnosed_dead_letters(place.clients, ["parsing"]))
        assert {letter.id: letter.count for letter in left} == {
            group.id: EACH for group in groups if group.id != groups[2].id
        }


async def requeued_at_the_asked_rate(place: OpsPlace, group: str) -> None:
    moments: list[float] = []
    watch = OperationObserver(
        step=lambda name: moments.append(time.perf_counter()) if name == "acted" else None
    )
    chosen = {"queues": ["parsing"], "groups": [group]}
    audit = await request_operation(place.clients, REQUEUE, chosen, Operator("ada"), rate=RATE)
    ended = await run_operation(place.clients, audit.id, watch=watch)
    assert ended.counts == {"planned": EACH, "requeued": EACH, "gone": 0, "refused": 0, "left": 0}
    assert len(await place.waiting()) == EACH
    seconds = moments[-1] - moments[0]
    burst = EACH / len(moments)
    assert (EACH - burst) / seconds <= RATE * 1.05  # never faster than requested
    assert seconds < 3 * EACH / RATE  # and not much slower, on a busy machine
