"""python -m tests.simulation SEEDS [--scenario NAME] [--remove SAFETY] [--done FILE]: see docs/reliability.md."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.simulation.mutations import MUTATIONS
from tests.simulation.runs import (
    DEFAULT,
    ENGINE,
    Outcome,
    Run,
    commit,
    cpu_seconds,
    run_many,
    run_one,
    scenario_of,
)
from tests.simulation.totals import Totals

PROGRESS_SECONDS = 60
SEEDS_FILE = Path(__file__).with_name("seeds.txt")


def main() -> int:
    options = _options()
    if options.remove == "list":
        for name, mutation in MUTATIONS.items():
            print(f"{name:26} {mutation.text}")
        return 0
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of the schedule
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])
    os.environ[ENGINE] = options.engine  # for the workers, too
    runs = _runs(options)
    if len(runs) == 1:
        return _replay(runs[0])
    return _run_all(runs, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "seeds", nargs="?", default="1-200", help="1-2000, 17, `kept` (those that once failed), or several"
    )
    parser.add_argument(
        "--scenario", default="", help=f"one of the scenarios; else, by seed: {', '.join(DEFAULT)}"
    )
    parser.add_argument("--remove", default="", help="run without one safety; `list` names them")
    parser.add_argument("--done", type=Path, help="a file of runs that held, to go on from")
    parser.add_argument(
        "--engine",
        choices=["memory", "local", "sdk"],
        default="memory",
        help="of Cosmos DB: quick, or localcloud's own; or that through the real SDKs",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stop", action="store_true", help="end with the first failure")
    parser.add_argument("--verbose", action="store_true", help="show those that held, too")
    return parser.parse_args()


def _runs(options: argparse.Namespace) -> list[Run]:
    return [run for part in options.seeds.split(",") for run in _part(part, options)]


def _part(part: str, options: argparse.Namespace) -> list[Run]:
    if part == "kept":
        lines = [line.partition("#")[0].split() for line in SEEDS_FILE.read_text().splitlines()]
        return [Run(int(seed), scenario, options.remove) for scenario, seed in filter(None, lines)]
    first, _, last = part.partition("-")
    return [
        Run(seed, options.scenario or scenario_of(seed, options.remove), options.remove)
        for seed in range(int(first), int(last or first) + 1)
    ]


def _replay(run: Run) -> int:
    outcome = run_one(run, traced=True)
    print("\n".join(outcome.lines))
    for error, times in outcome.errors.items():
        print(f"  {times} x {error}")
    _show(outcome)
    return 1 if outcome.broken else 0


def _run_all(runs: Sequence[Run], options: argparse.Namespace) -> int:
    before, shown_at, totals = cpu_seconds(), time.monotonic(), Totals()
    stop = options.stop or bool(options.remove)
    for outcome in run_many(
        runs, workers=options.workers, done=options.done, stop=stop, traced=options.verbose
    ):
        totals.add(outcome)
        if outcome.broken or options.verbose:
            _show(outcome)
        if time.monotonic() > shown_at + PROGRESS_SECONDS:
            shown_at = time.monotonic()
            print(f"{totals.count} of {len(runs)} schedules, {totals.failed} broken", flush=True)
    print(totals.table())
    print(totals.line(commit(), cpu_seconds() - before))
    if options.remove:
        print(f"{options.remove} was {'caught' if totals.failed else 'NOT caught'}")
        return 0 if totals.failed else 1
    return 1 if totals.failed else 0


def _show(outcome: Outcome) -> None:
    run = outcome.run
    removed = f" --remove {run.removed}" if run.removed else ""
    word = "BROKEN" if outcome.broken else "held"
    print(
        f"seed {run.seed} of {run.scenario} {word} at {commit()}, "
        f"{f'trace {outcome.digest()}, ' if outcome.lines else ''}faults {outcome.faults}"
    )
    for line in outcome.broken[:8]:
        print(f"    {line}")
    if outcome.broken:
        print(f"    replay: python -m tests.simulation {run.seed} --scenario {run.scenario}{removed}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
