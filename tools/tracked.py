"""The files of the project: tracked by git and still present."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tracked(root: Path = ROOT) -> list[Path]:
    """Return their paths relative to `root`, sorted."""
    git = shutil.which("git") or "git"
    listed = subprocess.run([git, "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)  # noqa: S603 - constants
    paths = sorted(Path(name) for name in listed.stdout.split("\0") if name)
    return [path for path in paths if (root / path).is_file()]
