"""Benchmark of reading archives: our bounded streams compared with the standard library's.

`python -m benchmarks.archives` creates an mbox of about 60 MB, packs it, and reads each packed file both
ways.
"""

import gzip
import io
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from shared.ingestion.archive_members import open_members
from shared.ingestion.unpacked_streams import UnpackLimits
from shared.mail.mbox import BinaryStream

PIECE = 1024 * 1024
ROUNDS = 3
LIMITS = UnpackLimits(ratio=10_000)


def mailbox(messages: int = 40_000) -> bytes:
    return b"".join(
        b"From a@example.org Thu Jan  1 00:00:00 2026\nFrom: a@example.org\nTo: b@example.org\n"
        b"Subject: message %d\n\n%s\n" % (number, b"%x line of text %d\n" % (number * 7919, number) * 60)
        for number in range(messages)
    )


def drained(stream: BinaryStream) -> int:
    total = 0
    while piece := stream.read(PIECE):
        total += len(piece)
    return total


def ours(path: Path) -> int:
    return sum(drained(member.stream) for member in open_members(path, LIMITS))


def by_gzip(path: Path) -> int:
    with gzip.open(path) as stream:
        return drained(stream)


def by_tarfile(path: Path) -> int:
    with tarfile.open(path, "r|gz") as archive:
        files = (archive.extractfile(member) for member in archive)
        return sum(drained(stream) for stream in files if stream is not None)


def by_zipfile(path: Path) -> int:
    with zipfile.ZipFile(path) as archive:
        return sum(drained(archive.open(name)) for name in archive.namelist())


def seconds(read: Callable[[Path], int], path: Path, expected: int) -> float:
    """Return the CPU seconds of the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        assert read(path) == expected
        best = min(best, time.process_time() - started)
    return best


def pack(folder: Path, content: bytes) -> dict[str, tuple[Path, Callable[[Path], int]]]:
    packed = {name: folder / name for name in ("mbox.gz", "tar.gz", "zip")}
    packed["mbox.gz"].write_bytes(gzip.compress(content, 6))
    with tarfile.open(packed["tar.gz"], "w:gz", compresslevel=6) as archive:
        info = tarfile.TarInfo("list.mbox")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    with zipfile.ZipFile(packed["zip"], "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("list.mbox", content)
    theirs = {"mbox.gz": by_gzip, "tar.gz": by_tarfile, "zip": by_zipfile}
    return {name: (path, theirs[name]) for name, path in packed.items()}


def main() -> None:
    content = mailbox()
    print(f"{'format':10}{'MB':>6}{'ours MB/s':>12}{'stdlib MB/s':>13}{'ours/stdlib':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (path, theirs) in pack(Path(folder), content).items():
            size = len(content) / 1e6
            own, other = seconds(ours, path, len(content)), seconds(theirs, path, len(content))
            print(f"{name:10}{size:6.0f}{size / own:12.0f}{size / other:13.0f}{other / own:13.2f}")


if __name__ == "__main__":
    main()
