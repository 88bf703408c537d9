"""Run Microsoft's own tests of the Cosmos SDK against the local Cosmos DB.

    python -m tools.cosmos_conformance [--only test_query.py ...] [--details]

The tests are in the SDK's source package, which pip downloads in the installed version. None of them is
stored here. Each file runs in its own process against its own server. tools/cosmos_conformance.toml lists the
files, and the exclusions with their reasons.
"""

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from localcloud.cosmos.auth import EMULATOR_KEY
from tests.support.services import ROOT, running_service

PACKAGE = "azure-cosmos"
FILE_SECONDS = 240
TEST_SECONDS = 60
# Microsoft's test helpers import these two names of an unpublished package.
SHIM = {
    "devtools_testutils/__init__.py": "",
    "devtools_testutils/azure_recorded_testcase.py": (
        "import os\n\n\ndef get_credential(**_):\n    return os.environ['ACCOUNT_KEY']\n"
    ),
    "devtools_testutils/helpers.py": "def is_live():\n    return False\n",
}


@dataclass
class Outcome:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: int = 0
    note: str = ""


def download(folder: Path) -> Path:
    """Download the tests of the installed version from its source package."""
    version = importlib.metadata.version(PACKAGE)
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         f"{PACKAGE}=={version}", "--dest", str(folder)],
        check=True,
    )  # fmt: skip
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    tests = next(folder.glob("*/tests"))
    for name, text in SHIM.items():
        path = tests / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tests


def run_file(tests: Path, name: str, excluded: list[str]) -> Outcome:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        with running_service("cosmos", data=Path(scratch) / "data") as service:
            command = [
                sys.executable, "-m", "pytest", name, "-q", "-p", "no:cacheprovider", "-p", "no:randomly",
                "-o", "addopts=", "-o", "asyncio_mode=auto", "-W", "ignore", f"--timeout={TEST_SECONDS}",
                f"--junitxml={report}", f"--rootdir={tests}",
                *(f"--deselect={name}::{test}" for test in excluded),
            ]  # fmt: skip
            environment = {
                **os.environ,
                "ACCOUNT_HOST": service.addresses["endpoint"] + "/",
                "ACCOUNT_KEY": EMULATOR_KEY,
                "PYTHONPATH": str(tests),
            }
            try:
                subprocess.run(  # noqa: S603 - our own command
                    command,
                    cwd=tests,
                    env=environment,
                    timeout=FILE_SECONDS,
                    check=False,
                    capture_output=True,
                )
            except subprocess.TimeoutExpired:
                return Outcome(failed=[f"{name} took longer than {FILE_SECONDS} s"], note="timeout")
        return read_report(report, name)


def read_report(report: Path, name: str) -> Outcome:
    outcome = Outcome()
    if not report.exists():
        return Outcome(failed=[f"{name} did not run"], note="no report")
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if problem is not None:
            line = (problem.get("message") or "").splitlines()
            outcome.failed.append(
                f"{case.get('classname')}::{case.get('name')}: {line[0][:200] if line else ''}"
            )
        elif any(child.tag == "skipped" for child in case):
            outcome.skipped += 1
        else:
            outcome.passed += 1
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.cosmos_conformance")
    parser.add_argument("--only", nargs="*", help="these files alone")
    parser.add_argument("--tests", type=Path, help="a folder with the tests, instead of a download")
    parser.add_argument("--details", action="store_true", help="say which tests failed, and how")
    options = parser.parse_args()
    plan = tomllib.loads((ROOT / "tools" / "cosmos_conformance.toml").read_text())
    files = options.only or plan["files"]
    total = Outcome()
    with tempfile.TemporaryDirectory() as scratch:
        tests = options.tests or download(Path(scratch))
        for name in files:
            excluded = plan["excluded_tests"].get(name, {})
            outcome = run_file(tests, name, list(excluded))
            total.passed += outcome.passed
            total.skipped += outcome.skipped
            total.failed += outcome.failed
            print(f"{name:55} {outcome.passed:4} passed {len(outcome.failed):4} failed", flush=True)  # noqa: T201
            for failure in outcome.failed if options.details else ():
                print(f"    {failure}", flush=True)  # noqa: T201
    excluded_count = sum(len(tests) for tests in plan["excluded_tests"].values())
    print(  # noqa: T201
        f"{total.passed} of {total.passed + len(total.failed)} passed in {len(files)} files; "
        f"{total.skipped} skipped by Microsoft's own conditions, {excluded_count} excluded with a reason"
    )
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
