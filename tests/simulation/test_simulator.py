"""The simulation itself: the same seed gives the same run, and planted errors are found."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from tests.simulation.chance import Fault, calm_plan, plan_of
from tests.simulation.loop import HOST, QuietError, VirtualLoop
from tests.simulation.mutations import MUTATIONS
from tests.simulation.runs import DEFAULT, LAST, LATER, scenario_of
from tests.simulation.test_simulation import simulate

pytestmark = pytest.mark.timeout(900)  # each test starts its own processes

LISTED = {
    "flag-before-vector", "complete-first", "version-unchecked", "no-todo", "no-current-summary-check",
    "create-overwrites", "attempts-per-delivery", "no-sweep", "sweep-uncounted", "no-etag",
    "done-before-announcing", "claim-for-ever", "no-session-token", "flag-unconditional", "label-not-passed-on",
    "duplicate-window-too-short", "retry-number-ignored", "look-at-replica", "no-tombstone",
}  # fmt: skip


def test_each_safety_of_the_list_can_be_removed() -> None:
    assert set(MUTATIONS) >= LISTED


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [name for name in MUTATIONS if not name.startswith("control")])
def test_a_safety_that_is_taken_away_is_missed_within_two_thousand_seeds(name: str) -> None:
    done = simulate("1-2000", "--remove", name)
    assert f"{name} was caught" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MUTATIONS if name.startswith("control")])
def test_the_plans_by_themselves_break_nothing(name: str) -> None:
    done = simulate("1-100", "--remove", name)
    assert f"{name} was NOT caught" in done.stdout, done.stdout + done.stderr


def test_without_a_safety_a_seed_fails_and_says_how_to_replay_it() -> None:
    done = simulate("1-200", "--remove", "no-sweep")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no-sweep was caught" in done.stdout
    assert re.search(
        r"replay: python -m tests.simulation \d+ --scenario [\w.]+ --remove no-sweep", done.stdout
    )


def test_seeds_differ_in_their_faults_and_the_calm_has_none() -> None:
    plans = [plan_of(seed) for seed in range(200)]
    assert len({plan.faults for plan in plans}) > 150
    assert set().union(*(plan.faults for plan in plans)) == set(Fault)
    assert not calm_plan().faults


def test_most_seeds_begin_within_a_scenario_and_some_with_it() -> None:
    names = {scenario_of(seed) for seed in range(2000)}
    assert names == {name + end for name in DEFAULT for end in ("", LATER, LAST)}


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    made = VirtualLoop(lambda: 0.0)
    yield made
    made.close()


class Process:
    def __init__(self) -> None:
        self.alive, self.paused = True, False
        self.backlog: list[object] = []


def test_time_jumps_and_a_crashed_host_runs_no_finally(loop: VirtualLoop) -> None:
    process, seen = Process(), list[str]()

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            seen.append("finally")

    async def main() -> None:
        HOST.set(process)
        task = loop.create_task(work())
        HOST.set(None)
        await asyncio.sleep(10)
        process.alive = False
        await asyncio.sleep(7200)
        seen.append(f"{loop.time():.0f} {task.done()}")

    loop.run_until_complete(main())
    assert seen == ["7210 False"]


def test_a_paused_host_goes_on_where_it_was(loop: VirtualLoop) -> None:
    process, seen = Process(), list[float]()

    async def work() -> None:
        for _ in range(3):
            await asyncio.sleep(1)
            seen.append(loop.time())

    async def main() -> None:
        HOST.set(process)
        task = loop.create_task(work())
        HOST.set(None)
        await asyncio.sleep(1.5)
        process.paused = True
        await asyncio.sleep(100)
        loop.resume(process)
        await task

    loop.run_until_complete(main())
    assert seen == [1.0, 101.5, 102.5]


def test_a_loop_in_which_nothing_can_happen_any_more_ends(loop: VirtualLoop) -> None:
    with pytest.raises(QuietError):
        loop.run_until_complete(loop.create_future())
