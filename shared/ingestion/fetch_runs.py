"""Fetches of a source: the request, the run under a lease, and the cursor."""

import asyncio
import logging
import os
import tempfile
import uuid
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Conflict
from shared.azure.outbound import AddressPolicy, FetchError, Resolve, SourceError, system_resolver
from shared.azure.telemetry.metrics import span
from shared.core.errors import TransientError
from shared.core.lazy_import import lazy
from shared.core.times import stored_time
from shared.ingestion.errors import (
    ArchiveChangedError,
    ArchiveError,
    ArchiveTooLargeError,
    SourceRemovedError,
)
from shared.ingestion.fetch_files import fetch_local, fetch_rsync
from shared.ingestion.fetch_imap import fetch_imap
from shared.ingestion.fetcher import TIMEOUT_SECONDS, FetchContext, Fetched, Fetcher
from shared.ingestion.source_definitions import next_fetch
from shared.ingestion.storing import Incoming, Origin, record_ingestion_failure, store_archive
from shared.ingestion.uploads import request_operation, store_joined_upload
from shared.models.queries.operations import DUE_SOURCES
from shared.models.sources import (
    FetchedArchive,
    JoinedUpload,
    Operation,
    OperationStatus,
    RefusedFile,
    Source,
    SourceType,
)
from shared.pipeline.retry import GaveUpError, RetryPolicy, with_backoff

if TYPE_CHECKING:
    from shared.ingestion import fetch_http
else:
    fetch_http = lazy("shared.ingestion.fetch_http")  # aiohttp is slow to import

log = logging.getLogger(__name__)
WAITING_LEASE = timedelta(minutes=10)  # For a request that waits in the queue.
LEASE_SLACK = timedelta(minutes=5)  # In addition to the time limit of a fetch.
LEASE_TRIES = 5
MAX_LISTED = 100
MAX_NAME = 200
MAX_REASON = 500
DONE = frozenset({OperationStatus.SUCCEEDED, OperationStatus.FAILED, OperationStatus.SKIPPED})


@dataclass(frozen=True)
class Requested:
    operation_id: str
    is_new: bool


async def request_fetch(
    source: Source, clients: Clients, *, requested_by: str, now: datetime
) -> Requested | Conflict:
    """Request an operation that fetches the source. Return CONFLICT if the source document changed."""
    if source.lease_owner and source.lease_until and source.lease_until > now:
        return Requested(source.lease_owner, is_new=False)
    operation = Operation(id=uuid.uuid4().hex, source=source.name, requested_by=requested_by, created_at=now)
    lease = {"lease_owner": operation.id, "lease_until": now + WAITING_LEASE}
    session = Session()
    if await clients.store.replace(source.model_copy(update=lease), session) is Conflict.CONFLICT:
        return Conflict.CONFLICT
    with span("fetch requested", attributes={"pipeline.source": source.name}):
        await request_operation(operation, clients, session)
    return Requested(operation.id, is_new=True)


async def request_due_fetches(clients: Clients, now: datetime) -> list[str]:
    """Request a fetch of every source that is due. Return the new operations."""
    operations = []
    for source in await clients.store.query_documents(Source, DUE_SOURCES, Session(), now=stored_time(now)):
        requested = await request_fetch(source, clients, requested_by="timer", now=now)
        if isinstance(requested, Requested) and requested.is_new:
            operations.append(requested.operation_id)
    return operations


@dataclass(frozen=True)
class FetchRun:
    resolve: Resolve = system_resolver
    secrets: Mapping[str, str] = field(default_factory=lambda: os.environ)
    progress: Callable[[str], None] = field(default=lambda _step: None)
    timeout_seconds: float = TIMEOUT_SECONDS


