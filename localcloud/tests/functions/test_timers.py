"""Timers on a clock that the test controls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from localcloud.clock import Clock
from localcloud.functions.schedule import parse_schedule
from localcloud.functions.timers import Firing, ScheduleMonitor, ScheduleStatus, TimerListener, TimerRules
from tests.support.clock import ManualClock

NOON = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
HOURLY = "0 0 * * * *"
NEVER = datetime(1, 1, 1, tzinfo=UTC)


def at(hour: int, minute: int = 0) -> datetime:
    return NOON.replace(hour=hour, minute=minute)


def work(schedule: str = HOURLY, *, run_on_startup: bool = False, monitored: bool = True) -> TimerRules:
    return TimerRules(parse_schedule(schedule), run_on_startup=run_on_startup, monitored=monitored)


def test_a_timer_that_never_ran_waits_for_its_first_occurrence() -> None:
    timer = work()
    assert timer.start(at(12, 10), None) == Firing(at(13))
    assert timer.status == ScheduleStatus(NEVER, at(13), at(12, 10))


def test_after_each_firing_the_next_occurrence_follows() -> None:
    timer = work()
    firing = timer.start(at(12, 10), None)
    assert timer.finish(firing, at(13)) == Firing(at(14))
    assert timer.status == ScheduleStatus(at(13), at(14), at(13))


def test_missed_occurrences_fire_once_and_past_due() -> None:
    timer = work()
    firing = timer.start(at(16, 30), ScheduleStatus(at(12), at(13), at(12)))
    assert firing == Firing(at(16, 30), past_due=True)
    assert timer.finish(firing, at(16, 30)) == Firing(at(17))


def test_a_timer_that_is_not_past_due_keeps_its_recorded_schedule() -> None:
    assert work().start(at(12, 30), ScheduleStatus(at(12), at(13), at(12))) == Firing(at(13))


def test_a_timer_that_never_ran_but_was_recorded_can_be_past_due() -> None:
    firing = work().start(at(14, 30), ScheduleStatus(NEVER, at(13), at(12, 10)))
    assert firing.past_due


def test_a_changed_schedule_starts_again_instead_of_being_past_due() -> None:
    timer = work("0 0 9 * * *")
    firing = timer.start(at(16, 30), ScheduleStatus(at(12), at(13), at(12)))
    assert firing == Firing(at(9) + timedelta(days=1))


def test_without_a_monitor_nothing_is_past_due() -> None:
    timer = work(monitored=False)
    assert timer.start(at(16, 30), ScheduleStatus(at(12), at(13), at(12))) == Firing(at(17))


def test_run_on_startup_fires_immediately_but_past_due_takes_precedence() -> None:
    assert work(run_on_startup=True).start(at(12, 10), None) == Firing(at(12, 10), on_startup=True)
    firing = work(run_on_startup=True).start(at(16), ScheduleStatus(at(12), at(13), at(12)))
    assert firing == Firing(at(16), past_due=True)


def test_a_clock_that_runs_early_does_not_fire_the_same_occurrence_twice() -> None:
    timer = work()
    firing = timer.start(at(12, 10), None)
    assert timer.finish(firing, at(13) - timedelta(milliseconds=20)) == Firing(at(14))


def test_an_invocation_that_outlasts_the_interval_is_followed_at_once_and_only_once() -> None:
    timer = work("0 * * * * *")
    firing = timer.finish(timer.start(at(12), None), at(12, 1))
    assert firing == Firing(at(12, 2))  # in the past if the invocation took until 12:05
    assert timer.finish(firing, at(12, 5)) == Firing(at(12, 6))


class ManualWaiter:
    """Wakes waiters when the test advances the clock."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._moved = asyncio.Condition()

    async def wait_until(self, clock: Clock, moment: float) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: clock.now() >= moment)

    async def advance(self, seconds: float) -> None:
        async with self._moved:
            self._clock.advance(seconds)
            self._moved.notify_all()
        for _ in range(20):
            await asyncio.sleep(0)


class Fixture:
    def __init__(self, folder: Path, start: datetime = NOON) -> None:
        self.clock = ManualClock(start.timestamp())
        self.waiter = ManualWaiter(self.clock)
        self.monitor = ScheduleMonitor(folder)
        self.requests: list[Any] = []
        self.running = 0
        self.most_running = 0
        self.hold: asyncio.Event | None = None

    async def invoke(self, request: Any) -> None:
        self.requests.append(request)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        if self.hold is not None:
            await self.hold.wait()
        self.running -= 1

    @asynccontextmanager
    async def listening(self, timer: TimerRules) -> AsyncIterator[TimerListener]:
        listener = TimerListener("tick", timer, self.invoke, self.monitor, self.clock, self.waiter.wait_until)
        listener.start()
        await self.waiter.advance(0)
        yield listener
        await listener.close()


async def test_a_listener_fires_at_each_occurrence_and_records_it(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    async with fixture.listening(work()):
        await fixture.waiter.advance(3599)
        assert fixture.requests == []
        await fixture.waiter.advance(1)
        await fixture.waiter.advance(3600)
    assert [request.past_due for request in fixture.requests] == [False, False]
    assert fixture.requests[1].schedule_status["Last"].startswith("2026-03-11T13:00:00")
    assert fixture.requests[1].schedule_status["Next"].startswith("2026-03-11T14:00:00")
    assert fixture.monitor.read("tick") == ScheduleStatus(at(14), at(15), at(14))


async def test_a_listener_that_restarts_late_fires_past_due_once(tmp_path: Path) -> None:
    first = Fixture(tmp_path)
    async with first.listening(work()):
        await first.waiter.advance(3600)
    second = Fixture(tmp_path, at(18, 20))
    async with second.listening(work()):
        await second.waiter.advance(1)
        assert [request.past_due for request in second.requests] == [True]
        await second.waiter.advance(40 * 60)
    assert [request.past_due for request in second.requests] == [True, False]


async def test_one_invocation_runs_at_a_time(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    fixture.hold = asyncio.Event()
    async with fixture.listening(work("0 * * * * *")):
        for _ in range(5):
            await fixture.waiter.advance(60)
        assert len(fixture.requests) == 1
        fixture.hold.set()
        await fixture.waiter.advance(0)
        assert len(fixture.requests) == 2
        await fixture.waiter.advance(60)
    assert len(fixture.requests) == 3
    assert fixture.most_running == 1


async def test_stopping_lets_an_invocation_end_and_fires_no_more(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    fixture.hold = asyncio.Event()
    async with fixture.listening(work("0 * * * * *")) as listener:
        await fixture.waiter.advance(60)
        listener.stop()
        fixture.hold.set()
        await fixture.waiter.advance(60)
        assert (len(fixture.requests), fixture.running) == (1, 0)


async def test_a_schedule_that_is_not_monitored_leaves_no_record(tmp_path: Path) -> None:
    fixture = Fixture(tmp_path)
    async with fixture.listening(work("*/10 * * * * *", monitored=False)):
        await fixture.waiter.advance(10)
    assert len(fixture.requests) == 1
    assert fixture.requests[0].schedule_status == {}
    assert fixture.monitor.read("tick") is None


@pytest.mark.parametrize("text", ["", "{}", '{"Last": 5}', '{"Last": "x", "Next": "y", "LastUpdated": "z"}'])
def test_a_damaged_record_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "tick.json").write_text(text)
    assert ScheduleMonitor(tmp_path).read("tick") is None
