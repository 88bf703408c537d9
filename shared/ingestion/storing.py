"""Store an archive: its file as a blob, its document, and the event. Every step is safe to repeat."""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import pipeline_metrics, tag_with_archive
from shared.core.errors import ClassifiedError
from shared.core.ids import archive_id
from shared.core.times import stored_time
from shared.ingestion.archive_members import check_archive
from shared.ingestion.errors import (
    AllErasedError,
    ArchiveRemovedError,
    HashCollisionError,
    SourceRemovedError,
)
from shared.ingestion.fetcher import LocalFile
from shared.ingestion.redaction import Redacted, redact
from shared.ingestion.suppressing import suppression_list
from shared.ingestion.unpacked_streams import UnpackLimits, safe_filename
from shared.models.sources import Archive, ArchiveStatus, Removal
from shared.pipeline.event_builders import archive_ingested, error_fields
from shared.pipeline.event_types import ArchiveIngestionFailed
from shared.pipeline.events import Event
from shared.pipeline.failures import failure_record
from shared.pipeline.retry import NON_RETRYABLE, GaveUpError
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state.archives import DONE, find_removal
from shared.pipeline.state.attempts import reset
from shared.pipeline.topology import INGESTION

log = logging.getLogger(__name__)
Progress = Callable[[str], None]
BEING_DELETED = "the archive {} is being deleted: upload it again afterwards"


class Origin(NamedTuple):
    """The origin of an archive, and the start of its ingestion."""

    source: str
    source_type: str
    source_url: str
    started_at: datetime


@dataclass(frozen=True)
class Incoming:
    file: LocalFile
    origin: Origin

    @property
    def archive_id(self) -> str:
        return archive_id(self.file.sha256, self.origin.source)


@dataclass(frozen=True)
class Stored:
    archive: Archive
    duplicate: bool
    announced: bool
    restored: bool = False  # The file of a known archive was lost, and is stored again.


async def store_archive(
    incoming: Incoming, clients: Clients, *, progress: Progress = lambda _step: None
) -> Stored:
    """Store and announce the file without its erased mails. Raise ArchiveError if it is not mail."""
    with tempfile.TemporaryDirectory(prefix="redacted-") as folder:
        kept, found = await redacted(incoming, Path(folder), clients)
        if found.erased and not found.left:
            raise AllErasedError
        return await _store(kept, clients, progress)


async def redacted(incoming: Incoming, folder: Path, clients: Clients) -> tuple[Incoming, Redacted]:
    """Return the archive without hidden mails, or the archive itself if no mail is hidden."""
    hidden = await suppression_list(clients, incoming.origin.source, incoming.origin.source_type)
    if not hidden:
        return incoming, Redacted(0, 0)
    target, limits = folder / "archive", UnpackLimits.of(clients.settings.ARCHIVE_MAX_BYTES)
    found = await asyncio.to_thread(redact, incoming.file.path, target, hidden, limits)
    if not found.erased:
        return incoming, found
    content = await asyncio.to_thread(target.read_bytes)
    sha256 = hashlib.sha256(content).hexdigest()
    file = LocalFile(target, sha256, len(content), incoming.file.filename)
    return Incoming(file, incoming.origin), found


async def _store(incoming: Incoming, clients: Clients, progress: Progress) -> Stored:
    session, now = Session(), clients.runtime.now
    known = await clients.store.find(Archive, incoming.archive_id, session)
    # After the read, because a deletion is recorded before it deletes
    await _check_removals(incoming, clients)
    if known is None:
        archive = await _prepare(incoming, clients, now())
        progress("checked")
        await _upload(incoming, archive, clients)
        progress("uploaded")
        if await clients.store.create(archive, session):
            progress("recorded")
            await _ensure_kept(archive, incoming, clients)
            await _announce(archive, incoming, clients, session, now())
            progress("announced")
            return Stored(archive, duplicate=False, announced=True)
        known = await clients.store.read(Archive, archive.id, session)
    return await _store_known(known, incoming, clients, session, now())


async def _upload(incoming: Incoming, archive: Archive, clients: Clients) -> None:
    with incoming.file.path.open("rb") as file:
        await clients.blobs.upload(ARCHIVES_CONTAINER, archive.file_path, file)


async def _check_removals(incoming: Incoming, clients: Clients) -> Removal | None:
    """Raise if the source or archive is being deleted. Return an earlier deletion of the archive."""
    source = await find_removal(clients.store, "source", incoming.origin.source)
    if source is not None and source.status not in DONE:
        raise SourceRemovedError(f"the source {incoming.origin.source} is being deleted: try again later")
    archive = await find_removal(clients.store, "archive", incoming.archive_id)
    if archive is not None and archive.status not in DONE:
        raise ArchiveRemovedError(BEING_DELETED.format(incoming.archive_id))
    return archive


