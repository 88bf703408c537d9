"""A copy of the Bicep to break, and the repository's own to judge."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """infra/ and bicep/ in a folder of their own."""
    for folder in ("infra", "bicep"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path
