"""Command line: `localcloud up -- python -m tools.run_archives PATH` sets FUNCTIONS_URL."""

import asyncio
import os
import sys
from pathlib import Path

from rich.console import Console

from tools.run_archives.report import show_archives

USAGE = "usage: localcloud up -- python -m tools.run_archives PATH"

if __name__ == "__main__":
    address = os.environ.get("FUNCTIONS_URL", "")
    if len(sys.argv) != 2:  # noqa: PLR2004 - the command and the path
        sys.exit(USAGE)
    if not address:
        sys.exit(f"FUNCTIONS_URL is not set: it is the address of the app. localcloud sets it.\n{USAGE}")
    sys.exit(asyncio.run(show_archives(address, Path(sys.argv[1]), Console(highlight=False))))
