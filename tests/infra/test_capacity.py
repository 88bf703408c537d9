"""The figures of benchmarks/capacity.py match a run."""

import asyncio
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.capacity import DISCUSSION
from benchmarks.costs import REAL, measure, per_message
from tests.support.cloud import AppCloud, servicebus
from tests.support.mail_data import WHY_SKIPPED, data_folder

WITHIN = 0.05
MACHINES = 3.0  # how much slower or faster than the machine of docs/evidence.md


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_model_has_the_costs_of_a_run(cloud: AppCloud, tmp_path: Path) -> None:
    folder = data_folder()
    if folder is None:
        pytest.skip(WHY_SKIPPED)
    content = (folder / REAL).read_bytes()
    with servicebus(tmp_path) as bus:
        costs, sizes = asyncio.run(measure(cloud.settings(bus), content))
    found, told = asdict(per_message(costs, sizes, len(content))), asdict(DISCUSSION)
    assert told["cpu_ms"] / MACHINES < found.pop("cpu_ms") < told.pop("cpu_ms") * MACHINES
    assert found == pytest.approx(told, rel=WITHIN)
