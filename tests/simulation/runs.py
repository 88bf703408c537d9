"""Runs seeds: one, or many on all cores, to be broken off and gone on with at any time."""

import gc
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.app import prepare_process
from tests.simulation.chance import calm_plan, plan_of
from tests.simulation.invariants import EndState, broken_invariants, end_state
from tests.simulation.monitors import install_monitors
from tests.simulation.mutations import MUTATIONS, remove
from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import World
from tests.support.services import ROOT

PART = 25  # seeds that a worker takes at a time
DEFAULT = ("overlap", "late_merge", "late_ancestor", "growth", "digests")
"""Each seed runs one of these, in turn."""


@dataclass(frozen=True)
class Run:
    seed: int
    scenario: str
    removed: str = ""


@dataclass
class Outcome:
    run: Run
    broken: list[str]
    virtual_seconds: float
    digest: str
    faults: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    lines: list[str] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)


def scenario_of(seed: int, scenarios: Sequence[str] = DEFAULT) -> str:
    return scenarios[seed % len(scenarios)]


_calm: dict[str, EndState] = {}
_prepared: list[str] = []


def _prepare(removed: str) -> None:
    """Once a process. The calm runs come first: a mutation must not change what is expected."""
    if _prepared:
        if _prepared != [removed]:
            raise RuntimeError("a process removes one safety only: start another")
        return
    # What a crash leaves behind: coroutines that nobody awaits, and `finally` blocks that cannot.
    warnings.simplefilter("ignore", RuntimeWarning)
    sys.unraisablehook = lambda _unraisable: None
    prepare_process()
    install_monitors()
    if removed:
        for scenario in SCENARIOS.values():
            _calm[scenario.name] = _calm_end(scenario)
        remove(removed)
    _prepared.append(removed)


def _calm_end(scenario: Scenario) -> EndState:
    world = World(scenario, calm_plan(), 0, sequential=True).run()
    state = end_state(world)
    broken = broken_invariants(world, None)
    if broken:
        raise AssertionError(f"the calm run of {scenario.name} is broken: {broken}")
    world.close()
    return state


def run_one(run: Run, *, keep_trace: bool = False) -> Outcome:
    _prepare(run.removed)
    if run.scenario not in _calm:
        _calm[run.scenario] = _calm_end(SCENARIOS[run.scenario])
    plan = plan_of(run.seed)
    if run.removed:
        plan = MUTATIONS[run.removed].plan(plan)
    world = World(SCENARIOS[run.scenario], plan, run.seed, keep_trace=keep_trace).run()
    broken = broken_invariants(world, _calm[run.scenario])
    outcome = Outcome(
        run,
        broken,
        world.ended_at,
        world.trace.digest(),
        dict(world.chance.spent),
        sum(world.network.calls.values()),
        world.trace.lines,
        world.errors,
    )
    world.close()
    return outcome


def run_many(
    runs: Iterable[Run], *, workers: int, done: Path | None = None, stop: bool = False
) -> Iterator[Outcome]:
    """The outcomes as they come. `done` is a file of runs that held: they are not repeated."""
    known = set(done.read_text().split("\n")) if done is not None and done.exists() else set()
    wanted = [run for run in runs if _name(run) not in known]
    parts = [wanted[start : start + PART] for start in range(0, len(wanted), PART)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers, len(parts)) or 1, maxtasksperchild=40) as pool:
        for outcomes in pool.imap_unordered(_run_part, parts):
            held = [outcome for outcome in outcomes if not outcome.broken]
            if done is not None:
                with done.open("a") as file:
                    file.writelines(f"{_name(outcome.run)}\n" for outcome in held)
            yield from outcomes
            if stop and len(held) < len(outcomes):
                return


def _run_part(runs: Sequence[Run]) -> list[Outcome]:
    os.nice(5)
    outcomes = [run_one(run) for run in runs]
    gc.collect()
    return outcomes


def _name(run: Run) -> str:
    return f"{commit()} {run.scenario} {run.seed} {run.removed}".strip()


_commit: list[str] = []


def commit() -> str:
    if not _commit:
        shown = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        _commit.append(shown.stdout.strip() or "unknown")
    return _commit[0]


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def wall_seconds() -> float:
    return time.monotonic()
