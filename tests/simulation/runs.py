"""Runs seeds: one, or many on all cores, to be broken off and gone on with at any time."""

import gc
import hashlib
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tests.simulation.app import prepare_process
from tests.simulation.chance import calm_plan, plan_of
from tests.simulation.invariants import EndState, broken_invariants, end_state
from tests.simulation.local_cosmos import LocalServer
from tests.simulation.memory_cosmos import MemoryServer
from tests.simulation.monitors import install_monitors
from tests.simulation.mutations import MUTATIONS, remove
from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import Rules, Saved, World
from tests.support.services import ROOT

ENGINE = "SIMULATION_ENGINE"
PART = 25  # seeds that a worker takes at a time
DEFAULT = ("overlap", "late_merge", "growth", "digests", "reembedding", "webhooks")
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
    faults: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    lines: list[str] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    def digest(self) -> str:
        """Of the trace: the same for the same schedule."""
        return hashlib.blake2b("\n".join(self.lines).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Calm:
    """What the runs of a scenario begin with, and what they must end with."""

    start: Saved | None
    end: EndState


def scenario_of(seed: int, scenarios: Sequence[str] = DEFAULT) -> str:
    return scenarios[seed % len(scenarios)]


_calm: dict[str, Calm] = {}
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
    Rules.cosmos = LocalServer if os.environ.get(ENGINE) == "local" else MemoryServer
    install_monitors()
    if removed:
        for scenario in SCENARIOS.values():
            _calm[scenario.name] = _calm_of(scenario)
        remove(removed)
    _prepared.append(removed)
    # No collection during a run: it would run the `finally` of crashed hosts. Afterwards only what is new.
    gc.disable()
    gc.collect()
    gc.freeze()


def _calm_of(scenario: Scenario) -> Calm:
    start = None
    if scenario.before:
        first = replace(scenario, acts=scenario.before, archives=len(scenario.before), timers={}, settings={})
        start = _calm_run(first, None).save()
    return Calm(start, end_state(_calm_run(scenario, start)))


def _calm_run(scenario: Scenario, start: Saved | None) -> World:
    world = World(scenario, calm_plan(), 0, start, sequential=True).run()
    broken = broken_invariants(world, None)
    if broken:
        raise AssertionError(f"the calm run of {scenario.name} is broken: {broken}")
    world.close()
    return world


def run_one(run: Run, *, traced: bool = False) -> Outcome:
    _prepare(run.removed)
    if run.scenario not in _calm:
        _calm[run.scenario] = _calm_of(SCENARIOS[run.scenario])
    plan = plan_of(run.seed)
    if run.removed:
        plan = MUTATIONS[run.removed].plan(plan)
    calm = _calm[run.scenario]
    world = World(SCENARIOS[run.scenario], plan, run.seed, calm.start).run()
    lines = world.trace.lines() if traced else []  # without the checks of the end
    calls = world.network.calls
    broken = broken_invariants(world, calm.end)
    outcome = Outcome(
        run,
        broken,
        world.lasted,
        dict(world.chance.spent),
        calls,
        lines,
        world.errors,
    )
    world.close()
    return outcome


def run_many(
    runs: Iterable[Run],
    *,
    workers: int,
    done: Path | None = None,
    stop: bool = False,
    traced: bool = False,
) -> Iterator[Outcome]:
    """The outcomes as they come. `done` is a file of runs that held: they are not repeated."""
    known = set(done.read_text().split("\n")) if done is not None and done.exists() else set()
    wanted = [run for run in runs if _name(run) not in known]
    parts = [wanted[start : start + PART] for start in range(0, len(wanted), PART)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers, len(parts)) or 1, maxtasksperchild=40) as pool:
        for outcomes in pool.imap_unordered(partial(_run_part, traced=traced), parts):
            held = [outcome for outcome in outcomes if not outcome.broken]
            if done is not None:
                with done.open("a") as file:
                    file.writelines(f"{_name(outcome.run)}\n" for outcome in held)
            yield from outcomes
            if stop and len(held) < len(outcomes):
                return


def _run_part(runs: Sequence[Run], *, traced: bool) -> list[Outcome]:
    outcomes = [run_one(run, traced=traced) for run in runs]
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
