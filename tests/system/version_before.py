"""The previous version, as a tree of its own, for tests that run both versions."""

import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

from tests.support.services import ROOT

BEFORE = "ROUGH_CONSENSUS_BEFORE"  # an environment variable with another commit or tag
# The commit of the release before each version. A new version needs its own line.
PINNED = {"0.2.0": "4b6ee2a2e1693698e27cd9ec347d108a05a4fa71"}  # 0.1.0


def git(*arguments: str) -> bytes | None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def version_of(pyproject: str) -> str:
    found = re.search(r'^version = "(.+)"', pyproject, re.MULTILINE)
    assert found is not None
    return found[1]


def this_version() -> str:
    return version_of((ROOT / "pyproject.toml").read_text())


def version_before() -> str:
    """Return the commit of the previous version."""
    return os.environ.get(BEFORE) or PINNED[this_version()]


def unpack_version_before(folder: Path) -> bool:
    """Unpack its tree. Return False if the history of this clone is too short."""
    content = git("archive", "--format=tar", version_before())
    if content is None:
        return False
    with tarfile.open(fileobj=io.BytesIO(content)) as tree:
        tree.extractall(folder, filter="data")
    return True
