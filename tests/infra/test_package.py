"""The package has everything that the app loads, and nothing else."""

import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from tests.infra.conftest import ROOT

IGNORED = [
    line for line in (ROOT / ".funcignore").read_text().splitlines() if line and not line.startswith("#")
]
DEPLOYED = {
    "LICENSE",
    "function_app.py",
    "host.json",
    "requirements.txt",
    "models",
    "shared",
    "stages",
    "web",
}


def is_ignored(path: Path) -> bool:
    """Return whether a pattern without a slash matches a part of the path."""
    return any(fnmatch(part, pattern) for part in path.parts for pattern in IGNORED)


def test_the_package_is_the_app_and_its_model() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    kept = {Path(name).parts[0] for name in tracked if not is_ignored(Path(name))}

    assert kept | {"models"} == DEPLOYED


def test_everything_that_a_start_loads_is_in_the_package() -> None:
    code = "import sys, function_app; print('\\n'.join(m.__file__ or '' for m in sys.modules.values() if getattr(m, '__file__', None)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = [Path(line) for line in done.stdout.splitlines() if line.startswith(str(ROOT) + os.sep)]
    ours = [path.relative_to(ROOT) for path in loaded if ".venv" not in path.parts]

    assert len(ours) > 100
    assert [path for path in ours if is_ignored(path)] == []


def test_what_code_of_the_package_imports_is_in_the_package() -> None:
    """Check lazy imports, too: no deployed module names a module that is not deployed."""
    left_out = {"benchmarks", "evaluation", "localcloud", "ops", "tests", "tools"}
    for folder in ("shared", "stages", "web"):
        for file in (ROOT / folder).rglob("*.py"):
            for line in file.read_text().splitlines():
                words = line.split()
                if words[:1] in (["from"], ["import"]) and len(words) > 1:
                    assert words[1].partition(".")[0] not in left_out, f"{file}: {line}"
