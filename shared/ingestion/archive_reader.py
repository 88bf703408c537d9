"""Read an archive ahead of the code that stores it. Processes share the messages of a large archive."""

import asyncio
import contextlib
import marshal
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from shared.azure.blobs import ARCHIVES_CONTAINER, Blobs
from shared.azure.connections import Clients
from shared.core.child_processes import BlockingChild, available_cores, python_module
from shared.core.frames import Frame
from shared.ingestion.archive_source import BlobPath
from shared.ingestion.errors import ArchiveError, ReaderDiedError, ReaderStuckError, UnreadableArchiveError
from shared.ingestion.reader_process import Batch, batch_from_marshal, read_batches
from shared.mail.models import MailboxError, Share

AT_MOST = 2
"""Processes for one archive. A machine with fewer cores gets fewer."""
KEPT = 3
"""Idle processes that the pool keeps: enough for one archive, and one for a second archive."""

_LAST_WORDS = ("end", "unreadable", "failed")


LARGEST_COPY = 32 * 1024 * 1024
"""Larger archives are read by ranges. An instance has about 0.8 GB of disk and parses 16 archives at once."""


@asynccontextmanager
async def opened_archive(blobs: Blobs, file_path: str, size: int) -> AsyncIterator[Path | BlobPath]:
    """Yield a path that code outside the event loop can read. The loop fetches the ranges of a blob."""
    if size > LARGEST_COPY:
        loop = asyncio.get_running_loop()

        def fetch(offset: int, length: int) -> bytes:
            part = blobs.read_part(ARCHIVES_CONTAINER, file_path, offset, length)
            return asyncio.run_coroutine_threadsafe(part, loop).result()

        yield BlobPath(Path(file_path).name, size, fetch)
        return
    with tempfile.TemporaryDirectory(prefix="archive-") as folder:
        path = Path(folder) / "archive"
        with path.open("wb") as file:
            await blobs.save(ARCHIVES_CONTAINER, file_path, file)
        yield path


class ReaderPool:
    """The idle and busy reader processes of a client set. Its methods are safe to call from any thread."""

    def __init__(self) -> None:
        self.idle: list[BlockingChild] = []
        self.at_work: set[BlockingChild] = set()
        # If the pool is never closed, the idle processes end with the pool object or with the interpreter.
        self._end = weakref.finalize(self, _end_all, self.idle)

    def prepare(self, size: int) -> None:
        """Start processes before an archive of this size arrives, if it is large enough to need them."""
        while size > SMALL_BYTES and len(self.idle) < self._process_count():
            self.idle.append(_start())

    def take(self) -> list[BlockingChild]:
        """Return up to AT_MOST processes, one for each free core, and at least one."""
        processes = [self._take() for _ in range(self._process_count())]
        self.at_work.update(processes)
        return processes

    def read(
        self, path: Path | BlobPath, share: Share, process: BlockingChild
    ) -> Generator[Batch, None, None]:
        """Yield the batches that the process reads. Fetch the ranges of a blob for it."""
        kind, text = "", ""
        try:
            answer = _ask(process, Frame({**_request(path), "share": share.number, "of": share.of}))
            while (kind := answer.header["kind"]) not in _LAST_WORDS:
                if kind == "range" and isinstance(path, BlobPath):
                    content = path.fetch(answer.header["offset"], answer.header["length"])
                    answer = _ask(process, Frame({}, content))
                else:
                    yield batch_from_marshal(marshal.loads(answer.body))  # noqa: S302 - from our own process
                    answer = _ask(process)
            text = answer.header.get("text", "")
        finally:
            self.at_work.discard(process)
            if kind in _LAST_WORDS and self._end.alive and len(self.idle) < KEPT:
                self.idle.append(process)
            else:
                process.close()
        if kind == "unreadable":
            raise UnreadableArchiveError(text)
        if kind == "failed":
            raise RuntimeError(f"the archive could not be read:\n{text}")

    async def close(self) -> None:
        """End the idle processes. A busy process ends when its archive ends."""
        self._end()

    def _process_count(self) -> int:
        return max(1, min(AT_MOST, available_cores()) - len(self.at_work))

    def _take(self) -> BlockingChild:
        while self.idle:
            if (process := self.idle.pop()).returncode is None:
                return process
        return _start()


