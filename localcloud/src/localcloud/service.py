"""The lifecycle of a local service as a process: `python -m localcloud.<service>`.

It starts, prints its addresses in one line on standard output (`READY {json}`), serves until SIGTERM, SIGINT
or the end of its parent, and then stops in order.
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
    """Formats each second once, because formatting times was a large part of the cost of a log line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._second = (-1, "")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's signature
        second = int(record.created)
        known, text = self._second  # one tuple, because threads log concurrently
        if second != known:
            text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
            self._second = (second, text)
        return f"{text},{int(record.msecs):03d}"


class Service(Protocol):
    async def start(self) -> dict[str, str]:
        """Start listening. Return the addresses by name."""

    async def stop(self) -> None: ...


def common_parser(name: str, *, port: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m localcloud.{name}")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=port, help="0: any free port (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=Path(".localcloud") / name, help="the data folder")
    parser.add_argument(
        "--faults", action="store_true", help="allow tests to inject faults (/_localcloud/faults)"
    )
    parser.add_argument("--log-level", default="INFO")
    return parser


def run_service(service: Callable[[], Service], *, log_level: str = "INFO") -> None:
    """Run the service to its end. A failed start prints one line to standard error and exits with code 1."""
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
        if starting is not None:  # a start can wait for other services
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
