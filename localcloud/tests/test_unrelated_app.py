"""An app unrelated to this repository, in an environment with only `localcloud` and the SDKs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services import ROOT

EXAMPLE = ROOT / "examples" / "orders"
SDKS = ("azure-cosmos", "azure-servicebus", "aiohttp")


@pytest.mark.slow
def test_the_example_runs_where_nothing_else_is_installed(tmp_path: Path) -> None:
    environment, app = tmp_path / "venv", shutil.copytree(EXAMPLE, tmp_path / "app")
    source = shutil.copytree(
        ROOT, tmp_path / "localcloud", ignore=shutil.ignore_patterns("node_modules", "tests")
    )
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        source,
        *SDKS,
    ]
    subprocess.run(install, check=True)

    command: list[str | Path] = [
        environment / "bin" / "localcloud",
        "up",
        "--only",
        "cosmos,servicebus",
        "--once",
    ]
    done = subprocess.run(
        [*command, "--port-offset", "auto", "--", python, "app.py"],
        cwd=app, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ada ordered for 60.\n" in done.stdout