def _ask(process: BlockingChild, frame: Frame | None = None) -> Frame:
    try:
        if frame is not None:
            process.send(frame)
        return process.receive()
    except (OSError, EOFError, ValueError) as error:
        process.close()
        raise ReaderDiedError(f"the process that reads archives ended with {process.returncode}") from error


def _request(path: Path | BlobPath) -> dict[str, str | int]:
    if isinstance(path, BlobPath):
        return {"name": path.name, "size": path.size, "piece": path.piece}
    return {"path": str(path)}


def _start() -> BlockingChild:
    return BlockingChild(python_module("shared.ingestion.reader_process"))


def _end_all(processes: list[BlockingChild]) -> None:
    while processes:
        processes.pop().close()


SMALL_BYTES = 1024 * 1024
READ_AHEAD = 20  # Batches that are read and not yet stored. They are in memory.
SLICE_SIZE = 20_000_000  # Characters of text.
SILENCE_SECONDS = 300.0
JOIN_SECONDS = 10.0


class Reader:
    """The batches of one archive, in any order, read ahead of their consumer."""

    def __init__(
        self,
        pool: ReaderPool,
        path: Path | BlobPath,
        name: str,
        *,
        small: int = SMALL_BYTES,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self._name = name
        self._silence = silence
        self._room = threading.Semaphore(READ_AHEAD)
        self._ready: asyncio.Queue[Batch | BaseException | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._left = False
        self._processes = pool.take() if isinstance(path, BlobPath) or path.stat().st_size > small else []
        shares = [
            pool.read(path, Share(number, len(self._processes)), process)
            for number, process in enumerate(self._processes)
        ] or [read_batches(path)]
        self._threads = [
            threading.Thread(target=self._pump, args=(batches,), name="reader", daemon=True)
            for batches in shares
        ]
        self._open = len(shares)

    async def __aenter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        if kind is not None:
            for process in self._processes:
                process.kill()
        self._room.release(len(self._threads))
        # The join has a time limit, because a thread that hangs in a hostile mail cannot be ended.
        for thread in self._threads:
            await asyncio.to_thread(thread.join, JOIN_SECONDS)

    async def slices(self, size: int) -> AsyncIterator[Batch]:
        """Yield slices of at least `size` messages. A slice with much text ends early to bound memory."""
        ahead, text = Batch([], []), 0
        while (batch := await self._next()) is not None:
            ahead = Batch(ahead.arrivals + batch.arrivals, ahead.skipped + batch.skipped)
            text += sum(arrival.size for arrival in batch.arrivals)
            if len(ahead.arrivals) >= size or text >= SLICE_SIZE:
                yield ahead
                ahead, text = Batch([], []), 0
        if ahead.arrivals or ahead.skipped:
            yield ahead

    async def _next(self) -> Batch | None:
        """Return the next batch, or None when all shares have ended."""
        while self._open:
            try:
                async with asyncio.timeout(self._silence):
                    item = await self._ready.get()
            except TimeoutError:
                raise ReaderStuckError(f"no data was read for {self._silence:g} s") from None
            if isinstance(item, BaseException):
                raise item
            if item is not None:
                self._room.release()
                return item
            self._open -= 1
        return None

    def _pump(self, batches: Generator[Batch, None, None]) -> None:
        """Read batches until the limit of unread batches is reached. Runs in a thread."""
        try:
            for batch in batches:
                self._room.acquire()
                if self._left:
                    break
                self._put(batch)
            self._put(None)
        except (ArchiveError, MailboxError, UnreadableArchiveError) as error:
            self._put(UnreadableArchiveError(f"{self._name}: {error}"))
        except Exception as error:  # noqa: BLE001 - it is raised where the batches are consumed
            self._put(error)
        finally:
            batches.close()

    def _put(self, item: Batch | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed, so nothing waits for the batch.
            self._loop.call_soon_threadsafe(self._ready.put_nowait, item)


async def reader_pool(clients: Clients) -> ReaderPool:
    """Return the reader pool of a client set, which closes the pool."""

    async def start() -> ReaderPool:
        return ReaderPool()

    return await clients.resources.get(ReaderPool, start)