async def _ensure_kept(archive: Archive, incoming: Incoming, clients: Clients) -> None:
    """Undo the write if a deletion has started since the first check, as it may have missed the blob."""
    try:
        removed = await _check_removals(incoming, clients)
    except (SourceRemovedError, ArchiveRemovedError):
        await clients.store.delete(Archive, archive.id, Session())
        await clients.blobs.delete(ARCHIVES_CONTAINER, archive.file_path)
        raise
    if removed is not None:
        await _upload(incoming, archive, clients)  # The deletion may have ended after the upload of the blob.


async def _store_known(
    known: Archive, incoming: Incoming, clients: Clients, session: Session, now: datetime
) -> Stored:
    if known.removing:
        raise ArchiveRemovedError(BEING_DELETED.format(known.id))
    if known.file_hash != incoming.file.sha256:
        raise HashCollisionError(
            f"{incoming.file.filename}: another archive has its id {known.id}; report this"
        )
    restored = await _restore(known, incoming, clients, session)
    untouched = known.status is ArchiveStatus.PENDING and known.lastAttemptTime is None
    if untouched:
        await _announce(known, incoming, clients, session, now)
    # An earlier attempt of the same ingestion may have written the document. It is then not a duplicate.
    duplicate = (known.ingestion_date, known.source) != (incoming.origin.started_at, incoming.origin.source)
    if duplicate:
        log.debug("archive %s is already stored, skipping", known.id)
        pipeline_metrics().duplicates.add(1, {"service": INGESTION.name, "kind": "archive"})
    return Stored(known, duplicate=duplicate, announced=untouched, restored=restored)


async def _restore(known: Archive, incoming: Incoming, clients: Clients, session: Session) -> bool:
    """Write the lost file of a known archive again, and retry the archive if it failed."""
    if await clients.blobs.size(ARCHIVES_CONTAINER, known.file_path) == known.file_size_bytes:
        return False
    log.warning("the file of archive %s was lost, and is written again", known.id)
    await _upload(incoming, known, clients)
    if known.lastError is not None:
        await reset(clients.store, DocumentRef(Archive, known.id), session, error=known.lastError)
    return True


async def _prepare(incoming: Incoming, clients: Clients, now: datetime) -> Archive:
    limits, id_ = UnpackLimits.of(clients.settings.ARCHIVE_MAX_BYTES), incoming.archive_id
    format_ = await asyncio.to_thread(check_archive, incoming.file.path, limits)
    return Archive(
        id=id_,
        archive_id=id_,
        file_hash=incoming.file.sha256,
        file_size_bytes=incoming.file.size,
        source=incoming.origin.source,
        source_type=incoming.origin.source_type,
        source_url=incoming.origin.source_url,
        format=str(format_),
        ingestion_date=incoming.origin.started_at,
        created_at=now,
        file_path=f"{id_}/{safe_filename(incoming.file.filename)}",
    )


async def _announce(
    archive: Archive, incoming: Incoming, clients: Clients, session: Session, now: datetime
) -> None:
    ingested = archive_ingested(
        archive.id, archive.to_cosmos(), started_at=incoming.origin.started_at, completed_at=now
    )
    # The broker may still remember the events of this archive before its deletion, so the ids must differ.
    removal = await find_removal(clients.store, "archive", archive.id)
    life = "" if removal is None else stored_time(removal.finished_at or removal.created_at)
    event = Event.of(ingested, session=session.tokens(), life=life, now=now)
    with tag_with_archive(archive.id):
        await clients.bus.publish([event])


async def record_ingestion_failure(error: Exception, origin: Origin, clients: Clients) -> ClassifiedError:
    """Write the failure record and publish the event. A repeat changes nothing."""
    now, reason, attempts = clients.runtime.now(), NON_RETRYABLE, 1
    if isinstance(error, GaveUpError):
        failure, reason, attempts = error.failure, error.reason, error.attempts
    else:
        failure = classify(error)
    failed = ArchiveIngestionFailed(
        source_name=origin.source,
        source_type=origin.source_type,
        source_url=origin.source_url,
        ingestion_started_at=origin.started_at,
        failed_at=now,
        **error_fields(failure, attempts),
    )
    event = Event.of(failed, now=now)
    record = failure_record(
        INGESTION.name,
        failure,
        event=event,
        message_id=event.message_id,
        reason=reason,
        attempt_count=attempts,
        now=now,
    )
    await clients.store.upsert(record, Session())
    await clients.bus.publish([event])
    return failure
