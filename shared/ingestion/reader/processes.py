"""The processes that read archives: started when they are needed, kept for the next archive."""

import marshal
import weakref
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


class ReaderPool:
    """One for a client set. Its methods may be called from any thread: each step is one of list or set."""

    def __init__(self) -> None:
        self.idle: list[BlockingChild] = []
        self.at_work: set[BlockingChild] = set()
        # When nobody has closed the pool: the children then end with it, or with the interpreter.
        self._end = weakref.finalize(self, _end_all, self.idle)

    def prepare(self) -> None:
        """An archive is on its way: let processes start meanwhile."""
        while len(self.idle) < self._useful():
            self.idle.append(_start())

    def take(self) -> list[BlockingChild]:
        """As many as there are cores without one; at least one, so that no archive waits for another."""
        taken = [self._take() for _ in range(self._useful())]
        self.at_work.update(taken)
        return taken

    def read(self, path: Path, share: Share, process: BlockingChild) -> Generator[Batch, None, None]:
        """The batches that the process reads."""
        kind, text = "", ""
        try:
            process.send(Frame({"path": str(path), "share": share.number, "of": share.of}))
            while (kind := (answer := process.receive()).header["kind"]) == "batch":
                yield batch_from_marshal(marshal.loads(answer.body))  # noqa: S302 - from our own process
            text = answer.header.get("text", "")
        except (OSError, EOFError, ValueError) as error:
            process.close()
            raise ReaderDiedError(
                f"the process that reads archives ended with {process.returncode}"
            ) from error
        finally:
            self._give_back(process, reusable=kind in _LAST_WORDS)
        if kind == "unreadable":
            raise UnreadableArchiveError(text)
        if kind == "failed":
            raise RuntimeError(f"the archive could not be read:\n{text}")

    async def close(self) -> None:
        """End the processes that wait for work; those at work end with it."""
        self._end()

    def _useful(self) -> int:
        return max(1, min(AT_MOST, available_cores()) - len(self.at_work))

    def _take(self) -> BlockingChild:
        while self.idle:
            process = self.idle.pop()
            if process.returncode is None:
                return process
        return _start()

    def _give_back(self, process: BlockingChild, *, reusable: bool) -> None:
        self.at_work.discard(process)
        if reusable and self._end.alive and len(self.idle) < KEPT:
            self.idle.append(process)
        else:
            process.close()


def _start() -> BlockingChild:
    return BlockingChild(python_module("shared.ingestion.reader.worker"))


def _end_all(processes: list[BlockingChild]) -> None:
    while processes:
        processes.pop().close()
