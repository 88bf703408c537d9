"""Exports: all data, or the data that a purge deletes, in files that can be imported again."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Patch, Session
from shared.core.ids import archive_id, file_hash
from shared.models.containers import CONTAINERS
from shared.models.sources import Archive, ArchiveStatus
from shared.operations.removal.run import run_removal
from tests.ops.commands import Commands
from tests.ops.environment import OpsPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def ops(place: OpsPlace, tmp_path: Path) -> AsyncIterator[Commands]:
    yield Commands(place, tmp_path)


MAIL = "From a@example.org Mon Jan  5 10:00:00 2026\nFrom: a@example.org\nMessage-ID: <{0}@x>\nSubject: {0}\n\n{0}\n"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


async def ingested(ops: Commands, folder: Path, word: str) -> tuple[str, bytes]:
    content = MAIL.format(word).encode()
    file = folder / f"{word}.mbox"
    file.write_bytes(content)
    assert (await ops("archive", "ingest", str(file), "--source", "exported")).code == 0
    return archive_id(file_hash(content), "exported"), content


async def test_everything_is_exported_and_its_archives_come_in_again(
    place: OpsPlace, ops: Commands, tmp_path: Path
) -> None:
    await place.clients.blobs.ensure_container(ARCHIVES_CONTAINER)
    id_, content = await ingested(ops, tmp_path, f"all-{place.bench.tag}")
    folder = tmp_path / "export"
    assert (await ops("export", str(folder))).code == 2
    ended = await ops("export", str(folder), "--all", "--json")
    assert ended.json()["documents"]["archives"] == len(lines(folder / "archives.jsonl")) > 0
    assert {file.stem for file in folder.glob("*.jsonl")} == CONTAINERS.keys() - {"locks"}
    (archive,) = [row for row in lines(folder / "archives.jsonl") if row["id"] == id_]
    assert (folder / "files" / archive["file_path"]).read_bytes() == content
    assert Archive.model_validate(archive).source == "exported"
    assert (await ops("export", str(folder), "--all")).code == 2, "an export is not written over"
    await place.clients.store.delete(Archive, id_, Session())
    assert (await ops("archive", "import", str(folder), "--json")).json()["archives"] >= 1
    assert (await place.clients.store.read(Archive, id_, Session())).file_hash == file_hash(content)


async def test_a_purge_exports_first_and_what_it_deleted_comes_in_again(
    place: OpsPlace, ops: Commands, tmp_path: Path
) -> None:
    await place.clients.blobs.ensure_container(ARCHIVES_CONTAINER)
    place.empty("removal")
    id_, content = await ingested(ops, tmp_path, f"purged-{place.bench.tag}")
    failed = {"status": ArchiveStatus.FAILED_MAX_RETRIES.value, "lastError": "X: bad"}
    await place.clients.store.patch(Archive, Patch(id_, set=failed), Session())
    written = tmp_path / "failed.jsonl"
    await ops("documents", "list", "--only", "failed", "-c", "archives", "--output", str(written))
    assert [row["lastError"] for row in lines(written) if row["id"] == id_] == ["X: bad"]
    folder = tmp_path / "purged"
    assert (await ops("documents", "purge", "archives", id_, "--output", str(folder), "--yes")).code == 0
    assert [row["id"] for row in lines(folder / id_ / "archives.jsonl")] == [id_]
    (asked,) = await place.waiting("removal")
    await run_removal(json.loads(b"".join(asked.body))["removal_id"], place.clients)
    place.empty("removal")
    assert await place.clients.store.find(Archive, id_, Session()) is None
    assert (await ops("archive", "import", str(folder / id_))).code == 0
    archive = await place.clients.store.read(Archive, id_, Session())
    pieces = [piece async for piece in place.clients.blobs.read(ARCHIVES_CONTAINER, archive.file_path)]
    assert b"".join(pieces) == content
