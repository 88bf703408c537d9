"""Large files, sent in parts: each is kept as it comes, so that a broken transfer goes on where it broke.

The parts are blocks of one blob, which Blob storage keeps for a week until they are put together. A request
says which file it is about, and the server keeps nothing else of it. A part comes through the app, or
straight from the browser to the address that it was given for this file; either way it is the same block.
"""

import logging
import uuid
from dataclasses import dataclass
from datetime import timedelta

from shared.clients.blobs import ARCHIVES_CONTAINER
from shared.clients.classify import SDK_ERRORS
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import PermanentError
from shared.core.ids import upload_id
from shared.documents.sources import JoinedUpload, Operation
from shared.ingestion.errors import ArchiveTooLargeError
from shared.pipeline.topology import INGESTION

log = logging.getLogger(__name__)
PART_BYTES = 8 * 1024 * 1024
FOLDER = "incoming"
ADDRESS_VALID = timedelta(minutes=30)  # who sends for longer asks for another


class WrongPartError(PermanentError):
    """The part is not one of the file, or parts are missing."""


@dataclass(frozen=True, slots=True)
class PartedUpload:
    source: str
    filename: str
    size: int
    modified: int  # what the browser says of the file, in milliseconds

    @property
    def path(self) -> str:
        return f"{FOLDER}/{upload_id(self.source, self.filename, self.size, self.modified)}"

    @property
    def count(self) -> int:
        return -(-self.size // PART_BYTES)

    def size_of(self, number: int) -> int:
        return min(PART_BYTES, self.size - number * PART_BYTES)


async def parts_here(clients: Clients, upload: PartedUpload) -> list[int]:
    """Which parts need not be sent again."""
    if upload.size > clients.settings.ARCHIVE_MAX_BYTES:
        most = clients.settings.ARCHIVE_MAX_BYTES
        raise ArchiveTooLargeError(
            f"the archive has more than {most} bytes; split it, or raise ARCHIVE_MAX_BYTES"
        )
    staged = await clients.blobs.staged_parts(ARCHIVES_CONTAINER, upload.path)
    return sorted(
        number for number, size in staged.items() if number < upload.count and size == upload.size_of(number)
    )


async def direct_address(clients: Clients, upload: PartedUpload) -> str | None:
    """Where the parts can be sent to past this app; None where that is off, or nothing can be signed."""
    if not clients.settings.DIRECT_UPLOADS:
        return None
    now = clients.runtime.now()
    try:
        return await clients.blobs.upload_address(
            ARCHIVES_CONTAINER, upload.path, since=now, until=now + ADDRESS_VALID
        )
    except SDK_ERRORS:  # the parts come through the app then
        log.warning("no upload address could be signed: has the app the role to delegate?", exc_info=True)
        return None


async def keep_part(clients: Clients, upload: PartedUpload, number: int, content: bytes) -> None:
    if not 0 <= number < upload.count:
        raise WrongPartError(f"the file has {upload.count} parts, and no part {number}")
    if len(content) != upload.size_of(number):
        raise WrongPartError(f"part {number} has {len(content)} bytes instead of {upload.size_of(number)}")
    await clients.blobs.stage_part(ARCHIVES_CONTAINER, upload.path, number, content)


async def join_and_request(clients: Clients, upload: PartedUpload, requested_by: str) -> str:
    """Put the parts together and have the file taken in; the operation that does it."""
    missing = upload.count - len(await parts_here(clients, upload))
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
    session = Session()
    await clients.store.create(operation, session)
    request = {"operation_id": operation.id, "session": session.tokens()}
    await clients.bus.send_request(INGESTION.name, request, operation.id)
    return operation.id
