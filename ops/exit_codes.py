"""How a command ends: its exit code, and one line that says why."""

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class Code(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    PROBLEMS = 3
    INTERRUPTED = 130


class CommandError(Exception):
    """Ends the command with this code and line."""

    def __init__(self, code: Code, message: str = "") -> None:
        super().__init__(message)
        self.code = code


def wrong_usage(error: "ValidationError") -> CommandError:
    """The first fault of what was asked for."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    return CommandError(Code.USAGE, f"{where}: {said}" if where else said)
