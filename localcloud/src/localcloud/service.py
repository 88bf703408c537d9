"""How a local service runs as a process: `python -m localcloud.<service>`.

It starts, says where it listens in one line on standard output (`READY {json}`), serves until SIGTERM,
SIGINT or the end of its parent, and then stops in order.
"""

import argparse
import asyncio
import json
import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import uvloop

from localcloud.lifeline import READY_PREFIX, hold_lifeline


class LineFormatter(logging.Formatter):
    """Formats a second once, not for each of its lines: that was a good part of what a line took."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._second = (-1, "")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own signature
        second = int(record.created)
        known, text = self._second  # one tuple, since threads log side by side
        if second != known:
            text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
            self._second = (second, text)
        return f"{text},{int(record.msecs):03d}"


class Service(Protocol):
    async def start(self) -> dict[str, str]:
        """Start listening; the addresses by name."""

    async def stop(self) -> None: ...


def common_parser(name: str, *, port: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m localcloud.{name}")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=port, help="0 takes a free one (default: %(default)s)")
    parser.add_argument(
        "--data", type=Path, default=Path(".localcloud") / name, help="where it keeps its data"
    )
    parser.add_argument("--faults", action="store_true", help="let tests inject faults (/_localcloud/faults)")
    parser.add_argument("--log-level", default="INFO")
    return parser


def run_service(service: Callable[[], Service], *, log_level: str = "INFO") -> None:
    """Run the service to its end. A start that fails is one line on standard error and exit code 1."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=log_level, handlers=[handler])
    hold_lifeline()
    try:
        uvloop.run(_serve(service))
    except (OSError, ValueError) as error:
        logging.getLogger(__name__).debug("the start failed", exc_info=True)
        sys.exit(f"{Path(sys.argv[0]).parent.name}: {error}")


async def _serve(make: Callable[[], Service]) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    starting = asyncio.current_task()

    def stop() -> None:
        stopping.set()
        if starting is not None:  # a start may wait for others
            starting.cancel()

    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop)
    service = make()
    try:
        addresses = await service.start()
    except asyncio.CancelledError:
        if stopping.is_set():
            return
        raise
    starting = None
    print(READY_PREFIX + json.dumps(addresses), flush=True)  # noqa: T201 - the contract with the parent
    await stopping.wait()
    await service.stop()
