"""The processes that read archives: started when they are needed, kept for the next archive."""

import atexit
import json
import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from shared.domain.mail.models import Share
from shared.ingestion.reader.batches import Batch, batch_from_marshal
from shared.ingestion.reader.errors import ReaderDiedError, UnreadableArchiveError
from shared.ingestion.reader.worker import LENGTH_BYTES

__all__ = ["Process", "close_readers", "prepare_processes", "read_in_process", "take_processes"]

AT_MOST = 2
"""For one archive; fewer where there are fewer cores."""
KEPT = 3
"""So many wait for the next archive: those for one, and one for a second beside it."""

Process = subprocess.Popen[bytes]

_ROOT = Path(__file__).resolve().parents[3]
_LAST_WORDS = ("end", "unreadable", "failed")
_idle: list[Process] = []
_at_work: set[Process] = set()


def prepare_processes() -> None:
    """An archive is on its way: let them start meanwhile."""
    while len(_idle) < _useful():
        _idle.append(_start())


def take_processes() -> list[Process]:
    """As many as there are cores without one; at least one, so that no archive waits for another."""
    taken = [_take() for _ in range(_useful())]
    _at_work.update(taken)
    return taken


def read_in_process(path: Path, share: Share, process: Process) -> Generator[Batch, None, None]:
    """The batches that the process reads."""
    answer: tuple[str, Any] = ("", None)
    try:
        _ask(process, path, share)
        while (answer := _answer(process))[0] == "batch":
            yield batch_from_marshal(answer[1])
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


def close_readers() -> None:
    """End the processes that wait for work; those at work end with it, or with this process."""
    while _idle:
        _end(_idle.pop())


def _useful() -> int:
    return max(1, min(AT_MOST, _cores()) - len(_at_work))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _take() -> Process:
    while _idle:
        process = _idle.pop()
        if process.poll() is None:
            return process
    return _start()


def _start() -> Process:
    return subprocess.Popen(
        [sys.executable, "-m", "shared.ingestion.reader.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])},
    )


def _give_back(process: Process) -> None:
    _at_work.discard(process)
    if len(_idle) < KEPT:
        _idle.append(process)
    else:
        _end(process)


def _end(process: Process) -> None:
    _at_work.discard(process)
    process.kill()
    process.communicate()


def _ask(process: Process, path: Path, share: Share) -> None:
    assert process.stdin is not None  # noqa: S101 - as it was started
    process.stdin.write(f"{json.dumps([str(path), share.number, share.of])}\n".encode())
    process.stdin.flush()


def _answer(process: Process) -> Any:
    assert process.stdout is not None  # noqa: S101 - as it was started
    length = int.from_bytes(_exactly(process.stdout.read, LENGTH_BYTES), "big")
    return marshal.loads(_exactly(process.stdout.read, length))  # noqa: S302 - from our own process


def _exactly(read: Callable[[int], bytes], length: int) -> bytes:
    content = read(length)
    if len(content) < length:
        raise EOFError
    return content


atexit.register(close_readers)
