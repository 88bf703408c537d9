"""Runs the work of a command: options, settings, connections, interruption and exit codes."""

import asyncio
import contextlib
import getpass
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from shared.azure.connections import Clients
    from shared.operations.audit import Operator


class Code(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    PROBLEMS = 3
    INTERRUPTED = 130


class CommandError(Exception):
    def __init__(self, code: Code, message: str = "") -> None:
        super().__init__(message)
        self.code = code


@contextlib.contextmanager
def checked_input() -> Iterator[None]:
    """Report input that the models refuse as wrong usage."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_input=False, include_url=False)
        ]
        raise CommandError(Code.USAGE, "; ".join(fault.removeprefix(": ") for fault in faults)) from None
    except ValueError as error:
        raise CommandError(Code.USAGE, str(error)) from None


LOCAL_FILE = Path("local.settings.json")
PATHS = ("SEARCH_CA_FILE", "EMBEDDING_MODEL_PATH")  # relative to the folder of the settings file


def setting_values(named: Path | None, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    given = dict(os.environ if environment is None else environment)
    if named is not None:
        return {**given, **_read(named)}
    return {**_read(LOCAL_FILE), **given} if LOCAL_FILE.is_file() else given


def _read(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(Code.USAGE, f"{path}: the settings cannot be read: {error}") from None
    values = _json_values(path, text) if text.lstrip().startswith("{") else _lines(path, text)
    return {name: _placed(path, name, value) for name, value in values.items()}


def _json_values(path: Path, text: str) -> dict[str, str]:
    try:
        values = json.loads(text)["Values"]
        return {str(name): str(value) for name, value in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CommandError(Code.USAGE, f'{path}: not a settings file: it has no object "Values"') from None


def _lines(path: Path, text: str) -> dict[str, str]:
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals:
            raise CommandError(Code.USAGE, f"{path}, line {number}: not in the form NAME=value")
        values[name.strip()] = value.strip().strip("\"'")
    return values


def _placed(path: Path, name: str, value: str) -> str:
    return str(path.parent / value) if name in PATHS and value else value


Result = TypeVar("Result")
CLOSING_SECONDS = 1.0
ACTOR_VARIABLE = "ROUGH_CONSENSUS_ACTOR"


@dataclass
class GlobalOptions:
    settings: Path | None = None
    debug: bool = False


GLOBAL_OPTIONS = GlobalOptions()


def actor() -> "Operator":
    from shared.operations.audit import Operator

    return Operator(os.environ.get(ACTOR_VARIABLE) or f"{getpass.getuser()}@{socket.gethostname()}")


class Interrupt:
    """Handles Ctrl-C: the first press stops the work after the current batch, the second cancels it."""

    def __init__(self) -> None:
        self.requested = False

    def stopped(self) -> bool:
        return self.requested


def run_command(
    work: Callable[["Clients"], Coroutine[Any, Any, Result]],
    *,
    interrupt: Interrupt | None = None,
    changes: bool = False,
) -> Result:
    """Run the work with connections from the settings. An `interrupt` can stop it at a safe point.

    Work with `changes` sends telemetry, because alerts count what commands change.
    """
    return asyncio.run(_run(work, interrupt, changes=changes))


def run_audited(
    action: str,
    selection: "Mapping[str, Any] | Callable[[Clients], Mapping[str, Any]]",
    work: Callable[["Clients", dict[str, int]], Awaitable[Result]],
    **options: Any,
) -> Result:
    """Run work with an audit record of the counts that it puts into its second argument."""

    async def audited_work(clients: "Clients") -> Result:
        from shared.operations.audit import audited

        chosen = selection(clients) if callable(selection) else selection
        async with audited(clients, action, actor(), chosen) as counts:
            return await work(clients, counts)

    return run_command(audited_work, changes=True, **options)


async def _run(
    work: Callable[["Clients"], Awaitable[Result]], interrupt: Interrupt | None, *, changes: bool
) -> Result:
    from shared.azure.connections import Clients
    from shared.azure.telemetry.setup import CONNECTION, flush, start_for_command
    from shared.settings.app import SettingsError, load_settings

    try:
        values = setting_values(GLOBAL_OPTIONS.settings)
        settings = load_settings(values)
    except SettingsError as error:
        raise CommandError(Code.USAGE, f"settings: {'; '.join(str(error).splitlines())}") from None
    sends = changes and bool(values.get(CONNECTION))
    if sends:
        await asyncio.to_thread(start_for_command, values, settings)
    connected = await Clients.connect(settings)
    try:
        with _handle_signals(interrupt):
            return await work(connected)
    finally:
        with _hide_errors():
            if sends:
                await asyncio.to_thread(flush)
            async with asyncio.timeout(CLOSING_SECONDS):  # a hanging service does not confirm the close
                await connected.close()


@contextlib.contextmanager
def _handle_signals(interrupt: Interrupt | None) -> Any:
    main_thread = threading.current_thread() is threading.main_thread()
    if (
        interrupt is None or not main_thread or sys.platform == "win32"
    ):  # signal handlers need the main thread
        yield
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def request_stop() -> None:
        if interrupt.requested and task is not None:
            task.cancel()
        interrupt.requested = True

    loop.add_signal_handler(signal.SIGINT, request_stop)
    loop.add_signal_handler(signal.SIGTERM, request_stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


@contextlib.contextmanager
def _hide_errors() -> Any:
    """Hide errors during closing, so that they do not replace the error of the work."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the work has ended and its result is known
        if GLOBAL_OPTIONS.debug:
            sys.stderr.write(f"closing: {error}\n")


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done without doing it.")]
Limit = Annotated[int, typer.Option(metavar="COUNT", min=1, help="Maximum number.")]


def moment(text: str | None, name: str) -> datetime | None:
    """Return the time of an ISO 8601 text. The default time zone is UTC."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            Code.USAGE, f"{name}: {text!r} is not a time such as 2026-03-04T05:06:07Z"
        ) from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


def shared_options(**readers: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare options that several commands have as the parameters of the function that reads them.

    Typer sees the options of the reader. The command gets a reader without parameters.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        seen: list[Parameter] = []
        for parameter in signature(command).parameters.values():
            reader = readers.get(parameter.name)
            seen += signature(reader).parameters.values() if reader else [parameter]

        @wraps(command)
        def run(**values: Any) -> Any:
            for name, reader in readers.items():
                own = {option: values.pop(option) for option in signature(reader).parameters}
                values[name] = partial(reader, **own)
            return command(**values)

        run.__signature__ = Signature(  # type: ignore[attr-defined]  # what Typer reads
            [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in seen]
        )
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in seen}
        return run

    return decorate