async def run_operation(
    operation_id: str, clients: Clients, session: Session | None = None, run: FetchRun | None = None
) -> Operation:
    """Run the operation, unless it is finished or another operation has the lease. Safe to repeat."""
    run = run or FetchRun()
    session = session or Session()
    operation = await clients.store.read(Operation, operation_id, session)
    if operation.status in DONE:
        if operation.upload is not None:  # A crash may have left the blob of the upload.
            await clients.blobs.delete(ARCHIVES_CONTAINER, operation.upload.path)
        return operation
    if operation.upload is not None:
        return await _take_upload(operation, operation.upload, clients, session)
    source = await _lease(operation, clients, session)
    if isinstance(source, str):
        return await _finish(operation, clients, session, OperationStatus.SKIPPED, source)
    started = {"status": OperationStatus.RUNNING.value, "started_at": stored_time(clients.runtime.now())}
    await _patch_operation(operation, clients, session, started)
    try:
        cursor = await _fetch_all(operation, source, clients, run)
    except Exception as error:
        log.exception("the fetch of %s failed", source.name)
        origin = Origin(source.name, source.source_type, source.url, operation.created_at)
        failure = await record_ingestion_failure(error, origin, clients)
        outcome = f"{failure.error_type}: {failure.message}"
        await _release(operation, source, clients, error=outcome)
        return await _finish(operation, clients, session, OperationStatus.FAILED, outcome)
    await _release(operation, source, clients, cursor=cursor)
    run.progress("released")
    return await _finish(operation, clients, session, OperationStatus.SUCCEEDED, None)


async def _take_upload(
    operation: Operation, upload: JoinedUpload, clients: Clients, session: Session
) -> Operation:
    """Store an upload. An error is written to the operation, because no source has failed."""
    status, message = OperationStatus.SUCCEEDED, None
    try:
        archive = await store_joined_upload(operation, upload, clients)
        taken = {"archives": [archive.model_dump(mode="json")]}
        await _patch_operation(operation, clients, session, taken)
    except (GaveUpError, ArchiveChangedError, ArchiveTooLargeError) as error:
        status = OperationStatus.FAILED
        message = error.failure.message if isinstance(error, GaveUpError) else str(error)
    done = await _finish(operation, clients, session, status, message)
    await clients.blobs.delete(ARCHIVES_CONTAINER, upload.path)
    return done


async def _lease(operation: Operation, clients: Clients, session: Session) -> Source | str:
    """Lease the source for the time of a fetch. Return the source, or the reason why it cannot be leased."""
    now = clients.runtime.now
    for _ in range(LEASE_TRIES):
        source = await clients.store.find(Source, operation.source, session)
        if source is None:
            return "the source was deleted"
        free = source.lease_until is None or source.lease_until <= now()
        if source.lease_owner != operation.id and not free:
            return f"operation {source.lease_owner} fetches this source"
        until = now() + timedelta(seconds=TIMEOUT_SECONDS) + LEASE_SLACK
        leased = source.model_copy(update={"lease_owner": operation.id, "lease_until": until})
        kept = await clients.store.replace(leased, session)
        if kept is not Conflict.CONFLICT:
            return kept
    raise TransientError(f"the source {operation.source} was changed by others at every attempt")


@dataclass
class _Found:
    archives: list[FetchedArchive]
    refused: list[tuple[RefusedFile, GaveUpError]] = field(default_factory=list)

    def listed(self) -> dict[str, Any]:
        return {
            "archives": [archive.model_dump(mode="json") for archive in self.archives[-MAX_LISTED:]],
            "refused": [file.model_dump(mode="json") for file, _ in self.refused[-MAX_LISTED:]],
        }


