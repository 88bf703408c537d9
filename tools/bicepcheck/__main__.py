"""`python -m tools.bicepcheck`: prints values that Azure would reject, and exits with 1 if there are any."""

import argparse
import sys
from pathlib import Path

from tools.bicepcheck.conform import deviations
from tools.bicepcheck.evaluate import plan
from tools.bicepcheck.schema import schema
from tools.bicepcheck.ways import WAYS

parser = argparse.ArgumentParser(prog="python -m tools.bicepcheck", description=__doc__)
parser.add_argument("file", type=Path, nargs="?", default=Path("infra/main.bicep"))
arguments = parser.parse_args()
found = 0
for way, parameters in WAYS.items():
    resources, _ = plan(arguments.file, parameters)
    lines = [f"{way}: {line}" for resource in resources for line in deviations(resource, schema())]
    found += len(lines)
    sys.stdout.writelines(f"{line}\n" for line in lines)
sys.stderr.write(f"{len(WAYS)} deployments, {found} problems\n")
sys.exit(bool(found))
