"""A copy of the Bicep for tests that break it, and access to the repository's own."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with copies of infra/ and bicep/."""
    for folder in ("infra", "bicep"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path
