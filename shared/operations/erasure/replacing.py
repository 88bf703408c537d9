"""Replaces an archive that contains mail which must be erased or is older than its source keeps mail."""

import tempfile
from pathlib import Path

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.ingestion.fetcher import LocalFile
from shared.ingestion.redaction import Redacted
from shared.ingestion.storing import Incoming, Origin, redacted, store_archive
from shared.models.sources import Archive
from shared.operations.removal.requests import request_removal

NOTHING = Redacted(0, 0)


async def replace_archive(clients: Clients, id_: str, requested_by: str) -> tuple[Redacted, str | None]:
    """Store the remaining mail as a new archive, and request the deletion of the old one. Repeatable."""
    archive = await clients.store.find(Archive, id_, Session())
    if archive is None:
        return NOTHING, None
    new_id: str | None = None
    with tempfile.TemporaryDirectory(prefix="replace-") as folder:
        path = Path(folder) / "whole"
        try:
            with path.open("wb") as file:
                await clients.blobs.save(ARCHIVES_CONTAINER, archive.file_path, file)
        except DocumentNotFoundError:
            return NOTHING, None
        name = archive.file_path.rpartition("/")[2]
        whole = LocalFile(path, archive.file_hash, archive.file_size_bytes, name)
        origin = Origin(archive.source, archive.source_type, archive.source_url, archive.ingestion_date)
        kept, found = await redacted(Incoming(whole, origin), Path(folder), clients)
        if found.erased and found.left:
            new_id = (await store_archive(kept, clients)).archive.id
    if found.erased:
        now = clients.runtime.now()
        await request_removal(clients, "archive", id_, requested_by=requested_by, now=now, replaced=True)
    return found, new_id
