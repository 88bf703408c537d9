"""The timers in a simulated month: the dev host's own listener, on a clock that jumps, with the app's schedules."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.capacity import DAY, MONTH, TIMER_RUNS
from localcloud.clock import Clock, ManualClock
from localcloud.functions.schedule import parse_schedule
from localcloud.functions.timers import ScheduleMonitor, TimerListener, TimerRules
from tests.support.functions import app_functions

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC).timestamp()


def schedules() -> dict[str, str]:
    """Of every timer that the app registers with the host."""
    triggers = {function.get_function_name(): function.get_trigger() for function in app_functions()}
    found = {name: trigger.get_dict_repr() for name, trigger in triggers.items()}
    return {name: binding["schedule"] for name, binding in found.items() if binding["type"] == "timerTrigger"}


async def runs_in(seconds: float, schedules: dict[str, str], folder: Path) -> Counter[str]:
    """How often the host invokes each, where nothing else happens."""
    runs: Counter[str] = Counter()

    async def time_of(name: str, schedule: str) -> None:
        clock, over = ManualClock(MIDNIGHT), asyncio.Event()

        async def jump(_clock: Clock, moment: float) -> None:
            if moment > MIDNIGHT + seconds:
                over.set()
                await asyncio.Event().wait()  # the time is over: the listener is closed here
            clock.advance(moment - clock.now())

        async def invoke(_argument: Any) -> None:
            runs[name] += 1

        rules = TimerRules(parse_schedule(schedule), run_on_startup=False, monitored=False)
        listener = TimerListener(name, rules, invoke, ScheduleMonitor(folder), clock, wait=jump)
        listener.start()
        await over.wait()
        await listener.close()

    await asyncio.gather(*(time_of(name, schedule) for name, schedule in schedules.items()))
    return runs


async def test_an_idle_month_runs_two_timers_and_as_often_as_the_estimate_says(tmp_path: Path) -> None:
    runs = await runs_in(MONTH, schedules(), tmp_path)

    assert runs == {"housekeeping": 8_760, "sweep": 2_920}
    assert sum(runs.values()) == TIMER_RUNS


async def test_the_count_would_notice_a_timer_that_runs_more_often(tmp_path: Path) -> None:
    """The seven timers of before: 277,430 runs."""
    before = {
        "deliveries": "*/15 * * * * *",
        "digests": "30 */5 * * * *",
        "integrity": "0 17 3 * * *",
        "queue_depths": "30 * * * * *",
        "removals": "0 */15 * * * *",
        "sources": "0 * * * * *",
        "sweep": "0 */15 * * * *",
    }
    runs = await runs_in(DAY, before, tmp_path)

    assert sum(runs.values()) * MONTH / DAY == pytest.approx(277_430, abs=1)
