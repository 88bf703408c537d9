"""Runs a command's work: settings, connections, Ctrl-C, and errors in one line."""

import asyncio
import contextlib
import getpass
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ops.exit_codes import Code, CommandError
from ops.settings_files import setting_values

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.upkeep.audit import Actor

Result = TypeVar("Result")
CLOSING_SECONDS = 1.0
ACTOR_VARIABLE = "ROUGH_CONSENSUS_ACTOR"


@dataclass
class GlobalOptions:
    """The options before the command's name."""

    settings: Path | None = None
    debug: bool = False


GLOBAL_OPTIONS = GlobalOptions()


def actor() -> "Actor":
    """Who this is, for the audit records."""
    from shared.upkeep.audit import Actor

    return Actor(os.environ.get(ACTOR_VARIABLE) or f"{getpass.getuser()}@{socket.gethostname()}")


class Interrupt:
    """Ctrl-C: the first asks the work to stop after the current batch, the second cancels it."""

    def __init__(self) -> None:
        self.asked = False

    def stopped(self) -> bool:
        return self.asked


def run_command(
    work: Callable[["Clients"], Coroutine[Any, Any, Result]], *, interrupt: Interrupt | None = None
) -> Result:
    """Run the work with connections from the settings. With an `interrupt` it can stop at a safe point."""
    return asyncio.run(_performed(work, interrupt))


async def _performed(work: Callable[["Clients"], Awaitable[Result]], interrupt: Interrupt | None) -> Result:
    from shared.clients.connections import Clients
    from shared.settings.app import SettingsError, load_settings

    try:
        settings = load_settings(setting_values(GLOBAL_OPTIONS.settings))
    except SettingsError as error:
        raise CommandError(Code.USAGE, f"settings: {'; '.join(str(error).splitlines())}") from None
    connected = await Clients.connect(settings)
    try:
        with _gentle(interrupt):
            return await work(connected)
    finally:
        with _quiet():
            async with asyncio.timeout(CLOSING_SECONDS):  # a service that hangs does not say goodbye
                await connected.close()


@contextlib.contextmanager
def _gentle(interrupt: Interrupt | None) -> Any:
    main_thread = threading.current_thread() is threading.main_thread()
    if (
        interrupt is None or not main_thread or sys.platform == "win32"
    ):  # signal handlers need the main thread
        yield
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def ask() -> None:
        if interrupt.asked and task is not None:
            task.cancel()
        interrupt.asked = True

    loop.add_signal_handler(signal.SIGINT, ask)
    loop.add_signal_handler(signal.SIGTERM, ask)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


@contextlib.contextmanager
def _quiet() -> Any:
    """An error while closing must not hide the error of the work itself."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the work is over; what it came to is already known
        if GLOBAL_OPTIONS.debug:
            sys.stderr.write(f"closing: {error}\n")
