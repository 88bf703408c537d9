"""Runs the supervisor with toy services: `toy_up DATA NAME:PORT:BEHAVIOUR ...`."""

import asyncio
import os
import sys
from pathlib import Path

from localcloud.up.catalogue import ServicePlan
from localcloud.up.supervisor import Supervisor


def plan(text: str) -> ServicePlan:
    name, port, behaviour = text.split(":")
    address = f"http://127.0.0.1:{port}"
    command = (
        sys.executable,
        "-m",
        "tests.up.toy_service",
        "--port",
        port,
        "--behaviour",
        behaviour,
    )
    return ServicePlan(name, name.title(), address, command, address, needs=("a",) if name == "host" else ())


def say(line: str) -> None:
    print(line, flush=True)


async def when_up() -> int | None:
    """Report the start. If TOY_CODE is set, return it as the exit code."""
    say("UP")
    return int(os.environ["TOY_CODE"]) if "TOY_CODE" in os.environ else None


if __name__ == "__main__":
    data = Path(sys.argv[1])
    supervisor = Supervisor([plan(text) for text in sys.argv[2:]], root=Path.cwd(), data=data, say=say)
    sys.exit(asyncio.run(supervisor.run(when_up)))
