"""Benchmark of the parsing stage on an archive that is larger than an instance's disk.

    python -m benchmarks.large_archive [--megabytes 1536]

The archive has mails with an attachment each, and is uploaded to Blob storage in pieces. The stage reads it
by ranges. The command prints the largest size of the temporary folder, and the peak memory of the stage's
process and of its largest child.
"""

import argparse
import asyncio
import base64
import hashlib
import os
import random
import resource
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Session
from shared.core.lazy_import import tune_garbage_collector
from stages.parsing import PARSING
from tests.stages.mail_in import archive_of, ingested, mail, mail_in
from tests.support.cloud import local_cloud, servicebus
from tests.support.events import event_of

MB = 1024 * 1024
ATTACHED = 150_000  # bytes before base64


def mail_with_attachment(number: int, attachment: str) -> bytes:
    head, _, body = mail(number).partition(b"\n\n")
    return b"".join(
        (
            head,
            b'\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n',
            b"--b\nContent-Type: text/plain\n\n",
            body,
            b"\n--b\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n",
            b"Content-Disposition: attachment; filename=data.bin\n\n",
            attachment.encode(),
            b"\n--b--\n\n",
        )
    )


class Archive:
    """Pieces of an mbox, with their totals for the archive's document."""

    def __init__(self, megabytes: int) -> None:
        self._wanted, self.size, self.count, self._hash = megabytes * MB, 0, 0, hashlib.sha256()
        self._attachment = base64.encodebytes(random.Random(1).randbytes(ATTACHED)).decode()

    async def pieces(self) -> AsyncIterator[bytes]:
        while self.size < self._wanted:
            piece = b"".join(mail_with_attachment(self.count + i, self._attachment) for i in range(20))
            self.count += 20
            self.size += len(piece)
            self._hash.update(piece)
            yield piece

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()


class Watch:
    """Samples the size of a folder until it is stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.largest, self._stop = folder, 0, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            self.largest = max(self.largest, sum(_sizes(self.folder)))

    def stop(self) -> int:
        self._stop.set()
        self._thread.join()
        return self.largest


def _sizes(folder: Path) -> list[int]:
    found = []
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                found.append(Path(at, name).stat().st_size)
            except FileNotFoundError:  # deleted after listing
                continue
    return found


async def parse(megabytes: int, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as services, local_cloud() as cloud, servicebus(Path(services)) as bus:
        async with mail_in(cloud, bus) as place:
            made = Archive(megabytes)
            document = archive_of(b"large")
            await place.clients.blobs.upload(ARCHIVES_CONTAINER, document.file_path, made.pieces())
            archive = document.model_copy(update={"file_size_bytes": made.size, "file_hash": made.hash})
            session = Session()
            await place.clients.store.create(archive, session)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            tempfile.tempdir = str(folder)
            watch, start = Watch(folder), time.perf_counter()
            await place.run(PARSING, event_of(ingested(archive), session=session.tokens()))
            seconds, disk = time.perf_counter() - start, watch.stop()
            stored = await place.stored("messages")
            assert len(stored) == made.count, (len(stored), made.count)
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        readers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"archive: {made.size / MB:,.0f} MB, {made.count:,} messages, parsed in {seconds:,.0f} s")
    print(f"temporary disk: {disk / MB:,.1f} MB at most")
    print(f"memory: {own / 1024:,.0f} MB at most in the process of the stage ({before / 1024:,.0f} before)")
    print(f"memory: {readers / 1024:,.0f} MB at most in a child process, of all that this run started")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1536)
    options = parser.parse_args()
    tune_garbage_collector()  # as in the app
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(parse(options.megabytes, Path(folder)))


if __name__ == "__main__":
    main()
