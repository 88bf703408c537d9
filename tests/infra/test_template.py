"""The azd template: others can use it, it opens in a container, and Microsoft's Bicep compiles it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.infra.conftest import ROOT
from tests.infra.plans import app

CONTAINER: dict[str, Any] = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
AZ = """#!/bin/sh
case "$*" in
  "bicep $WARNS"*) echo "/x/main.bicep(3,7) : Warning no-unused-vars: Variable is declared but never used." >&2 ;;
  "bicep $FAILS"*) echo "/x/main.bicep(3,7) : Error BCP018: Expected something." >&2; exit 1 ;;
  "bicep format"*) cat "$4" ;;
esac
echo "WARNING: A new Bicep release is available." >&2
"""


@pytest.mark.parametrize(
    ("warns", "fails", "ends"),
    [("nothing", "nothing", 0), ("build", "nothing", 1), ("lint", "nothing", 1), ("nothing", "build", 1)],
)
def test_a_warning_of_the_compiler_is_an_error(warns: str, fails: str, ends: int, tmp_path: Path) -> None:
    (tmp_path / "az").write_text(AZ)
    (tmp_path / "az").chmod(0o755)
    done = subprocess.run(
        ["bash", str(ROOT / "infra/check-bicep.sh")],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "WARNS": warns, "FAILS": fails},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert done.returncode == ends, done.stderr
    assert ("main.bicep(3,7)" in done.stderr) is bool(ends)


def test_the_workflow_runs_the_compiler_and_a_check_of_security() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]

    commands = [step.get("run", "") for step in jobs["bicep"]["steps"]]

    assert "bash infra/check-bicep.sh" in commands
    assert any("checkov --config-file .checkov.yaml" in command for command in commands)


def test_microsofts_validator_of_templates_finds_what_it_asks_for() -> None:
    """The rules are those of microsoft/template-validation-action."""
    readme = (ROOT / "README.md").read_text()
    files = [
        "LICENSE", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", ".github/ISSUE_TEMPLATE",
        ".github/workflows/azure-dev.yml", "azure.yaml", "infra", ".devcontainer",
    ]  # fmt: skip

    assert [name for name in files if not (ROOT / name).exists()] == []
    for heading in ("Features", "Getting Started", "Guidance", "Resources"):
        assert f"\n## {heading}\n" in readme
    deploy = (ROOT / "docs/deploy.md").read_text()  # until the repository has a public address
    for badge in ("github.com/codespaces/new", "remote-containers/cloneInVolume"):
        assert badge in deploy


def test_dependabot_looks_at_every_lock_that_no_command_of_ours_renews() -> None:
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    locks = subprocess.run(
        ["git", "ls-files", "*package-lock.json"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    looked_at = {(update["package-ecosystem"], name) for update in updates for name in update["directories"]}

    assert looked_at >= {("npm", f"/{Path(lock).parent}") for lock in locks}
    assert looked_at >= {("github-actions", "/"), ("devcontainers", "/")}


def test_every_rule_that_we_hold_ourselves_to_is_an_error() -> None:
    core = json.loads((ROOT / "bicepconfig.json").read_text())["analyzers"]["core"]

    assert core["enabled"] is True
    assert len(core["rules"]) > 30
    assert {rule["level"] for rule in core["rules"].values()} == {"error"}


def test_the_container_has_the_tools_and_the_python_that_is_deployed() -> None:
    features = " ".join(CONTAINER["features"])
    runtime = app("plain", "worker").properties["functionAppConfig"]["runtime"]

    assert f"python:{runtime['version']}-" in CONTAINER["image"]
    for tool in ("/azd:", "/docker-in-docker:", "azure-functions-core-tools:", "/azure-cli:"):
        assert tool in features
    assert CONTAINER["postCreateCommand"] == "make setup"


def test_nothing_that_azd_or_a_build_makes_is_committed() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    made = {".azure", ".venv", "build", "node_modules", "local.settings.json"}

    assert not {line for line in tracked.splitlines() if made & set(Path(line).parts)}
    assert not {line for line in tracked.splitlines() if line.startswith("models/")}
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {name.strip("/") for name in ignored} >= {*made, "models"}
