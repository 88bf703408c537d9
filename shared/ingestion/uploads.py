"""An upload: its bytes to a temporary file, and on as any other archive."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.deadlines import current_request
from shared.clients.telemetry.tracing import span
from shared.core.errors import ServiceSilentError
from shared.documents.sources import Source, SourceType
from shared.ingestion.errors import ArchiveRemovedError, SourceRemovedError
from shared.ingestion.failures import IngestionAttempt, record_ingestion_failure
from shared.ingestion.spool import Spool
from shared.ingestion.storing import Incoming, Stored, store_archive
from shared.ingestion.unpacking.errors import ArchiveError
from shared.pipeline.retry.loops import AbandonedError, with_backoff
from shared.pipeline.retry.policies import Backoff

PIECE = 1024 * 1024
URL = "upload:"
NO_TIME = "no_time_to_retry"


@dataclass(frozen=True)
class Upload:
    content: bytes | memoryview
    filename: str
    source: str


async def take_upload(
    upload: Upload,
    clients: Clients,
    *,
    progress: Callable[[str], None] = lambda _step: None,
) -> Stored:
    """Store it. ArchiveError where it is no mail, which is the sender's to know; other failures are told."""
    started = clients.runtime.now()
    with (
        span("upload", attributes={"pipeline.source": upload.source}),
        tempfile.TemporaryDirectory(prefix="upload-") as folder,
        Spool(Path(folder) / "upload", clients.settings.ARCHIVE_MAX_BYTES) as spool,
    ):
        await asyncio.to_thread(_write, upload.content, spool)
        incoming = Incoming(
            path=spool.path,
            sha256=spool.sha256,
            size=spool.size,
            filename=upload.filename,
            source=upload.source,
            source_type=SourceType.UPLOAD,
            source_url=f"{URL}{upload.filename}",
            started_at=started,
        )
        try:
            return await with_backoff(
                lambda: _stored_in_time(incoming, clients, progress),
                Backoff.from_settings(clients.settings),
                what=f"storing the upload {upload.filename}",
                sleep=clients.runtime.sleep,
            )
        except AbandonedError as error:
            if isinstance(error.__cause__, (ArchiveError, SourceRemovedError, ArchiveRemovedError)):
                raise error.__cause__ from None
            if error.reason == NO_TIME:  # who sent it is told, and has the file
                raise
            given = IngestionAttempt(upload.source, SourceType.UPLOAD, incoming.source_url, started)
            await record_ingestion_failure(error, given, clients, now=clients.runtime.now())
            raise


async def note_on_source(name: str, clients: Clients) -> str | None:
    """What to do where no source has this name: without its roles most decisions are not recognized."""
    if await clients.store.find(Source, name, name, Session()) is not None:
        return None
    return (
        f"No source is named {name}, so its chairs and maintainers are unknown and their decisions are not"
        f" recognized. Define it: rough-consensus source add {name} --type upload --preset ietf"
        f" --role chair@example.org=chair. Then summarize again: rough-consensus resummarize --source {name}"
    )


async def _stored_in_time(incoming: Incoming, clients: Clients, progress: Callable[[str], None]) -> Stored:
    """Somebody who waits is told at once of a service that does not answer, instead of after all retries."""
    try:
        return await store_archive(incoming, clients, progress=progress)
    except ServiceSilentError as error:
        if current_request() is None:
            raise
        raise AbandonedError(NO_TIME, 1, classify(error)) from error


def _write(content: bytes | memoryview, spool: Spool) -> None:
    view = memoryview(content)
    spool.check(len(view))
    for start in range(0, len(view), PIECE):
        spool.write(bytes(view[start : start + PIECE]))
    spool.flush()
