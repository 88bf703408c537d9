"""Exports documents and files in formats that other tools can read.

The folder has one `<container>.jsonl` for each container, with one document a line as described by
`shared/schemas/documents`, and `files/` with the original archives. `archive import` reads the archives.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.models.containers import CONTAINERS
from shared.models.queries.exports import EVERYTHING, OF_ARCHIVE, OF_THREAD
from shared.models.queries.named_query import NamedQuery

FILES = "files"
NOT_EXPORTED = frozenset({"locks"})  # locks belong to running processes
Row = Mapping[str, Any]


@dataclass
class Exported:
    """The counts of exported documents by container, and the archives whose file is lost."""

    documents: dict[str, int] = field(default_factory=dict)
    files: int = 0
    lost: list[str] = field(default_factory=list)


class ExportExistsError(ValueError):
    """The folder is not empty."""


async def export_all(clients: Clients, folder: Path) -> Exported:
    _make(folder)
    done = Exported()
    for container in sorted(CONTAINERS.keys() - NOT_EXPORTED):
        await _write(clients, folder, container, [EVERYTHING[container]], {}, done)
    await _files(clients, folder, done)
    return done


async def export_archive(clients: Clients, archive_id: str, folder: Path) -> Exported:
    """Write an archive, its file, and all documents that its deletion would remove."""
    _make(folder)
    done, session = Exported(), Session()
    of_archive = {query.container: query for query in OF_ARCHIVE}
    threads = {
        row["thread_id"]
        async for row in clients.store.query(of_archive["messages"], session, archive=archive_id)
    }
    for container, query in of_archive.items():
        await _write(clients, folder, container, [query], {"archive": archive_id}, done)
    for query in OF_THREAD:
        for thread in sorted(threads):
            await _write(clients, folder, query.container, [query], {"thread": thread}, done)
    await _files(clients, folder, done)
    return done


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ExportExistsError(f"{folder} is not empty: name another folder")


async def _write(
    clients: Clients,
    folder: Path,
    container: str,
    queries: Iterable[NamedQuery],
    values: Mapping[str, str],
    done: Exported,
) -> None:
    with (folder / f"{container}.jsonl").open("a", encoding="utf-8") as file:
        for query in queries:
            async for row in clients.store.query(query, Session(), **values):
                file.write(json.dumps(_without_system_fields(row), ensure_ascii=False) + "\n")
                done.documents[container] = done.documents.get(container, 0) + 1


def _without_system_fields(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("_")}


async def _files(clients: Clients, folder: Path, done: Exported) -> None:
    for archive in read_lines(folder / "archives.jsonl"):
        path = folder / FILES / archive["file_path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("wb") as file:
                await clients.blobs.save(ARCHIVES_CONTAINER, archive["file_path"], file)
        except DocumentNotFoundError:
            path.unlink()
            done.lost.append(archive["id"])
        else:
            done.files += 1


def read_lines(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


async def exported_archives(folder: Path) -> AsyncIterator[tuple[str, str, bytes]]:
    for archive in read_lines(folder / "archives.jsonl"):
        path = folder / FILES / archive["file_path"]
        content = await asyncio.to_thread(_content, path, folder)
        if content is not None:
            yield archive["source"], path.name, content


def _content(path: Path, folder: Path) -> bytes | None:
    """Return the content, or None if the file is lost. Files outside the export are not read."""
    inside = path.resolve().is_relative_to(folder.resolve())
    return path.read_bytes() if inside and path.is_file() else None
