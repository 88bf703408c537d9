"""Runs operations that are killed (kill -9) at a named step; for the tests.

A line of JSON in, {"settings", "operation", "step", "nth"}: a child runs the operation and is killed when it
comes to that step for the nth time. A line out: the signal that ended it, or 0. Everything is imported once.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from typing import Any

from shared.clients import Clients
from shared.config import load_settings
from shared.deadletters import Watch, run

PATIENCE = 15.0


async def _run(asked: dict[str, Any]) -> None:
    seen = 0

    def step(name: str) -> None:
        nonlocal seen
        seen += name == asked["step"]
        if seen and seen == asked["nth"]:
            os.kill(os.getpid(), signal.SIGKILL)

    clients = await Clients.connect(load_settings(asked["settings"]))
    try:
        await run(clients, asked["operation"], watch=Watch(step=step), patience=PATIENCE)
    finally:
        await clients.close()


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(_run(json.loads(line)))
            except BaseException:  # noqa: BLE001 - a child must never come back into the loop of its parent
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}), flush=True)


if __name__ == "__main__":
    main()
