"""All mutants of one module: tried side by side, and remembered, so that an interrupted run goes on."""

import ast
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.operators import Mutant, mutants_of, named_mutant
from tools.mutants.targets import NAMED, Target
from tools.mutants.trial import import_all_but, run_tests, verdict_of

__all__ = ["Outcome", "outcomes_of", "try_all"]

RESULTS = Path("build/mutants")
_FIRST_LIMIT = 120  # seconds, for the run without a change
_SLACK_SECONDS, _SLACK_FACTOR = 10, 8  # the machine may be busy: a limit that is too low kills by itself


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    verdict: str

    @property
    def killed(self) -> bool:
        return self.verdict in {"killed", "timeout"}


class BrokenTargetError(Exception):
    """The tests do not pass on the module as it is."""


def all_mutants(target: Target) -> list[Mutant]:
    source = Path(target.path).read_text()
    named = [
        named_mutant(source, change.name, change.before, change.after)
        for change in NAMED
        if change.path == target.path
    ]
    return [*named, *mutants_of(source, target.only)]


def outcomes_of(target: Target) -> list[Outcome]:
    """As far as they are known."""
    verdicts = _remembered(target)
    return [Outcome(mutant, verdicts[mutant.key]) for mutant in all_mutants(target) if mutant.key in verdicts]


def try_all(target: Target, *, jobs: int) -> None:
    """Try those whose verdict is not known. Runs in a process of its own, which imports the app."""
    known = _remembered(target)
    waiting = [mutant for mutant in all_mutants(target) if mutant.key not in known]
    if not waiting:
        return
    sys.path.insert(0, str(Path.cwd()))
    import_all_but(target)
    seconds = _limit(target)
    path = _results(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not known:
        path.write_text(f"{_fingerprint(target)}\n")
    with path.open("a") as file:
        for mutant, verdict in _tried(target, waiting, jobs=jobs, seconds=seconds):
            file.write(json.dumps({"key": mutant.key, "verdict": verdict, "line": mutant.line}) + "\n")
            file.flush()


def _limit(target: Target) -> int:
    """Seconds that a trial may take, by how long the tests take on the module as it is."""
    started = time.monotonic()
    source = Path(target.path).read_text()
    ((_, verdict),) = _tried(target, [Mutant(0, source, ())], jobs=1, seconds=_FIRST_LIMIT)
    if verdict != "survived":
        raise BrokenTargetError(
            f"{target.path}: {' '.join(target.tests)} do not pass on the module as it is ({verdict})."
            f" See {_output(target, 0)}"
        )
    taken = time.monotonic() - started
    print(f"{target.path}: the tests take {taken:.1f} s", flush=True)  # noqa: T201
    return _SLACK_SECONDS + int(_SLACK_FACTOR * taken)


def _tried(
    target: Target, mutants: Iterable[Mutant], *, jobs: int, seconds: int
) -> Iterator[tuple[Mutant, str]]:
    running: dict[int, tuple[int, Mutant]] = {}
    free = list(range(jobs))
    for mutant in mutants:
        if not free:
            yield _ended(running, free)
        slot = free.pop()
        process = os.fork()
        if not process:
            run_tests(target, mutant.source, seconds=seconds, output=_output(target, slot))
        running[process] = (slot, mutant)
    while running:
        yield _ended(running, free)


def _ended(running: dict[int, tuple[int, Mutant]], free: list[int]) -> tuple[Mutant, str]:
    process, status = os.wait()
    slot, mutant = running.pop(process)
    free.append(slot)
    return mutant, verdict_of(status)


# what is remembered


def _results(target: Target) -> Path:
    return RESULTS / f"{target.module}.jsonl"


def _output(target: Target, slot: int) -> Path:
    RESULTS.mkdir(parents=True, exist_ok=True)
    return RESULTS / f"{target.module}.{slot}.log"


def _remembered(target: Target) -> dict[str, str]:
    """By mutant; none where the module or its tests have changed since."""
    path = _results(target)
    if not path.exists():
        return {}
    fingerprint, *lines = path.read_text().splitlines()
    if fingerprint != _fingerprint(target):
        return {}
    rows = [json.loads(line) for line in lines]
    return {row["key"]: row["verdict"] for row in rows}


def _fingerprint(target: Target) -> str:
    support = [f"{name.replace('.', '/')}.py" for name in target.preload]
    paths = [target.path, *target.tests, *support]
    programs = [ast.dump(ast.parse(Path(path).read_text())) for path in paths]  # however they are formatted
    return hashlib.sha256("\n".join(programs).encode()).hexdigest()
