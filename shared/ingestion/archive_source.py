"""Random access to the file of an archive: a copy on disk, or ranges of its blob."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

RANGE_BYTES = 4 * 1024 * 1024

Fetch = Callable[[int, int], bytes]
"""Return the bytes at an offset: the requested number, or fewer at the end."""


class ArchivePath(Protocol):
    @property
    def name(self) -> str: ...

    def open(self, mode: Literal["rb"], /) -> io.BufferedReader: ...


@dataclass(frozen=True)
class BlobPath:
    """A blob that a thread or a process without the client reads by ranges."""

    name: str
    size: int
    fetch: Fetch
    piece: int = RANGE_BYTES

    def open(self, mode: Literal["rb"], /) -> io.BufferedReader:  # noqa: ARG002 - as Path has it
        return io.BufferedReader(_Ranges(self), self.piece)


class _Ranges(io.RawIOBase):
    def __init__(self, path: BlobPath) -> None:
        self._path, self._at = path, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._path.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        length = min(len(view), self._path.size - self._at)
        if length <= 0:
            return 0
        content = self._path.fetch(self._at, length)
        view[: len(content)] = content
        self._at += len(content)
        return len(content)


def size_of(path: ArchivePath) -> int:
    with path.open("rb") as file:
        return file.seek(0, io.SEEK_END)
