"""Takes in a file that was sent in parts: from its blob to an archive as any other. Safe to repeat."""

import tempfile
from pathlib import Path

from shared.clients.blobs import ARCHIVES_CONTAINER
from shared.clients.connections import Clients
from shared.documents.sources import FetchedArchive, JoinedUpload, Operation, SourceType
from shared.ingestion.errors import ArchiveChangedError
from shared.ingestion.spool import Spool
from shared.ingestion.storing import Incoming, Stored, store_archive
from shared.ingestion.uploads import URL
from shared.pipeline.retry.loops import with_backoff
from shared.pipeline.retry.policies import Backoff


async def take_joined(operation: Operation, upload: JoinedUpload, clients: Clients) -> FetchedArchive:
    """Store it as an archive. The blob that it came in goes when the operation has ended."""
    with (
        tempfile.TemporaryDirectory(prefix="upload-") as folder,
        Spool(Path(folder) / "upload", clients.settings.ARCHIVE_MAX_BYTES) as spool,
    ):
        async for piece in clients.blobs.read(ARCHIVES_CONTAINER, upload.path):
            spool.write(piece)
        spool.flush()
        if spool.size != upload.size:  # somebody who may write to its address has put something else there
            raise ArchiveChangedError(f"the file has {spool.size} bytes, and {upload.size} were sent")
        incoming = Incoming(
            path=spool.path,
            sha256=spool.sha256,
            size=spool.size,
            filename=upload.filename,
            source=operation.source,
            source_type=SourceType.UPLOAD,
            source_url=f"{URL}{upload.filename}",
            started_at=operation.created_at,
        )
        stored: Stored = await with_backoff(
            lambda: store_archive(incoming, clients),
            Backoff.from_settings(clients.settings),
            what=f"storing the upload {upload.filename}",
            sleep=clients.runtime.sleep,
        )
    return FetchedArchive(
        archive_id=stored.archive.id, filename=upload.filename[:200], duplicate=stored.duplicate
    )


async def forget_joined(upload: JoinedUpload, clients: Clients) -> None:
    await clients.blobs.delete(ARCHIVES_CONTAINER, upload.path)
