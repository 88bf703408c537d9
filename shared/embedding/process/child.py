"""One life of the encoder's process: started, asked, and killed; its owner decides about the next."""

import asyncio
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from shared.core.errors import (
    EncoderCrashError,
    EncoderMemoryError,
    EncoderStartError,
    EncoderTimeoutError,
    PipelineError,
    UnencodableTextError,
)
from shared.embedding.process.frames import PREFIX, Frame, FrameError, body_lengths, encode_frame

__all__ = ["Child", "EncoderSpec"]

_ROOT = Path(__file__).resolve().parents[3]
LAST_STDERR_LINES = 15


@dataclass(frozen=True)
class EncoderSpec:
    """Which encoder to load in the process: `module:callable`, and its arguments as JSON values."""

    factory: str
    arguments: dict[str, Any]


class Child:
    """The process. One request at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._last_words: deque[str] = deque(maxlen=LAST_STDERR_LINES)
        self._listener = asyncio.create_task(self._listen())
        self.description: dict[str, Any] = {}

    @classmethod
    async def start(cls, spec: EncoderSpec, *, timeout: float) -> Self:  # noqa: ASYNC109 - part of the request
        """Start the process and load its encoder."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "shared.embedding.process.worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])},
        )  # fmt: skip
        child = cls(process)
        try:
            answer = await child.ask({"factory": spec.factory, "arguments": spec.arguments}, timeout=timeout)
        except PipelineError as error:
            await child.kill()
            raise EncoderStartError(f"the encoder could not be started: {error}") from error
        except BaseException:
            await child.kill()
            raise
        child.description = answer.header
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, header: dict[str, Any], *, timeout: float) -> Frame:  # noqa: ASYNC109 - part of the request
        """Send a request and wait for its answer. A child that did not answer cannot be asked again."""
        try:
            async with asyncio.timeout(timeout):
                answer = await self._exchange(Frame(header))
        except TimeoutError as error:
            await self.kill()
            raise EncoderTimeoutError(f"the encoder did not answer within {timeout:g} s") from error
        except (asyncio.IncompleteReadError, ConnectionError, FrameError) as error:
            raise await self._exit_description() from error
        except BaseException:
            await self.kill()  # cancelled: the answer would come to the next request
            raise
        if "error" in answer.header:
            raise _reported(answer.header)
        return answer

    async def _exchange(self, frame: Frame) -> Frame:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise FrameError("the process has no pipes")
        stdin.write(encode_frame(frame))
        await stdin.drain()
        header_bytes, body_bytes = body_lengths(await stdout.readexactly(PREFIX.size))
        header = await stdout.readexactly(header_bytes)
        return Frame.decode(header, await stdout.readexactly(body_bytes))

    async def _exit_description(self) -> PipelineError:
        """Why the process died, as well as one can tell from outside."""
        if self.alive:
            # Its pipe has ended, so it is ending; if it is not, it is of no use.
            try:
                await asyncio.wait_for(self._process.wait(), 2.0)
            except TimeoutError:
                await self.kill()
        code = await self._process.wait()
        await self._end_of_last_words()
        words = " | ".join(self._last_words)
        if code == -signal.SIGKILL:
            # Not by us: it is how the system ends a process that takes too much memory.
            return EncoderMemoryError(f"the encoder was killed, probably for want of memory. {words}".strip())
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        return EncoderCrashError(f"the encoder died ({cause}). {words}".strip())

    async def _listen(self) -> None:
        """Keep the end of what the process says on standard error."""
        stderr = self._process.stderr
        while stderr is not None and (text := await stderr.read(8192)):
            self._last_words.extend(text.decode("utf-8", "replace")[-1000:].splitlines())

    async def _end_of_last_words(self) -> None:
        """Not for ever: a process that a library started may hold the pipe."""
        await asyncio.wait({self._listener}, timeout=1.0)
        self._listener.cancel()

    async def kill(self) -> None:
        if self.alive:
            # With all that its libraries started; it leads a group of its own.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await self._end_of_last_words()
        if self._process.stdin is not None:
            self._process.stdin.close()


def _reported(header: dict[str, Any]) -> PipelineError:
    error = EncoderMemoryError if header["error"] == "memory" else UnencodableTextError
    return error(str(header.get("message", "")))
