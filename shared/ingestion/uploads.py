"""Uploads in one request, or in parts (blocks of one blob) so that a transfer can be resumed."""

import asyncio
import logging
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.calls import is_request
from shared.azure.classify import SDK_ERRORS, classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import span
from shared.core.errors import PermanentError
from shared.core.ids import upload_id
from shared.ingestion.errors import (
    ArchiveChangedError,
    ArchiveError,
    ArchiveRemovedError,
    SourceRemovedError,
)
from shared.ingestion.fetcher import Spool, check_size
from shared.ingestion.storing import Incoming, Origin, Stored, record_ingestion_failure, store_archive
from shared.models.sources import FetchedArchive, JoinedUpload, Operation, Source, SourceType
from shared.pipeline.retry import GaveUpError, RetryPolicy, with_backoff
from shared.pipeline.topology import INGESTION

NO_TIME = "no_time_to_retry"


@dataclass(frozen=True)
class Upload:
    content: bytes | memoryview
    filename: str
    source: str


async def store_upload(
    upload: Upload, clients: Clients, *, progress: Callable[[str], None] = lambda _step: None
) -> Stored:
    """Store an upload. The sender gets an ArchiveError if it is not mail. Other failures are recorded."""
    started = clients.runtime.now()
    with (
        span("upload", attributes={"pipeline.source": upload.source}),
        tempfile.TemporaryDirectory(prefix="upload-") as folder,
        Spool(Path(folder) / "upload", clients.settings.ARCHIVE_MAX_BYTES) as spool,
    ):
        await asyncio.to_thread(spool.write_all, memoryview(upload.content))
        incoming = _incoming(spool, upload.filename, upload.source, started)
        try:
            return await _store(incoming, clients, progress)
        except GaveUpError as error:
            if isinstance(error.__cause__, (ArchiveError, SourceRemovedError, ArchiveRemovedError)):
                raise error.__cause__ from None
            if error.reason == NO_TIME:  # The sender sees the error, and still has the file.
                raise
            await record_ingestion_failure(error, incoming.origin, clients)
            raise


def _incoming(spool: Spool, filename: str, source: str, started: datetime) -> Incoming:
    return Incoming(spool.file(filename), Origin(source, SourceType.UPLOAD, f"upload:{filename}", started))


async def _store(
    incoming: Incoming, clients: Clients, progress: Callable[[str], None] = lambda _step: None
) -> Stored:
    async def attempt() -> Stored:
        try:
            return await store_archive(incoming, clients, progress=progress)
        except Exception as error:
            failure = classify(error)
            if not (failure.is_outage and is_request()):
                raise
            # A request that waits fails immediately, not after all retries.
            raise GaveUpError(NO_TIME, 1, failure) from error

    backoff = RetryPolicy.of_events(clients.settings).transient
    what = f"storing the upload {incoming.file.filename}"
    return await with_backoff(attempt, backoff, what=what, sleep=clients.runtime.sleep)


async def missing_source_advice(name: str, clients: Clients) -> str | None:
    """Return advice if no source has this name, because decisions are recognized by the roles of a source."""
    if await clients.store.find(Source, name, Session()) is not None:
        return None
    return (
        f"No source is named {name}, so its chairs and maintainers are unknown and their decisions are not"
        f" recognized. Define it: python -m ops source add {name} --type upload --preset ietf"
        f" --role chair@example.org=chair. Then summarize again: python -m ops resummarize --source {name}"
    )


async def store_joined_upload(operation: Operation, upload: JoinedUpload, clients: Clients) -> FetchedArchive:
    """Store a joined upload as an archive. The caller deletes the blob of the upload."""
    with (
        tempfile.TemporaryDirectory(prefix="upload-") as folder,
        Spool(Path(folder) / "upload", clients.settings.ARCHIVE_MAX_BYTES) as spool,
    ):
        async for piece in clients.blobs.read(ARCHIVES_CONTAINER, upload.path):
            spool.write(piece)
        if spool.size != upload.size:  # The upload address stays writable until it expires.
            raise ArchiveChangedError(f"the file has {spool.size} bytes, and {upload.size} were sent")
        incoming = _incoming(spool, upload.filename, operation.source, operation.created_at)
        stored = await _store(incoming, clients)
    return FetchedArchive(
        archive_id=stored.archive.id, filename=upload.filename[:200], duplicate=stored.duplicate
    )


log = logging.getLogger(__name__)
PART_BYTES = 8 * 1024 * 1024
FOLDER = "incoming"
ADDRESS_VALID = timedelta(minutes=30)  # A longer upload requests another address.


class WrongPartError(PermanentError):
    """The part does not belong to the file, or parts are missing."""


@dataclass(frozen=True, slots=True)
class PartedUpload:
    source: str
    filename: str
    size: int
    modified: int  # Milliseconds, from the browser.

    @property
    def path(self) -> str:
        return f"{FOLDER}/{upload_id(self.source, self.filename, self.size, self.modified)}"

    @property
    def count(self) -> int:
        return -(-self.size // PART_BYTES)

    def size_of(self, number: int) -> int:
        return min(PART_BYTES, self.size - number * PART_BYTES)


async def stored_parts(clients: Clients, upload: PartedUpload) -> list[int]:
    check_size(upload.size, clients.settings.ARCHIVE_MAX_BYTES)
    staged = await clients.blobs.staged_parts(ARCHIVES_CONTAINER, upload.path)
    return sorted(
        number for number, size in staged.items() if number < upload.count and size == upload.size_of(number)
    )


async def direct_address(clients: Clients, upload: PartedUpload) -> str | None:
    """Return an upload address in Blob storage, or None if that is switched off or signing fails."""
    if not clients.settings.DIRECT_UPLOADS:
        return None
    now = clients.runtime.now()
    try:
        return await clients.blobs.upload_address(
            ARCHIVES_CONTAINER, upload.path, since=now, until=now + ADDRESS_VALID
        )
    except SDK_ERRORS:  # The browser then sends the parts through the app.
        log.warning("no upload address could be signed: has the app the role to delegate?", exc_info=True)
        return None


async def store_part(clients: Clients, upload: PartedUpload, number: int, content: bytes) -> None:
    if not 0 <= number < upload.count:
        raise WrongPartError(f"the file has {upload.count} parts, and no part {number}")
    if len(content) != upload.size_of(number):
        raise WrongPartError(f"part {number} has {len(content)} bytes instead of {upload.size_of(number)}")
    await clients.blobs.stage_part(ARCHIVES_CONTAINER, upload.path, number, content)


async def request_operation(operation: Operation, clients: Clients, session: Session) -> None:
    await clients.store.create(operation, session)
    request = {"operation_id": operation.id, "session": session.tokens()}
    await clients.bus.send_request(INGESTION.name, request, operation.id)


async def join_and_request(clients: Clients, upload: PartedUpload, requested_by: str) -> str:
    """Join the parts and request an operation that stores the file. Return the operation's id."""
    missing = upload.count - len(await stored_parts(clients, upload))
    if missing:
        raise WrongPartError(f"{missing} of {upload.count} parts are missing: send them, and end it again")
    await clients.blobs.join_parts(ARCHIVES_CONTAINER, upload.path, upload.count)
    operation = Operation(
        id=uuid.uuid4().hex,
        source=upload.source,
        requested_by=requested_by,
        created_at=clients.runtime.now(),
        upload=JoinedUpload(path=upload.path, filename=upload.filename, size=upload.size),
    )
    await request_operation(operation, clients, Session())
    return operation.id
