"""Archives that a separate process reads."""

import asyncio
import gzip
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.ingestion import archive_reader
from shared.ingestion import archive_reader as module
from shared.ingestion.archive_reader import LARGEST_COPY, Reader, ReaderPool, opened_archive
from shared.ingestion.archive_source import BlobPath
from shared.ingestion.errors import ReaderDiedError, ReaderStuckError, UnreadableArchiveError
from shared.ingestion.reader_process import BATCH, Batch, read_batches
from shared.mail.models import Share
from shared.threading.prepared_message import PreparedMessage
from tests.stages.mail_in import mail
from tests.support.cloud import AppCloud
from tests.support.services import ROOT, RunningService

CHAIN = [mail(0), mail(1, parent=0), mail(2, parent=1, subject="Re: A draft")]
ELSEWHERE = -1
"""Every archive counts as large."""
ROOM, LONG = 2, 8
"""The read-ahead of batches, and the number of batches after which the process waits."""


@pytest.fixture
async def pool(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ReaderPool]:
    monkeypatch.setattr(module, "READ_AHEAD", ROOM)
    made = ReaderPool()
    yield made
    await made.close()
    assert not made.idle


def archive(folder: Path, count: int) -> Path:
    path = folder / "archive"
    path.write_bytes(b"".join(mail(i % 25).replace(b"<m", b"<%d." % i) for i in range(count)))
    return path


def by_key(arrival: PreparedMessage) -> str:
    return arrival.node


async def all_of(reader: Reader) -> Batch:
    arrivals, skipped = [], []
    async with reader:
        async for batch in reader.slices(1):
            arrivals += batch.arrivals
            skipped += batch.skipped
    return Batch(arrivals, skipped)


async def test_a_pool_that_is_closed_or_forgotten_leaves_no_process(tmp_path: Path) -> None:
    closed, forgotten = ReaderPool(), ReaderPool()
    children = []
    for pool in (closed, forgotten):
        pool.prepare(10**9)
        children += pool.idle
    assert {child.returncode for child in children} == {None}
    at_work = Reader(closed, archive(tmp_path, 3), "a", small=ELSEWHERE)
    await closed.close()
    del pool, forgotten
    assert len((await all_of(at_work)).arrivals) == 3  # the process finishes the archive that it reads
    assert {child.returncode for child in children} == {-signal.SIGKILL}


