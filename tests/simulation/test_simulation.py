"""Whole pipelines under faults, on virtual time, always end like a calm run.

`make simulate` runs more seeds, and replays single ones: see docs/reliability.md.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.scenarios import OUTAGES
from tests.support.services import ROOT

pytestmark = pytest.mark.timeout(900)  # each test starts its own processes

# 100 seeds, and seeds that once failed. `make test-long` and `make simulate` run thousands, these included.
# They share one process, so that the starts of the scenarios are built once.
SEEDS = "kept,1-100"


def simulate(*arguments: str, hash_seed: str = "0") -> "subprocess.CompletedProcess[str]":
    """Run in a separate process with a fixed order of sets. Otherwise the same seed is another schedule."""
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments, "--workers", "1"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the schedules that passed."""
    return tmp_path_factory.mktemp("simulation") / "held.txt"


@pytest.fixture(scope="module")
def ended(held: Path) -> "subprocess.CompletedProcess[str]":
    return simulate(SEEDS, "--verbose", "--done", str(held))


def traces(shown: str) -> set[tuple[str, ...]]:
    return set(re.findall(r"seed (\d+) of (\S+) (\w+) .*trace (\w+)", shown))


def test_schedules_that_once_broke_something_and_others_end_as_the_calm_run_does(
    ended: "subprocess.CompletedProcess[str]",
) -> None:
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " 0 broken" in ended.stdout


def test_a_seed_is_the_same_schedule_on_both_engines(ended: "subprocess.CompletedProcess[str]") -> None:
    """The Cosmos DB on dictionaries behaves like the one on SQL."""
    found = traces(simulate("40-44", "--verbose", "--engine", "local").stdout)
    assert len(found) == 5
    assert found <= traces(ended.stdout)


def test_runs_that_held_are_not_repeated_and_count_all_the_same(
    held: Path, ended: "subprocess.CompletedProcess[str]"
) -> None:
    before = held.read_text()
    assert len(before.splitlines()) > 100
    again = simulate("1-3", "--verbose", "--done", str(held))
    assert (again.returncode, held.read_text()) == (0, before)
    assert traces(again.stdout) == set()
    assert again.stdout.splitlines()[-1].startswith("3 schedules at ")


def test_a_seed_is_one_schedule(ended: "subprocess.CompletedProcess[str]") -> None:
    """The seed gives the same schedule after other runs, and for any order of sets in the process."""
    found = traces(simulate("17,18", "--verbose", hash_seed="random").stdout)
    assert len(found) == 2
    assert found <= traces(ended.stdout)


def test_a_schedule_holds_through_the_real_sdks() -> None:
    done = simulate("17", "--scenario", "reembedding", "--engine", "sdk")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(call in done.stdout for call in ("cosmos.post", "search.post", "blobs.put", "blobs.get"))


@pytest.mark.slow
def test_schedules_hold_through_the_real_sdks() -> None:
    done = simulate("1-10", "--engine", "sdk")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 schedules" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_several_thousand_schedules_end_as_the_calm_run_does() -> None:
    done = simulate("1-3000")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scenario", [scenario.name for scenario in OUTAGES])
def test_after_hours_without_a_service_all_completes_and_no_attempt_is_used_up(scenario: str) -> None:
    done = simulate("1-12", "--scenario", scenario)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 schedules" in done.stdout
