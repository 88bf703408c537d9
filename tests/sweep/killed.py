"""A sweep that kills its own process at the step that it is told: `python -m tests.sweep.killed <step> <now>`."""

import asyncio
import os
import signal
import sys
from datetime import datetime

from shared.clients import Clients
from shared.config import load_settings
from shared.sweep import Options, sweep


async def main(step: str, now: datetime) -> None:
    def kill(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    clients = await Clients.connect(load_settings())
    await sweep(clients, Options(now=lambda: now, progress=kill))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], datetime.fromisoformat(sys.argv[2])))
