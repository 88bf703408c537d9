"""Operators' commands count in the same metrics as the app."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from shared.azure.telemetry.setup import CONNECTION
from tests.ops.commands import settings_values
from tests.ops.environment import OpsPlace
from tests.support.receiver import receiving
from tests.support.services import ROOT
from tests.system.telemetry.tables import tables_of


async def test_a_sweep_by_hand_sends_its_counters_before_it_ends(place: OpsPlace, tmp_path: Path) -> None:
    with receiving(tmp_path) as receiver:
        values = {**settings_values(place), CONNECTION: receiver.connection_string}
        settings = tmp_path / "settings.json"
        settings.write_text(json.dumps({"Values": values}))
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "ops", "--settings", str(settings), "sweep", "--once"],
            cwd=ROOT,
            env={**os.environ, CONNECTION: ""},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        sent = {row["Name"] for row in tables_of(receiver.folder)["AppMetrics"]}
    assert {"retry_job_runs_total", "retry_job_stuck_documents"} <= sent
