"""Whole pipelines under faults, on virtual time: whatever happens on the way, the end is that of a calm run.

`make simulate` runs more of them, and replays one: see docs/simulation.md.
"""

import os
import subprocess
import sys

import pytest

from tests.support.services import ROOT

pytestmark = pytest.mark.timeout(900)  # each starts processes of its own

# 100 seeds, and those that once failed; `make test-long` and `make simulate` run thousands, these among them.
# In one process: what the scenarios begin with is made once.
SEEDS = "kept,1-100"


def simulate(*arguments: str, hash_seed: str = "0") -> "subprocess.CompletedProcess[str]":
    """In a process of its own, whose order of sets is fixed: else the same seed is another schedule."""
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments, "--workers", "1"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )


def test_schedules_that_once_broke_something_and_others_end_as_the_calm_run_does() -> None:
    done = simulate(SEEDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_several_thousand_schedules_end_as_the_calm_run_does() -> None:
    done = simulate("1-3000")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("service", ["cosmos", "bus", "search", "blobs", "model"])
def test_after_half_an_hour_without_a_service_all_completes_and_nothing_rings(service: str) -> None:
    done = simulate("1-60", "--scenario", f"outage_{service}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 schedules" in done.stdout
