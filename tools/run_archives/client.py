"""A client of the app's public HTTP API: uploads archives and requests their progress."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

LARGEST_UPLOAD = 90 * 1024 * 1024  # the host's limit for a body. A local source reads larger files itself
TIMEOUT = aiohttp.ClientTimeout(total=120)
LONGEST_NAME = 63
HTTP_CONFLICT = 409
HTTP_UNAVAILABLE = 503
POLL_SECONDS = 0.4
BUSY_SECONDS = 60.0  # after this time, a busy service counts as down
DEFINITIONS = "sources.json"
"""A file next to the archives: their lists in the format of `POST /api/sources`, with their chairs."""


class AppError(RuntimeError):
    """The app rejected a request. The message has its reason."""


@dataclass(frozen=True)
class ArchiveFile:
    path: Path
    size: int

    @property
    def source(self) -> str:
        """The list's name, from the file's name: `quic-2024-01.mbox.gz` becomes the source `quic-2024-01`."""
        stem = self.path.name.partition(".")[0]
        return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:LONGEST_NAME] or "uploads"


@dataclass(frozen=True)
class Taken:
    """An archive in the app, and whether it was already there."""

    archive_id: str
    name: str
    duplicate: bool
    note: str | None = None  # the app's note about missing information


class App:
    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self.base = base

    async def get(self, path: str, **parameters: str) -> Any:
        """Get a resource. Retry while the app is busy, because the machine may be under load."""
        until = asyncio.get_running_loop().time() + BUSY_SECONDS
        while True:
            async with self._session.get(f"{self.base}{path}", params=parameters) as answer:
                if answer.status != HTTP_UNAVAILABLE or asyncio.get_running_loop().time() >= until:
                    return await _read(answer, path)
            await asyncio.sleep(POLL_SECONDS)

    async def post(self, path: str, **options: Any) -> Any:
        async with self._session.post(f"{self.base}{path}", **options) as answer:
            return await _read(answer, path)

    async def take_in(self, archive: ArchiveFile) -> list[Taken]:
        """Upload the archive. If it is too large, define a source that the app reads from disk."""
        if archive.size > LARGEST_UPLOAD:
            return await self._fetch(archive)
        named = {"source": archive.source, "filename": archive.path.name}
        with archive.path.open("rb") as file:
            try:
                taken = await self.post("/api/archives", params=named, data=file)
            except AppError as error:
                raise AppError(f"{archive.path.name}: {error}") from None
        return [Taken(taken["archive_id"], archive.path.name, taken["duplicate"], taken.get("note"))]

    async def define(self, source: dict[str, Any]) -> None:
        async with self._session.post(f"{self.base}/api/sources", json=source) as answer:
            if answer.status != HTTP_CONFLICT:  # the source exists from an earlier start
                await _read(answer, "/api/sources")

    async def _fetch(self, archive: ArchiveFile) -> list[Taken]:
        name, path = archive.source, archive.path
        await self.define({"name": name, "source_type": "local", "url": str(path)})
        operation = await self.post(f"/api/sources/{name}/trigger")
        while operation["status"] in {"pending", "running"}:
            await asyncio.sleep(POLL_SECONDS)
            operation = await self.get(f"/api/operations/{operation['id']}")
        if operation["error"]:
            raise AppError(f"{path}: {operation['error']}")
        archives = operation["archives"]
        return [Taken(archive["archive_id"], path.name, archive["duplicate"]) for archive in archives]


@asynccontextmanager
async def open_app(base: str) -> AsyncIterator[App]:
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        yield App(session, base)


def archives_at(path: Path) -> list[ArchiveFile]:
    """Return the archive, or the archives of a folder."""
    found = [path] if path.is_file() else sorted(path.glob("[!.]*"))
    files = [
        ArchiveFile(file.resolve(), file.stat().st_size)
        for file in found
        if file.is_file() and file.name != DEFINITIONS
    ]
    if not files:
        raise AppError(f"{path}: no such file or folder with archives")
    return files


def definitions_at(path: Path) -> list[dict[str, Any]]:
    """Return the lists that the folder defines, or the list of a single archive, or an empty list."""
    file = (path.parent if path.is_file() else path) / DEFINITIONS
    if not file.is_file():
        return []
    archives = {archive.source for archive in archives_at(path)} if path.is_file() else None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AppError(f"{file}: not valid JSON: {error}") from None
    if not isinstance(found, list) or not all(isinstance(source, dict) for source in found):
        raise AppError(f"{file}: must contain a list of sources in the format of POST /api/sources")
    return [source for source in found if archives is None or source.get("name") in archives]


async def _read(answer: aiohttp.ClientResponse, path: str) -> Any:
    body = await answer.json(content_type=None)
    if not answer.ok:
        detail = body.get("detail") if isinstance(body, dict) else None
        raise AppError(f"{path}: {answer.status} {detail or answer.reason}")
    return body
