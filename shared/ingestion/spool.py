"""A temporary file that is hashed while it is written, and may not grow beyond its limit."""

import hashlib
from pathlib import Path
from typing import Self

from shared.ingestion.errors import ArchiveTooLargeError


class Spool:
    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.size = 0
        self._limit = limit
        self._hash = hashlib.sha256()
        self._file = path.open("wb")

    def check(self, size: int) -> None:
        """Refuse what is announced as too large before it is read."""
        if size > self._limit:
            raise ArchiveTooLargeError(
                f"the archive has more than {self._limit} bytes; split it, or raise ARCHIVE_MAX_BYTES"
            )

    def write(self, piece: bytes) -> None:
        self.check(self.size + len(piece))
        self._file.write(piece)
        self._hash.update(piece)
        self.size += len(piece)

    def restart(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