async def _fetch_all(operation: Operation, source: Source, clients: Clients, run: FetchRun) -> dict[str, Any]:
    """Fetch and store file by file. Return the cursor after the last file."""
    policy = AddressPolicy.parse(clients.settings.SOURCE_ALLOWED_HOSTS, run.resolve)
    found, cursor = _Found(list(operation.archives)), source.cursor
    with tempfile.TemporaryDirectory(prefix="ingestion-") as folder:
        files = _fetcher(source)(source, FetchContext(clients, Path(folder), policy, run.secrets))
        try:
            async with asyncio.timeout(run.timeout_seconds), aclosing(files):
                async for fetched in files:
                    run.progress("fetched")
                    await _take_file(fetched, found, source, operation, clients, run)
                    cursor = fetched.cursor or cursor
                    await _patch_operation(operation, clients, Session(), found.listed())
        except TimeoutError:
            raise FetchError(f"the fetch took longer than {run.timeout_seconds:g} s") from None
    if found.refused and not found.archives:  # A README next to archives is not a failure.
        raise found.refused[0][1]
    return cursor


async def _take_file(
    fetched: Fetched, found: _Found, source: Source, operation: Operation, clients: Clients, run: FetchRun
) -> None:
    if await clients.store.find(Source, source.id, Session()) is None:
        raise SourceRemovedError(f"the source {source.name} was deleted while it was fetched")
    origin = Origin(source.name, source.source_type, fetched.url, operation.created_at)
    incoming = Incoming(fetched.file, origin)
    name = fetched.file.filename[:MAX_NAME]
    try:
        with span("archive fetched", attributes={"pipeline.source": source.name}):
            stored = await with_backoff(
                lambda: store_archive(incoming, clients, progress=run.progress),
                RetryPolicy.of_events(clients.settings).transient,
                what=f"storing {fetched.file.filename}",
                sleep=clients.runtime.sleep,
            )
    except GaveUpError as error:
        if not isinstance(error.__cause__, ArchiveError):
            raise
        refused = RefusedFile(filename=name, reason=error.failure.message[:MAX_REASON])
        found.refused.append((refused, error))
    else:  # An archive that an earlier attempt stored keeps its entry.
        id_ = stored.archive.id
        if all(archive.archive_id != id_ for archive in found.archives):
            found.archives.append(FetchedArchive(archive_id=id_, filename=name, duplicate=stored.duplicate))


def _fetcher(source: Source) -> Fetcher:
    match source.source_type:
        case SourceType.HTTP:
            return fetch_http.fetch_http
        case SourceType.INDEX:
            return fetch_http.fetch_index
        case SourceType.PUBLIC_INBOX:
            return fetch_http.fetch_public_inbox
        case SourceType.IMAP:
            return fetch_imap
        case SourceType.LOCAL:
            return fetch_local
        case SourceType.RSYNC:
            return fetch_rsync
    raise SourceError(f"a source of type {source.source_type} has nothing to fetch: it takes uploads")


async def _release(
    operation: Operation,
    source: Source,
    clients: Clients,
    *,
    cursor: dict[str, Any] | None = None,
    error: str | None = None,
) -> None:
    """Write the outcome and the time of the next fetch, and end the lease if this operation still has it."""
    now = stored_time(clients.runtime.now())
    current = await clients.store.read(Source, source.id, Session())
    following = next_fetch(current, clients.runtime.now())
    outcome: dict[str, Any] = {
        "last_fetch_at": now,
        "last_fetch_error": error,
        "next_fetch_at": None if following is None else stored_time(following),
        "lease_owner": None,
        "lease_until": None,
    }
    if cursor is not None:
        outcome |= {"cursor": cursor, "last_success_at": now}
    patch, is_ours = Patch(source.id, set=outcome), f"c.lease_owner = '{operation.id}'"
    await clients.store.patch(Source, patch, Session(), condition=is_ours)


async def _patch_operation(
    operation: Operation, clients: Clients, session: Session, changes: dict[str, Any]
) -> Operation:
    patched = await clients.store.patch(Operation, Patch(operation.id, set=changes), session)
    assert isinstance(patched, Operation)  # noqa: S101 - without a condition there is no conflict
    return patched


async def _finish(
    operation: Operation, clients: Clients, session: Session, status: OperationStatus, error: str | None
) -> Operation:
    changes = {"status": status.value, "finished_at": stored_time(clients.runtime.now()), "error": error}
    return await _patch_operation(operation, clients, session, changes)
