"""Takes documents and files out of the system, in formats that others can read.

One folder: `<container>.jsonl` has a document a line, as `shared/schemas/documents` has it, and `files/` the
archives as they came in. The archives are what everything else is made of: `archive import` reads them.
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
NOT_EXPORTED = frozenset({"locks"})  # they are about processes that run
Row = Mapping[str, Any]


@dataclass
class Exported:
    """What is in the folder, by container; and the archives whose file is lost."""

    documents: dict[str, int] = field(default_factory=dict)
    files: int = 0
    lost: list[str] = field(default_factory=list)


class ExportExistsError(ValueError):
    """The folder has an export already."""


async def export_all(clients: Clients, folder: Path) -> Exported:
    """Write every document and every file."""
    _make(folder)
    done = Exported()
    for container in sorted(CONTAINERS.keys() - NOT_EXPORTED):
        await _write(clients, folder, container, [EVERYTHING[container]], {}, done)
    await _files(clients, folder, done)
    return done


async def export_archive(clients: Clients, archive_id: str, folder: Path) -> Exported:
    """Write an archive, its file, and what was made of it: what its deletion takes away."""
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
    """Add the rows to the container's file."""
    with (folder / f"{container}.jsonl").open("a", encoding="utf-8") as file:
        for query in queries:
            async for row in clients.store.query(query, Session(), **values):
                file.write(json.dumps(_shown(row), ensure_ascii=False) + "\n")
                done.documents[container] = done.documents.get(container, 0) + 1


def _shown(row: Row) -> dict[str, Any]:
    """Without what the service adds."""
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
    """Yield source, name and content of each archive of an export."""
    for archive in read_lines(folder / "archives.jsonl"):
        path = folder / FILES / archive["file_path"]
        content = await asyncio.to_thread(_content, path, folder)
        if content is not None:
            yield archive["source"], path.name, content


def _content(path: Path, folder: Path) -> bytes | None:
    """Return None where the file is lost. No file outside of the export is read."""
    inside = path.resolve().is_relative_to(folder.resolve())
    return path.read_bytes() if inside and path.is_file() else None
