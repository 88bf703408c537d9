"""A file or a folder of files on this machine: for development, where ALLOW_LOCAL_SOURCES says so."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shared.clients.outbound import SourceError
from shared.documents.sources import Source
from shared.ingestion.fetcher import FetchContext, Fetched
from shared.ingestion.spool import Spool
from shared.settings.app import Settings

MAX_FILES = 2000
PIECE = 1024 * 1024


async def fetch_local(source: Source, around: FetchContext) -> AsyncGenerator[Fetched, None]:
    """The files that are new or changed since the cursor, by name. Links are not followed."""
    check_local_allowed(around.settings)
    known = source.cursor.get("files", {}) if source.cursor.get("url") == source.url else {}
    seen = dict(known)
    for path in await asyncio.to_thread(_files, local_path(source.url)):
        status = await asyncio.to_thread(path.stat)
        version = [status.st_size, status.st_mtime_ns]
        if known.get(path.name) == version:
            continue
        with around.spool() as spool:
            await asyncio.to_thread(_copy, path, spool)
            seen = {**seen, path.name: version}
            cursor = {"url": source.url, "files": seen}
            yield Fetched(spool.path, spool.sha256, spool.size, path.name, path.as_uri(), cursor)


def check_local_allowed(settings: Settings) -> None:
    if not settings.ALLOW_LOCAL_SOURCES:
        raise SourceError("local sources are for development; set ALLOW_LOCAL_SOURCES=true to allow them")


def local_path(url: str) -> Path:
    """The path that a source names, as it is or as a file: address."""
    parts = urlsplit(url)
    if parts.scheme not in {"", "file"} or parts.netloc not in {"", "localhost"}:
        raise SourceError("a local source is a path, or a file:// address without a host")
    path = Path(unquote(parts.path) if parts.scheme else url)
    if not path.is_absolute():
        raise SourceError("a local source is an absolute path")
    return path


def _files(path: Path) -> list[Path]:
    if path.is_symlink() or not path.exists():
        raise SourceError(f"{path}: there is no such file or folder")
    if path.is_file():
        return [path]
    found = sorted(file for file in path.iterdir() if file.is_file() and not file.is_symlink())
    if len(found) > MAX_FILES:
        raise SourceError(f"{path}: it has more than {MAX_FILES} files")
    return found


def _copy(path: Path, spool: Spool) -> None:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            spool.write(piece)
    spool.flush()
