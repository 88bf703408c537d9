"""Reads an archive while what was read before is stored.

A large archive is read by a process of its own: on a second core, and whatever a hostile mail does to the
parser, the app lives on. The process is kept for the next archive. A small one is not worth the way there.
"""

import asyncio
import atexit
import contextlib
import marshal
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shared.archives import ArchiveError
from shared.mail.errors import MailboxError
from shared.reading.arrivals import Batch, read_batches, restored
from shared.reading.child import LENGTH_BYTES
from shared.reading.errors import ReaderDiedError, ReaderStuckError, UnreadableArchiveError

__all__ = ["Reader", "close_readers", "prepare_reader"]

SMALL_BYTES = 1024 * 1024
READ_AHEAD = 20  # batches: what is read but not yet stored has to be held in memory
SLICE_SIZE = 20_000_000  # characters of text
SILENCE_SECONDS = 300.0
JOIN_SECONDS = 10.0
KEPT = 2

_ROOT = Path(__file__).resolve().parents[2]
_LAST_WORDS = ("end", "unreadable", "failed")
_idle: list["subprocess.Popen[bytes]"] = []


class Reader:
    """The batches of one archive, in order, read ahead of whoever takes them."""

    def __init__(
        self, path: Path, name: str, *, small: int = SMALL_BYTES, silence: float = SILENCE_SECONDS
    ) -> None:
        self._name = name
        self._silence = silence
        self._room = threading.Semaphore(READ_AHEAD)
        self._ready: asyncio.Queue[Batch | BaseException | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._left = False
        self._process = _take_process() if path.stat().st_size > small else None
        batches = read_batches(path) if self._process is None else _elsewhere(path, self._process)
        self._thread = threading.Thread(target=self._pump, args=(batches,), name="reader", daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        if kind is not None and self._process is not None:
            self._process.kill()
        self._room.release()
        # Not for ever: a thread that hangs in a hostile mail cannot be ended, and must not hold this up.
        await asyncio.to_thread(self._thread.join, JOIN_SECONDS)

    async def slices(self, at_least: int, at_most: int) -> AsyncIterator[Batch]:
        """What is there, but so many messages at least; all that has come meanwhile, but so many at most.

        A slice of large messages ends early: it is held in memory until it is stored.
        """
        ahead, text = Batch([], []), 0
        while (batch := await self._next()) is not None:
            ahead = Batch(ahead.arrivals + batch.arrivals, ahead.skipped + batch.skipped)
            text += sum(each.size for each in batch.arrivals)
            size = len(ahead.arrivals)
            if size >= at_most or text >= SLICE_SIZE or (size >= at_least and self._ready.empty()):
                yield ahead
                ahead, text = Batch([], []), 0
        if ahead.arrivals or ahead.skipped:
            yield ahead

    async def _next(self) -> Batch | None:
        try:
            async with asyncio.timeout(self._silence):
                got = await self._ready.get()
        except TimeoutError:
            raise ReaderStuckError(f"nothing was read for {self._silence:g} s") from None
        self._room.release()
        if isinstance(got, BaseException):
            raise got
        return got

    def _pump(self, batches: Generator[Batch, None, None]) -> None:
        """In a thread: read as far ahead as there is room."""
        try:
            for batch in batches:
                self._room.acquire()
                if self._left:
                    break
                self._put(batch)
            self._put(None)
        except (ArchiveError, MailboxError, UnreadableArchiveError) as error:
            self._put(UnreadableArchiveError(f"{self._name}: {error}"))
        except Exception as error:  # noqa: BLE001 - it is raised where the batches are taken
            self._put(error)
        finally:
            batches.close()

    def _put(self, what: Batch | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._ready.put_nowait, what)


def _elsewhere(path: Path, process: "subprocess.Popen[bytes]") -> Generator[Batch, None, None]:
    answer: tuple[str, Any] = ("", None)
    try:
        _ask(process, path)
        while (answer := _answer(process))[0] == "batch":
            yield restored(answer[1])
    except (OSError, EOFError, ValueError) as error:
        _end(process)
        raise ReaderDiedError(f"the process that reads archives ended with {process.returncode}") from error
    finally:
        if answer[0] in _LAST_WORDS:
            _give_back(process)
        else:
            _end(process)
    if answer[0] == "unreadable":
        raise UnreadableArchiveError(answer[1])
    if answer[0] == "failed":
        raise RuntimeError(f"the archive could not be read:\n{answer[1]}")


def _ask(process: "subprocess.Popen[bytes]", path: Path) -> None:
    assert process.stdin is not None  # noqa: S101 - as it was started
    process.stdin.write(f"{path}\n".encode())
    process.stdin.flush()


def _answer(process: "subprocess.Popen[bytes]") -> Any:
    assert process.stdout is not None  # noqa: S101 - as it was started
    length = int.from_bytes(_exactly(process.stdout.read, LENGTH_BYTES), "big")
    return marshal.loads(_exactly(process.stdout.read, length))  # noqa: S302 - from our own process


def _exactly(read: Callable[[int], bytes], length: int) -> bytes:
    content = read(length)
    if len(content) < length:
        raise EOFError
    return content


def prepare_reader(size: int) -> None:
    """An archive of this size is on its way: let a process start meanwhile, where it will take one."""
    if size > SMALL_BYTES and not _idle:
        _idle.append(_start())


def _take_process() -> "subprocess.Popen[bytes]":
    while _idle:
        process = _idle.pop()
        if process.poll() is None:
            return process
    return _start()


def _start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "shared.reading.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])},
    )


def _give_back(process: "subprocess.Popen[bytes]") -> None:
    if len(_idle) < KEPT:
        _idle.append(process)
    else:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


def close_readers() -> None:
    """End the processes that wait for work; those at work end with it, or with this process."""
    while _idle:
        _end(_idle.pop())


atexit.register(close_readers)
