"""Operations that are killed (kill -9) at a named step, each in a process of its own.

`killer` starts a module that calls `serve`, once, with all its imports. For each line of JSON on stdin, with
"step" and "nth", a child runs the operation and is killed at the nth occurrence of that step. "step" may be
null. The reply is a line with the child's return code.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from shared.settings.app import Settings
from tests.support.services import ROOT

Step = Callable[[str], None]
Operation = Callable[[dict[str, Any], Step], Coroutine[Any, Any, None]]


def serve(operation: Operation) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(operation, json.loads(line))
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


def _run(operation: Operation, asked: dict[str, Any]) -> NoReturn:
    """Run the operation in the child, which must never return to its parent's loop."""
    seen = 0

    def step(name: str) -> None:
        nonlocal seen
        seen += name == asked["step"]
        if seen and seen == asked["nth"]:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        asyncio.run(operation(asked, step))
    except BaseException:  # noqa: BLE001 - any error ends the child
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


class Killer:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, step: str | None = None, nth: int = 1, **asked: Any) -> int:
        """Run the operation until it is killed at this step. Return -9, or 0 if it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"step": step, "nth": nth, **asked}) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline())["code"])


@contextmanager
def killer(module: str) -> Iterator[Killer]:
    """Start the module that serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", module], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Killer(process)
        assert process.stdin is not None
        process.stdin.close()


def settings_values(settings: Settings) -> dict[str, str]:
    """Return settings in the form that another process loads."""
    return {
        name: value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)
        for name, value in settings
        if value is not None
    }
