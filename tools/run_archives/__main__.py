"""`localcloud up -- python -m tools.run_archives PATH` sets FUNCTIONS_URL."""

import asyncio
import os
import sys
from pathlib import Path

from rich.console import Console

from tools.run_archives.report import show_archives

if __name__ == "__main__":
    address, console = os.environ["FUNCTIONS_URL"], Console(highlight=False)
    sys.exit(asyncio.run(show_archives(address, Path(sys.argv[1]), console)))
