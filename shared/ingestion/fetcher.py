"""The port between a source and the archives that it has, and what every fetcher may use."""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from shared.clients.outbound import AddressPolicy, SourceError
from shared.core.runtime import Runtime
from shared.documents.sources import Source
from shared.ingestion.errors import ArchiveTooLargeError
from shared.pipeline.retry import Backoff, with_backoff
from shared.settings.app import Settings

PIECE = 1024 * 1024


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

    def copy(self, path: Path) -> None:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                self.write(piece)
        self.flush()

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


# Only settings with this prefix can be named in a source: otherwise one could send any secret anywhere.
SECRET_PREFIX = "SOURCE_SECRET_"  # noqa: S105 - a name, not a secret
KEY_VAULT_REFERENCE = "@Microsoft.KeyVault("
Result = TypeVar("Result")
TIMEOUT_SECONDS = 25 * 60.0  # of a whole fetch: it ends before the function that makes it (FUNCTION_MINUTES)
IDLE_SECONDS = 60.0  # without a byte: the source is down


@dataclass(frozen=True)
class Fetched:
    """A file that a source had, and the cursor to keep once it is stored."""

    path: Path
    sha256: str
    size: int
    filename: str
    url: str
    cursor: dict[str, Any]

    @classmethod
    def of(cls, spool: Spool, filename: str, url: str, cursor: dict[str, Any]) -> Self:
        return cls(spool.path, spool.sha256, spool.size, filename, url, cursor)


@dataclass(frozen=True)
class FetchContext:
    """What a fetcher works with."""

    settings: Settings
    folder: Path
    policy: AddressPolicy
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    secrets: Mapping[str, str] = field(default_factory=lambda: os.environ)
    now: Callable[[], datetime] = field(default_factory=lambda: Runtime().now)

    async def retried(self, fetch: Callable[[], Awaitable[Result]], source: Source) -> Result:
        backoff = Backoff.from_settings(self.settings)
        return await with_backoff(fetch, backoff, what=f"fetching {source.name}", sleep=self.sleep)

    def spool(self, name: str = "fetched") -> Spool:
        return Spool(self.folder / name, self.settings.ARCHIVE_MAX_BYTES)

    def secret(self, source: Source, key: str) -> str:
        """The secret whose app setting the source names under `key`."""
        name = source.settings.get(key)
        if not isinstance(name, str) or not name.startswith(SECRET_PREFIX):
            raise SourceError(f"settings.{key}: must name an app setting that starts with {SECRET_PREFIX}")
        value = self.secrets.get(name, "")
        if not value:
            raise SourceError(f"settings.{key}: the app setting {name} is not set")
        if value.startswith(KEY_VAULT_REFERENCE):
            raise SourceError(f"settings.{key}: the Key Vault reference in {name} was not resolved")
        return value


class Fetcher(Protocol):
    def __call__(self, source: Source, around: FetchContext, /) -> AsyncGenerator[Fetched, None]:
        """What is new since the source's cursor, file by file. Each is taken before the next is fetched."""
