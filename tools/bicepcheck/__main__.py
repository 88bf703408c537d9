"""`python -m tools.bicepcheck infra/main.bicep`: prints what is wrong, and ends with 1 if anything is."""

import argparse
import sys
from pathlib import Path

from tools.bicepcheck.check import check_all, modules_of

parser = argparse.ArgumentParser(prog="python -m tools.bicepcheck", description="Checks Bicep offline.")
parser.add_argument("file", type=Path, nargs="?", default=Path("infra/main.bicep"))
arguments = parser.parse_args()
problems = check_all(arguments.file)
for problem in problems:
    print(problem)  # noqa: T201 - this is what the command is for
print(f"{len(modules_of(arguments.file))} files, {len(problems)} problems", file=sys.stderr)  # noqa: T201
sys.exit(bool(problems))
