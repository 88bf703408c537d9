"""The encoder's process from start to end. Its owner decides whether to start another."""

import asyncio
import signal
from dataclasses import dataclass
from typing import Any, Self

from shared.core.child_processes import ChildProcess, python_module
from shared.core.errors import (
    EncoderCrashError,
    EncoderMemoryError,
    EncoderStartError,
    EncoderTimeoutError,
    PipelineError,
    UnencodableTextError,
)
from shared.core.frames import Frame, FrameError

LAST_STDERR_LINES = 15
ENDING_SECONDS = 2.0


@dataclass(frozen=True)
class EncoderSpec:
    """The encoder to load in the process: `module:callable`, and its arguments as JSON values."""

    factory: str
    arguments: dict[str, Any]


class Child:
    """The process, which handles one request at a time."""

    def __init__(self, process: ChildProcess) -> None:
        self._process = process
        self.description: dict[str, Any] = {}

    @classmethod
    async def start(cls, spec: EncoderSpec, *, timeout: float) -> Self:  # noqa: ASYNC109 - part of the request
        child = cls(await ChildProcess.start(python_module("shared.embedding.process.worker")))
        try:
            answer = await child.ask({"factory": spec.factory, "arguments": spec.arguments}, timeout=timeout)
        except BaseException as error:
            await child.kill()
            if isinstance(error, PipelineError):
                raise EncoderStartError(f"the encoder could not be started: {error}") from error
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
        """Send a request and wait for its answer. A child that has not answered cannot be used again."""
        try:
            async with asyncio.timeout(timeout):
                answer = await self._process.exchange(Frame(header))
        except TimeoutError as error:
            await self.kill()
            raise EncoderTimeoutError(f"the encoder did not answer within {timeout:g} s") from error
        except (asyncio.IncompleteReadError, ConnectionError, FrameError) as error:
            raise await self._exit_description() from error
        except BaseException:
            await self.kill()  # After a cancellation, the late answer would go to the next request.
            raise
        if kind := answer.header.get("error"):
            error_type = EncoderMemoryError if kind == "memory" else UnencodableTextError
            raise error_type(str(answer.header.get("message", "")))
        return answer

    async def _exit_description(self) -> PipelineError:
        """Return an error that describes why the process died."""
        try:  # The pipe has ended, so the process should end, too.
            await asyncio.wait_for(self._process.wait(), ENDING_SECONDS)
        except TimeoutError:
            await self.kill()
        code = await self._process.wait()
        words = " | ".join((await self._process.last_words())[-LAST_STDERR_LINES:])
        if code == -signal.SIGKILL:
            # The app did not kill it, so the system did, as it does with a process that takes too much
            # memory.
            return EncoderMemoryError(
                f"the encoder was killed, probably because memory was short. {words}".strip()
            )
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        return EncoderCrashError(f"the encoder died ({cause}). {words}".strip())

    async def kill(self) -> None:
        await self._process.kill()
