"""The content of azd's package, and its problems.

azd packs the service's folder without the entries of `.funcignore`. The result is not visible before it runs:
a package without the model starts, reports that it is healthy, and fails at the first embedding.
"""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

__all__ = ["Package", "problems_of"]

REQUIRED = ("function_app.py", "host.json", "requirements.txt")
FOLDERS = ("models", "shared", "stages", "web")
ALLOWED = frozenset({"LICENSE", *REQUIRED, *FOLDERS})
MODEL_FILES = ("manifest.json", "tokenizer.json", "fp32.bin", "fp32.xml", "int8.bin", "int8.xml")
SUFFIXES = frozenset({".py", ".json", ".html", ".css", ".js", ".svg"})
LARGEST = 400_000_000  # Flex Consumption allows 1 GB. The package has 115 MB, of these 114 for the model


class Package:
    """The files that azd would pack, with their sizes."""

    def __init__(self, root: Path) -> None:
        patterns = (root / ".funcignore").read_text().splitlines()
        self._ignored = [line for line in patterns if line and not line.startswith("#")]
        self.files = dict(self._walk(root))

    @property
    def size(self) -> int:
        return sum(self.files.values())

    def _walk(self, root: Path) -> Iterator[tuple[Path, int]]:
        for folder, names, files in os.walk(root, followlinks=True):
            names[:] = [name for name in names if not self._is_ignored(name)]
            for name in files:
                if not self._is_ignored(name):
                    path = Path(folder, name)
                    yield path.relative_to(root), path.stat().st_size

    def _is_ignored(self, name: str) -> bool:
        """Return whether a pattern matches.

        The patterns have no slash, so they match a name in any folder.
        """
        return any(fnmatch(name, pattern) for pattern in self._ignored)


def problems_of(package: Package, model: Path) -> list[str]:
    """Return the problems that prevent a deployment."""
    problems = [f"{name} is missing: is this the folder of the project?" for name in _missing(package)]
    problems += [
        f"{path} is missing or empty: remove {model} and deploy again to rebuild it"
        for path in (model / name for name in MODEL_FILES)
        if not package.files.get(path)
    ]
    problems += [
        f"{path} is not part of the app: remove it, or add it to .funcignore" for path in _strays(package)
    ]
    if package.size > LARGEST:
        problems.append(f"{package.size:,} bytes exceed the limit of {LARGEST:,}")
    return problems


def _missing(package: Package) -> list[str]:
    return [name for name in REQUIRED if Path(name) not in package.files]


def _strays(package: Package) -> list[Path]:
    return sorted(path for path in package.files if path.parts[0] not in ALLOWED or _is_odd(path))


def _is_odd(path: Path) -> bool:
    """Return whether a folder of source code has a file of another type. The model's folder can have any."""
    return path.parts[0] in FOLDERS[1:] and path.suffix not in SUFFIXES
