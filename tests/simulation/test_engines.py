"""The Cosmos DB in memory does what the local one does: a seed is the same schedule on both."""

import re

import pytest

from tests.simulation.test_simulation import simulate

pytestmark = pytest.mark.timeout(900)  # each starts processes of its own

SEEDS = "40-44"


def test_a_seed_is_the_same_schedule_on_both_engines() -> None:
    traces = [
        re.findall(r"seed (\d+) of (\S+) (\w+) .*trace (\w+)", simulate(SEEDS, "--verbose", *engine).stdout)
        for engine in ([], ["--engine", "local"])
    ]
    assert len(traces[0]) == 5
    assert sorted(traces[0]) == sorted(traces[1])


@pytest.mark.slow
def test_schedules_hold_through_the_real_sdks() -> None:
    done = simulate("1-10", "--engine", "sdk")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 schedules" in done.stdout


def test_a_schedule_holds_through_the_real_sdks() -> None:
    done = simulate("17", "--scenario", "reembedding", "--engine", "sdk")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(call in done.stdout for call in ("cosmos.post", "search.post", "blobs.put", "blobs.get"))
