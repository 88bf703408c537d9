"""The interface of fetchers, and the functions that they share."""

import hashlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from shared.azure.connections import Clients
from shared.azure.outbound import AddressPolicy, SourceError
from shared.ingestion.errors import ArchiveTooLargeError
from shared.models.sources import Source
from shared.pipeline.retry import RetryPolicy, with_backoff

PIECE = 1024 * 1024


class LocalFile(NamedTuple):
    """A complete local copy of a file."""

    path: Path
    sha256: str
    size: int
    filename: str


def check_size(size: int, most: int) -> None:
    if size > most:
        raise ArchiveTooLargeError(
            f"the archive has more than {most} bytes; split it, or raise ARCHIVE_MAX_BYTES"
        )


class Spool:
    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.size = 0
        self._limit = limit
        self._hash = hashlib.sha256()
        self._file = path.open("wb")

    def check(self, size: int) -> None:
        """Raise ArchiveTooLargeError for an announced size before the content is read."""
        check_size(size, self._limit)

    def write(self, piece: bytes) -> None:
        self.check(self.size + len(piece))
        self._file.write(piece)
        self._hash.update(piece)
        self.size += len(piece)

    def write_all(self, content: memoryview) -> None:
        self.check(len(content))
        for start in range(0, len(content), PIECE):
            self.write(bytes(content[start : start + PIECE]))

    def copy(self, path: Path) -> None:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                self.write(piece)

    def restart(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._hash = hashlib.sha256()
        self.size = 0

    def file(self, filename: str) -> LocalFile:
        self._file.flush()
        return LocalFile(self.path, self._hash.hexdigest(), self.size, filename)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


# A source can name only settings with this prefix. Otherwise it could send any secret to any server.
SECRET_PREFIX = "SOURCE_SECRET_"  # noqa: S105 - a name, not a secret
Result = TypeVar("Result")
# Of a whole fetch. It is shorter than the time limit of the function (FUNCTION_MINUTES)
TIMEOUT_SECONDS = 25 * 60.0
IDLE_SECONDS = 60.0  # Without a byte, after which the source counts as down.


class Fetched(NamedTuple):
    """A fetched file, and the cursor to store after the file."""

    file: LocalFile
    url: str
    cursor: dict[str, Any]


@dataclass(frozen=True)
class FetchContext:
    """The dependencies of a fetcher."""

    clients: Clients
    folder: Path
    policy: AddressPolicy
    secrets: Mapping[str, str] = field(default_factory=lambda: os.environ)

    async def retried(self, fetch: Callable[[], Awaitable[Result]], source: Source) -> Result:
        backoff, sleep = RetryPolicy.of_events(self.clients.settings).transient, self.clients.runtime.sleep
        return await with_backoff(fetch, backoff, what=f"fetching {source.name}", sleep=sleep)

    def spool(self) -> Spool:
        return Spool(self.folder / "fetched", self.clients.settings.ARCHIVE_MAX_BYTES)

    def password(self, source: Source, host: str) -> str:
        """Return the password, which may be sent only to the host in the app setting `<name>_HOST`."""
        password = self.secret(source, "password_setting")
        name = f"{source.settings['password_setting']}_HOST"
        if self.secrets.get(name, "").lower() != host.lower():
            raise SourceError(f"settings.password_setting: set the app setting {name} to {host} to allow it")
        return password

    def secret(self, source: Source, key: str) -> str:
        """Return the secret whose app setting the source names under `key`."""
        name = source.settings.get(key)
        if not isinstance(name, str) or not name.startswith(SECRET_PREFIX):
            raise SourceError(f"settings.{key}: must name an app setting that starts with {SECRET_PREFIX}")
        value = self.secrets.get(name, "")
        if not value:
            raise SourceError(f"settings.{key}: the app setting {name} is not set")
        if value.startswith("@Microsoft.KeyVault("):
            raise SourceError(f"settings.{key}: the Key Vault reference in {name} was not resolved")
        return value


class Fetcher(Protocol):
    def __call__(self, source: Source, context: FetchContext, /) -> AsyncGenerator[Fetched, None]:
        """Yield the files that are new since the cursor. Each is stored before the next is fetched."""
