"""How a command ends: its exit code, and one line that says why."""

from enum import IntEnum


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
