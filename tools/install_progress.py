"""Shows the progress of `pip install -r`: the current package and the number of packages.

    python -m pip install -r requirements-dev.txt 2>&1 | python tools/install_progress.py requirements-dev.txt

It uses only the standard library, because it runs before anything is installed.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

STEPS = 20  # packages between two lines of output without a terminal
_TAKEN = re.compile(r"(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9._-]+)")
_PINNED = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?==", re.MULTILINE)


def packages_in(requirements: str) -> int:
    return len(_PINNED.findall(requirements))


def progress(lines: Iterable[str], total: int) -> Iterator[str]:
    """Yield a line for each package and for the next step. Errors are passed on unchanged."""
    count = 0
    for line in lines:
        taken = _TAKEN.match(line)
        if taken:
            count += 1
            yield f"  {min(count, total)} of {total}: {taken[1]}"
        elif line.startswith("Installing collected packages"):
            yield f"  unpacking {total} packages"
        elif line.startswith(("ERROR", "error:")):
            yield line.rstrip()


def main() -> None:
    total = packages_in(Path(sys.argv[1]).read_text(encoding="utf-8"))
    rewrites = sys.stdout.isatty()
    for number, line in enumerate(progress(sys.stdin, total), 1):
        is_package = " of " in line
        if rewrites and is_package:
            sys.stdout.write(f"\r\033[K{line}")
        elif not is_package or number % STEPS == 0:
            sys.stdout.write(("\n" if rewrites else "") + line + "\n")
        sys.stdout.flush()
    if rewrites:
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
