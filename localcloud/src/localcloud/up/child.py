"""A service of the local cloud as a child process."""

import asyncio
import os
import signal
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from localcloud.lifeline import LIFELINE_VARIABLE, READY_PREFIX
from localcloud.up.catalogue import ServicePlan
from localcloud.up.preparation import Preparation

START_SECONDS = 180.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.05
KEPT_LINES = 12
HEALTH_SECONDS = 3.0


class StartError(RuntimeError):
    """A service did not start."""


class Child:
    """A child process. Its output goes to a log file. The end of its standard input ends it."""

    def __init__(
        self, plan: ServicePlan, *, log: Path, ca: Path, cwd: Path, settings: Mapping[str, str] | None = None
    ) -> None:
        self.plan = plan
        self._settings = settings or {}
        self.log = log
        self._ca = ca
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        self._pump: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._last_lines: deque[str] = deque(maxlen=KEPT_LINES)

    async def start(self) -> None:
        """Start, or continue after the gate. Return when the service is healthy."""
        if self.plan.prepare and not self.plan.prepare.is_done(self._settings):
            await self._prepare(self.plan.prepare)
        if self._process is None:
            await self.begin()
        if self.plan.gate is not None:
            self.plan.gate.touch()
        try:
            await asyncio.wait_for(self._until_healthy(), START_SECONDS)
        except TimeoutError:
            raise StartError(
                f"{self.plan.name} was not ready within {START_SECONDS:.0f} s{self._tail()}"
            ) from None

    async def begin(self) -> None:
        """Start the process. With a gate, it loads the app and waits."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.plan.gate is not None:
            self.plan.gate.unlink(missing_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            *self.plan.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._cwd,
            env={**os.environ, LIFELINE_VARIABLE: "stdin", "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # only the supervisor gets Ctrl-C, and stops the services in order
        )
        self._pump = asyncio.create_task(self._copy_output())

    async def _prepare(self, preparation: Preparation) -> None:
        process = await asyncio.create_subprocess_exec(
            *preparation.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._cwd,
            env={**self._settings, **os.environ},
        )
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if process.returncode:
            self._last_lines.extend(output.decode("utf-8", "replace").splitlines())
            raise StartError(f"{self.plan.name} could not be prepared{self._tail()}")
        preparation.note_done(self._settings)

    async def wait(self) -> int:
        assert self._process is not None  # noqa: S101 - wait() follows start()
        return await self._process.wait()

    async def stop(self) -> bool:
        """Terminate the process, and kill it if necessary. Return whether it ended without a kill."""
        if self._process is None:
            return True
        by_itself = await self._terminate(self._process)
        if self._pump is not None:
            await self._pump
        return by_itself

    async def _terminate(self, process: asyncio.subprocess.Process) -> bool:
        if process.returncode is not None:
            return True
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            return False
        return True

    async def _until_healthy(self) -> None:
        announced = self._ready if self.plan.announces else None
        while True:
            if announced is None or announced.is_set():
                ca = self._ca if self._ca.exists() else None
                if await is_healthy(self.plan.health, ca=ca):
                    return
            assert self._process is not None  # noqa: S101 - start() created it
            if self._process.returncode is not None:
                if self._pump is not None:
                    await self._pump
                code = self._process.returncode
                raise StartError(f"{self.plan.name} exited with code {code} while starting{self._tail()}")
            await asyncio.sleep(POLL_SECONDS)

    async def _copy_output(self) -> None:
        assert self._process is not None  # noqa: S101 - start() created it
        assert self._process.stdout is not None  # noqa: S101 - start() requested a pipe
        with self.log.open("ab") as file:
            while chunk := await self._process.stdout.read(65536):
                file.write(chunk)
                file.flush()
                for line in chunk.decode("utf-8", "replace").splitlines():
                    self._last_lines.append(line)
                    if line.startswith(READY_PREFIX):
                        self._ready.set()

    def _tail(self) -> str:
        lines = "".join(f"\n    {line}" for line in self._last_lines)
        return f". End of {self.log}:{lines}" if lines else f". See {self.log}"


async def is_healthy(url: str, *, ca: Path | None = None) -> bool:
    """Return whether the service responds. An authentication error is a response too."""
    try:
        status = await asyncio.wait_for(_status(url, ca), HEALTH_SECONDS)
    except (OSError, TimeoutError, ValueError):
        return False
    return status < 500  # noqa: PLR2004 - server errors


async def _status(url: str, ca: Path | None) -> int:
    parts = urlsplit(url)
    tls = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=tls)
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        line = await reader.readline()
        return int(line.split()[1]) if line.startswith(b"HTTP/1.") else 599
    finally:
        writer.close()