@pytest.mark.parametrize("cores", [1, 2, 64])
async def test_the_processes_read_what_would_be_read_here(
    pool: ReaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(archive_reader, "available_cores", lambda: cores)
    path = tmp_path / "packed"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a.mbox", b"".join(CHAIN))
        packed.writestr("page.html", "<p>not mail</p>")
        packed.writestr("b.mbox", archive(tmp_path, 2 * BATCH + 1).read_bytes())
    here = list(read_batches(path))
    reader = Reader(pool, path, "a", small=ELSEWHERE)
    there = await all_of(reader)
    assert len(reader._processes) == min(cores, archive_reader.AT_MOST)
    assert sorted(there.arrivals, key=by_key) == sorted((a for b in here for a in b.arrivals), key=by_key)
    assert there.skipped == [skipped_part for batch in here for skipped_part in batch.skipped]
    assert len(there.arrivals) == len(CHAIN) + 2 * BATCH + 1
    assert [skipped_part.reason for skipped_part in there.skipped] == ["page.html: it is not mail"]


def test_shares_are_equal_and_together_all_of_it(tmp_path: Path) -> None:
    path = archive(tmp_path, 10 * Share.BLOCK)
    shares = [[a.node for b in read_batches(path, Share(number, 2)) for a in b.arrivals] for number in (0, 1)]
    assert [len(share) for share in shares] == [5 * Share.BLOCK] * 2
    assert {*shares[0], *shares[1]} == {a.node for b in read_batches(path) for a in b.arrivals}


async def test_processes_are_kept_for_the_next_archive(pool: ReaderPool, tmp_path: Path) -> None:
    path = archive(tmp_path, 3)
    pool.prepare(10**9)
    kept = set(pool.idle)
    assert len(kept) == archive_reader.AT_MOST
    for _ in range(2):
        assert len((await all_of(Reader(pool, path, "a", small=ELSEWHERE))).arrivals) == 3
        assert set(pool.idle) == kept


async def test_archives_at_once_do_not_take_more_processes_than_the_cores_can_use(
    pool: ReaderPool, tmp_path: Path
) -> None:
    path = archive(tmp_path, LONG * BATCH)
    readers = [Reader(pool, path, "a", small=ELSEWHERE) for _ in range(3)]
    assert [len(reader._processes) for reader in readers] == [archive_reader.AT_MOST, 1, 1]
    found = await asyncio.gather(*map(all_of, readers))
    assert [len(part.arrivals) for part in found] == [LONG * BATCH] * 3
    assert len(pool.idle) == archive_reader.KEPT
    assert not pool.at_work


async def test_slices_have_their_size(pool: ReaderPool, tmp_path: Path) -> None:
    path = archive(tmp_path, 10 * BATCH + 1)
    async with Reader(pool, path, "a", small=ELSEWHERE) as reader:
        sizes = [len(batch.arrivals) async for batch in reader.slices(3 * BATCH)]
    assert sum(sizes) == 10 * BATCH + 1
    assert all(3 * BATCH <= size < 4 * BATCH for size in sizes[:-1])


async def test_no_more_is_read_ahead_than_there_is_room_for(pool: ReaderPool, tmp_path: Path) -> None:
    path = archive(tmp_path, LONG * BATCH)
    async with Reader(pool, path, "a", small=ELSEWHERE) as reader:
        ends = len(reader._threads)
        taken = reader.slices(1)
        await anext(taken)
        ahead = [reader._ready.qsize() async for _ in taken]
    assert len(ahead) == LONG - 1
    assert max(ahead) <= ROOM + ends


async def test_large_messages_are_held_in_memory_a_few_at_a_time(
    pool: ReaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "archive"
    text = "What this says is long. " * 20_000
    path.write_bytes(b"".join(mail(number, body=text) for number in range(12)))
    monkeypatch.setattr(module, "SLICE_SIZE", 4 * len(text))
    assert [len(batch.arrivals) for batch in read_batches(path)] == [3, 3, 3, 3]
    async with Reader(pool, path, "a") as reader:
        sizes = [len(batch.arrivals) async for batch in reader.slices(100)]
    assert sizes == [6, 6]


async def test_a_process_that_dies_fails_its_archive_and_not_the_next(
    pool: ReaderPool, tmp_path: Path
) -> None:
    path = archive(tmp_path, LONG * BATCH)
    reader = Reader(pool, path, "a", small=ELSEWHERE)
    reader._processes[-1].kill()
    with pytest.raises(ReaderDiedError, match="ended with -9"):
        await all_of(reader)
    assert len((await all_of(Reader(pool, archive(tmp_path, 3), "a", small=ELSEWHERE))).arrivals) == 3


async def test_a_process_that_says_nothing_is_ended(pool: ReaderPool, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    os.mkfifo(path)
    reader = Reader(pool, path, "a", small=ELSEWHERE, silence=0.2)
    with pytest.raises(ReaderStuckError, match=r"0\.2 s"):
        await all_of(reader)
    assert {process.returncode for process in reader._processes} == {-signal.SIGKILL}


async def test_a_small_archive_that_hangs_here_holds_nobody_up_for_ever(
    pool: ReaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()

    def hang(_path: Path) -> Iterator[Batch]:
        free.wait(60)
        yield from ()

    monkeypatch.setattr(module, "read_batches", hang)
    monkeypatch.setattr(module, "JOIN_SECONDS", 0.1)
    try:
        with pytest.raises(ReaderStuckError):
            await asyncio.wait_for(all_of(Reader(pool, archive(tmp_path, 3), "a", silence=0.1)), 30)
    finally:
        free.set()


async def test_a_process_that_is_left_early_is_ended(pool: ReaderPool, tmp_path: Path) -> None:
    async with Reader(pool, archive(tmp_path, LONG * BATCH), "a", small=ELSEWHERE) as reader:
        async for _ in reader.slices(1):
            break
    assert all(process.returncode is not None for process in reader._processes)


@pytest.mark.parametrize("small", [ELSEWHERE, 10**9])
async def test_what_is_no_archive_is_said_with_its_name(pool: ReaderPool, tmp_path: Path, small: int) -> None:
    path = tmp_path / "archive"
    path.write_bytes(b"just words\n" * 100)
    with pytest.raises(UnreadableArchiveError, match=r"my list: .*mail"):
        await all_of(Reader(pool, path, "my list", small=small))


def test_the_process_ends_when_nobody_is_there_to_ask_it() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "shared.ingestion.reader_process"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.communicate(timeout=20)
    assert process.returncode == 0


def by_ranges(path: Path, asked: list[tuple[int, int]]) -> BlobPath:
    content = path.read_bytes()

    def fetch(offset: int, length: int) -> bytes:
        asked.append((offset, length))
        return content[offset : offset + length]

    return BlobPath(path.name, len(content), fetch, piece=1000)


def packed(path: Path, kind: str) -> Path:
    """An archive as plain text, compressed, or in a zip, whose directory is at its end."""
    if kind == "gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    elif kind == "zip":
        content = path.read_bytes()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a.mbox", content)
            file.writestr("b.mbox", mail(0).replace(b"<m", b"<other"))
    return path


@pytest.mark.parametrize("kind", ["plain", "gz", "zip"])
async def test_a_blob_that_is_read_by_ranges_has_the_messages_of_its_copy(
    kind: str, pool: ReaderPool, tmp_path: Path
) -> None:
    path, asked = packed(archive(tmp_path, 400), kind), list[tuple[int, int]]()

    copied = await all_of(Reader(pool, path, "a", small=ELSEWHERE))
    ranges = await all_of(Reader(pool, by_ranges(path, asked), "a"))

    assert len(copied.arrivals) == 400 + (kind == "zip")
    assert sorted(ranges.arrivals, key=by_key) == sorted(copied.arrivals, key=by_key)
    assert max(offset + length for offset, length in asked) == path.stat().st_size
    assert len(asked) > 2


async def test_a_range_that_cannot_be_fetched_fails_the_archive_and_not_the_pool(
    pool: ReaderPool, tmp_path: Path
) -> None:
    def fetch(offset: int, length: int) -> bytes:
        raise ConnectionError(f"no bytes at {offset}")

    with pytest.raises(ConnectionError, match="no bytes at 0"):
        await all_of(Reader(pool, BlobPath("a", 10_000, fetch), "a"))
    assert len((await all_of(Reader(pool, archive(tmp_path, 3), "a", small=ELSEWHERE))).arrivals) == 3


@pytest.mark.parametrize("size", [LARGEST_COPY, LARGEST_COPY + 1])
async def test_only_a_small_archive_is_copied_to_disk(
    size: int, cloud: AppCloud, bus_service: RunningService
) -> None:
    content = bytes(1000) + b"tail"
    clients = await Clients.connect(cloud.settings(bus_service))
    try:
        await clients.blobs.ensure_container(ARCHIVES_CONTAINER)
        await clients.blobs.upload(ARCHIVES_CONTAINER, f"x/{size}", content)
        async with opened_archive(clients.blobs, f"x/{size}", size) as path:
            is_copy = isinstance(path, Path)
            with path.open("rb") as file:
                read = await asyncio.to_thread(file.read, len(content))
    finally:
        await clients.close()

    assert is_copy is (size == LARGEST_COPY)
    assert read == content
