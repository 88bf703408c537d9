"""Run one seed, or many on all cores. A run can be interrupted and continued at any time."""

import gc
import hashlib
import multiprocessing
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tests.simulation.app import prepare_process, read_documents_once, set_scale
from tests.simulation.chance import Plan, calm_plan, last_plan_of, later_plan_of, plan_of
from tests.simulation.invariants import EndState, broken_invariants, end_state
from tests.simulation.moments import Saved
from tests.simulation.monitors import install_monitors
from tests.simulation.mutations import MUTATIONS, remove
from tests.simulation.outages import outage_plan
from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import Rules, World, let_go
from tests.support.services import ROOT

ENGINE = "SIMULATION_ENGINE"
PART = 25  # seeds that a worker takes at a time
PARTS_OF_A_PROCESS = 400  # then a new process replaces it, which bounds its memory
WHOLE, LATER_ONES = 41, 4  # one in so many seeds runs its scenario whole, and one begins anywhere within it
LATER, LAST = ".later", ".last"  # suffixes of scenarios whose runs begin within them, or near their end
PREFIXES = 4  # calm runs of a scenario that provide the starting moments
DEFAULT = tuple(name for name, scenario in SCENARIOS.items() if not scenario.away)
"""The scenarios that the seeds run in turn."""
LONG = ("late_ancestor", "back", "deletion", "deletion_at_once")  # these run half as often
_TURNS = (*DEFAULT, *(name for name in DEFAULT if name not in LONG))


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
    seconds: float = 0.0  # of CPU time

    def digest(self) -> str:
        """Return a digest of the trace, which is the same for the same schedule."""
        return hashlib.blake2b("\n".join(self.lines).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Calm:
    """The start of a scenario's runs, and their required end."""

    start: Saved | None
    end: EndState
    moments: dict[int, list[Saved]] = field(default_factory=dict)  # by their calm run


def scenario_of(seed: int, removed: str = "") -> str:
    """Return a seed's scenario: most begin near its end, some anywhere in it, a few at its start."""
    turns = (MUTATIONS[removed].scenarios if removed else ()) or _TURNS
    name = turns[seed // LATER_ONES % len(turns)]
    if seed % WHOLE == 0 or (removed and MUTATIONS[removed].whole):
        return name
    return name + (LATER if seed % LATER_ONES == 0 else LAST)


def _is_small(name: str) -> bool:
    return "." in name


def _base(name: str) -> str:
    return name.partition(".")[0]


_calms: dict[tuple[str, bool], Calm] = {}
_prepared: list[str] = []


def _prepare(removed: str) -> None:
    """Prepare the process. Calm runs come first, because a mutation must not change the expected ends."""
    if _prepared:
        if _prepared != [removed]:
            raise RuntimeError("a process removes one safety only: start another")
        return
    # A crash leaves coroutines that are never awaited, and `finally` blocks that cannot run.
    warnings.simplefilter("ignore", RuntimeWarning)
    sys.unraisablehook = lambda _unraisable: None
    prepare_process()
    if os.environ.get(ENGINE) in ("local", "sdk"):
        Rules.quick = False
        Rules.through_sdks = os.environ[ENGINE] == "sdk"
    else:
        read_documents_once()
    install_monitors()
    if removed:
        for name in MUTATIONS[removed].scenarios or DEFAULT:
            _calm_of(name, small=False)
            for number in range(PREFIXES):
                _moments(name, number)
        remove(removed)
    _prepared.append(removed)
    # Disable the collector during a run, because it would run the `finally` of crashed hosts.
    gc.disable()
    gc.collect()
    gc.freeze()


def _calm_of(name: str, *, small: bool) -> Calm:
    """Return the calm run of a scenario, whole or small."""
    if (name, small) not in _calms:
        scenario, start = SCENARIOS[name], None
        set_scale(small=small)
        if scenario.before:
            first = replace(
                scenario, acts=scenario.before, archives=len(scenario.before), chores=(), settings={}
            )
            start = _calm_run(first, None).save()
        _calms[name, small] = Calm(start, end_state(_calm_run(scenario, start)))
    return _calms[name, small]


def _calm_run(scenario: Scenario, start: Saved | None) -> World:
    world = World(scenario, calm_plan(), 0, start, sequential=True).run()
    broken = broken_invariants(world, None)
    if broken:
        raise AssertionError(f"the calm run of {scenario.name} is broken: {broken}")
    world.close()
    return world


def _moments(name: str, number: int) -> list[Saved]:
    """Return the moments of one calm run, which processes one message at a time, from a random queue."""
    calm = _calm_of(name, small=True)
    if number not in calm.moments:
        set_scale(small=True)
        found: list[Saved] = []
        plan = replace(calm_plan(), concurrent_calls=1)
        world = World(SCENARIOS[name], plan, number, calm.start, moments=found).run()
        broken = broken_invariants(world, calm.end)
        if broken or not found:
            raise AssertionError(f"the calm run {number} of {name} is broken: {broken}")
        world.close()
        calm.moments[number] = found
    return calm.moments[number]


def _start_of(run: Run) -> Saved | None:
    name = _base(run.scenario)
    if not _is_small(run.scenario):
        return _calm_of(name, small=False).start
    draw = random.Random(f"start-{run.seed}")
    moments = _moments(name, draw.randrange(PREFIXES))
    if run.scenario.endswith(LAST):
        return moments[int((1 + draw.random()) / 2 * len(moments))]
    return moments[int(max(draw.random(), draw.random()) * len(moments))]  # later moments are more likely


def _plan_of(run: Run) -> Plan:
    scenario = SCENARIOS[_base(run.scenario)]
    if scenario.away:
        plan = outage_plan(scenario, run.seed)
    elif not _is_small(run.scenario):
        plan = plan_of(run.seed)
    elif run.scenario.endswith(LAST):
        plan = last_plan_of(run.seed)
    else:
        plan = later_plan_of(run.seed)
    if run.removed:
        plan = MUTATIONS[run.removed].plan(plan)
    if Rules.through_sdks:
        plan = replace(plan, sdk_retries=0)  # they have their own
    return plan


def run_one(run: Run, *, traced: bool = False) -> Outcome:
    _prepare(run.removed)
    name, small = _base(run.scenario), _is_small(run.scenario)
    calm, start = _calm_of(name, small=small), _start_of(run)
    set_scale(small=small)
    world = World(SCENARIOS[name], _plan_of(run), run.seed, start).run()
    lines = world.trace.lines() if traced else []  # without the final checks
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
    """Yield the outcomes as runs end. Runs listed in the file `done` passed before and are not repeated."""
    known = _read_done(done)
    wanted = []
    for run in runs:
        held = known.get(_name(run))
        if held is None:
            wanted.append(run)
        else:
            yield held
    parts = [wanted[start : start + PART] for start in range(0, len(wanted), PART)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers, len(parts)) or 1, maxtasksperchild=PARTS_OF_A_PROCESS) as pool:
        for outcomes in pool.imap_unordered(partial(_run_part, traced=traced), parts):
            held_now = [outcome for outcome in outcomes if not outcome.broken]
            if done is not None:
                with done.open("a") as file:
                    file.writelines(_line(outcome) for outcome in held_now)
            yield from outcomes
            if stop and len(held_now) < len(outcomes):
                return


def _run_part(runs: Sequence[Run], *, traced: bool) -> list[Outcome]:
    outcomes = []
    for run in runs:
        started = time.process_time()
        outcome = run_one(run, traced=traced)
        let_go()
        # Collect the garbage of a run, and freeze the rest. All of it is young, and collecting the other
        # generations would only empty the free lists.
        gc.collect(0)
        gc.freeze()
        outcome.seconds = time.process_time() - started
        outcomes.append(outcome)
    return outcomes


def _name(run: Run) -> str:
    return f"{commit()} {run.scenario} {run.seed} {run.removed}".strip()


def _line(outcome: Outcome) -> str:
    faults = sum(outcome.faults.values())
    figures = f"{outcome.virtual_seconds:.0f} {outcome.seconds:.4f} {outcome.calls} {faults}"
    return f"{_name(outcome.run)}\t{figures}\n"


def _read_done(done: Path | None) -> dict[str, Outcome]:
    """Return the runs that passed at this commit. An incomplete line does not count."""
    if done is None or not done.exists():
        return {}
    found = {}
    for line in done.read_text().splitlines():
        name, _, figures = line.partition("\t")
        parts, numbers = name.split(), figures.split()
        if parts[0] == commit() and len(numbers) == len(("virtual", "seconds", "calls", "faults")):
            run = Run(int(parts[2]), parts[1], " ".join(parts[3:]))
            virtual, seconds, calls, faults = map(float, numbers)
            found[name] = Outcome(run, [], virtual, {"all": int(faults)}, int(calls), seconds=seconds)
    return found


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
