"""The processes that read archives: started when they are needed, kept for the next archive."""

import atexit
import marshal
from collections.abc import Generator
from pathlib import Path

from shared.core.child_processes import BlockingChild, available_cores, python_module
from shared.core.frames import Frame
from shared.domain.mail.models import Share
from shared.ingestion.reader.batches import Batch, batch_from_marshal
from shared.ingestion.reader.errors import ReaderDiedError, UnreadableArchiveError

AT_MOST = 2
"""For one archive; fewer where there are fewer cores."""
KEPT = 3
"""So many wait for the next archive: those for one, and one for a second beside it."""

_LAST_WORDS = ("end", "unreadable", "failed")
_idle: list[BlockingChild] = []
_at_work: set[BlockingChild] = set()


def prepare_processes() -> None:
    """An archive is on its way: let them start meanwhile."""
    while len(_idle) < _useful():
        _idle.append(_start())


def take_processes() -> list[BlockingChild]:
    """As many as there are cores without one; at least one, so that no archive waits for another."""
    taken = [_take() for _ in range(_useful())]
    _at_work.update(taken)
    return taken


def read_in_process(path: Path, share: Share, process: BlockingChild) -> Generator[Batch, None, None]:
    """The batches that the process reads."""
    kind, text = "", ""
    try:
        process.send(Frame({"path": str(path), "share": share.number, "of": share.of}))
        while (kind := (answer := process.receive()).header["kind"]) == "batch":
            yield batch_from_marshal(marshal.loads(answer.body))  # noqa: S302 - from our own process
        text = answer.header.get("text", "")
    except (OSError, EOFError, ValueError) as error:
        _end(process)
        raise ReaderDiedError(f"the process that reads archives ended with {process.returncode}") from error
    finally:
        if kind in _LAST_WORDS:
            _give_back(process)
        else:
            _end(process)
    if kind == "unreadable":
        raise UnreadableArchiveError(text)
    if kind == "failed":
        raise RuntimeError(f"the archive could not be read:\n{text}")


def close_readers() -> None:
    """End the processes that wait for work; those at work end with it, or with this process."""
    while _idle:
        _end(_idle.pop())


def _useful() -> int:
    return max(1, min(AT_MOST, available_cores()) - len(_at_work))


def _take() -> BlockingChild:
    while _idle:
        process = _idle.pop()
        if process.returncode is None:
            return process
    return _start()


def _start() -> BlockingChild:
    return BlockingChild(python_module("shared.ingestion.reader.worker"))


def _give_back(process: BlockingChild) -> None:
    _at_work.discard(process)
    if len(_idle) < KEPT:
        _idle.append(process)
    else:
        _end(process)


def _end(process: BlockingChild) -> None:
    _at_work.discard(process)
    process.close()


atexit.register(close_readers)
