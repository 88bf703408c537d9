"""Child processes with their own process group: asynchronous (encoder, rsync) and blocking (reader)."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from shared.core.frames import Frame, FrameError, encode_frame, read_frame, receive_frame

_APP_ROOT = Path(__file__).resolve().parents[2]
_TAIL_BYTES = 4096
_LISTEN_SECONDS = 1.0


@dataclass(frozen=True)
class Command:
    arguments: Sequence[str]  # Never passed through a shell.
    environment: Mapping[str, str]


def python_module(module: str) -> Command:
    path = os.pathsep.join([str(_APP_ROOT), *filter(None, sys.path)])
    return Command((sys.executable, "-m", module), {**os.environ, "PYTHONPATH": path})


def available_cores() -> int:
    """Return the number of cores that this process may use, which a container can limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ChildProcess:
    """A child process for a coroutine. The end of its standard error is kept for error messages."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._stderr_tail = b""
        self._listener = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: Command, *, stdin: int = asyncio.subprocess.PIPE) -> Self:
        process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=command.environment,
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None  # noqa: S101 - as it was started
        return self._process.stdout

    async def exchange(self, frame: Frame) -> Frame:
        if self._process.stdin is None:
            raise FrameError("the process was started without standard input")
        self._process.stdin.write(encode_frame(frame))
        await self._process.stdin.drain()
        return await receive_frame(self.stdout)

    async def wait(self) -> int:
        return await self._process.wait()

    async def kill(self) -> None:
        if self.returncode is None:
            _kill_group(self.pid)
        await self._process.wait()
        await self._stop_listening()
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def last_words(self) -> list[str]:
        await self._stop_listening()
        return self._stderr_tail.decode("utf-8", "replace").splitlines()

    async def _listen(self) -> None:
        """Read standard error, so that the child never blocks on it, and keep its end."""
        assert self._process.stderr is not None  # noqa: S101 - as it was started
        while piece := await self._process.stderr.read(_TAIL_BYTES):
            self._stderr_tail = (self._stderr_tail + piece)[-_TAIL_BYTES:]

    async def _stop_listening(self) -> None:
        """Wait with a time limit, because a grandchild may keep the pipe open."""
        await asyncio.wait({self._listener}, timeout=_LISTEN_SECONDS)
        self._listener.cancel()


class BlockingChild:
    """A child process for a thread. Its standard error is the app's."""

    def __init__(self, command: Command) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - arguments as a list, never through a shell
            command.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=command.environment,
            start_new_session=True,
        )

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def send(self, frame: Frame) -> None:
        assert self._process.stdin is not None  # noqa: S101 - as it was started
        self._process.stdin.write(encode_frame(frame))
        self._process.stdin.flush()

    def receive(self) -> Frame:
        assert self._process.stdout is not None  # noqa: S101 - as it was started
        frame = read_frame(self._process.stdout)
        if frame is None:
            raise FrameError("the process ended without an answer")
        return frame

    def kill(self) -> None:
        if self.returncode is None:
            _kill_group(self._process.pid)

    def close(self) -> None:
        self.kill()
        self._process.communicate()


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
