"""The resumable deletion of an archive or a source with everything derived, one thread at a time.

    mark the archive -> tombstone -> dead letters -> each thread that has something of it -> failures -> check
    -> blob -> dead letters that arrived since -> the archive

The tombstone is a commit, so that no worker commits anything of the archive after it. The entries of the
archive's Message-IDs are deleted last. Each thread is counted and recorded before it is changed, so that a
crash does not count it twice. Documents that the check finds afterwards are deleted in another round. A
second check, twenty minutes after the end, finds late writes.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict
from shared.azure.search.fields import Filters
from shared.core.errors import PipelineError
from shared.core.ids import removal_id, source_key
from shared.core.times import stored_time
from shared.ingestion.suppressing import suppress_deleted
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.operations import ARCHIVE_IDS_OF_SOURCE, FAILURES_OF_ARCHIVE
from shared.models.queries.reports import REPORT_IDS_OF_SCOPE, SUMMARY_IDS_OF_SCOPE
from shared.models.queries.threads import (
    CHUNK_KEYS_OF_ARCHIVE,
    CHUNK_LABELS,
    ENTRIES_OF_ARCHIVE,
    MESSAGE_SOURCES_OF_ARCHIVE,
    THREAD_IDS_OF_ARCHIVE,
)
from shared.models.records import FailureRecord
from shared.models.reports import Report, Summary
from shared.models.sources import Archive, OperationStatus, Removal, Source
from shared.models.threads import Chunk, Message, Thread
from shared.operations.removal.letters import DeadLetterRemoval
from shared.operations.removal.thread_part import (
    LATE_AFTER,
    delete_late_reports,
    delete_late_summaries,
    find_part,
    relabel,
    remove_part,
)
from shared.pipeline.state.archives import DONE, mark_deleting
from shared.thread_store.chunk_sets import delete_lost_vectors, index_labels
from shared.thread_store.commit import ThreadCommit
from shared.thread_store.message_writer import MessageWriter

log = logging.getLogger(__name__)
MAX_ROUNDS = 5
DERIVED = ((Summary, SUMMARY_IDS_OF_SCOPE), (Report, REPORT_IDS_OF_SCOPE))
FAILURES = "failures, round "  # a unit of the removal, with the number of the round
SETTLING_SECONDS = 1.0  # for the search index to update: doubled in each round


class StillThereError(PipelineError):
    """The check still finds documents after the last round."""


class AnotherRunError(PipelineError):
    """Another run has changed the document of the deletion, so this run ends.

    If the other write was only a late one, the deletion continues when it is requested again.
    """


class _StoredAgainError(Exception):
    """The archive was stored again after its deletion."""


class _OutOfTimeError(Exception):
    """The time of this run is over. Another run continues."""


@dataclass(frozen=True)
class RemovalRun:
    """The time limit of a run, and the callback for its steps."""

    seconds: float = 1200.0  # then another run continues
    progress: Callable[[str], None] = field(default=lambda _step: None)


async def run_removal(removal_id: str, clients: Clients, run: RemovalRun | None = None) -> Removal:
    """Do the remaining work of the deletion. It needs another run if its status is still running."""
    removal = await clients.store.read(Removal, removal_id, Session())
    remover = _Remover(clients, removal, run or RemovalRun())
    if removal.status not in DONE:
        return await remover.run()
    if _needs_second_check(removal, clients.runtime.now()):
        return await remover.check_again()
    return removal


def _needs_second_check(removal: Removal, now: datetime) -> bool:
    if removal.status is not OperationStatus.SUCCEEDED or removal.looked_again_at is not None:
        return False
    return removal.finished_at is not None and removal.finished_at <= now - LATE_AFTER


class _Remover:
    def __init__(self, clients: Clients, removal: Removal, run: RemovalRun) -> None:
        self._clients = clients
        self._store = clients.store
        self._removal = removal
        self._run = run
        self._runtime = clients.runtime
        self._until = self._runtime.monotonic() + run.seconds
        self._session = Session()
        self._dead_letters = DeadLetterRemoval(clients, removal, self._save, run.progress)
        self._emptied: set[str] = set()  # threads that lost all their messages
        self._is_second_check = False

    async def check_again(self) -> Removal:
        """Remove documents that arrived after the end, unless the archive was stored again."""
        self._is_second_check = True
        self._removal.rounds, self._removal.unit = 0, None
        await self._save()
        for archive_id in self._removal.archives:
            try:
                await self._ensure_gone(archive_id)
                await self._remove_all(archive_id)
                await self._delete_late_blobs(archive_id)
                await self._dead_letters.finish(archive_id, self._session, self._emptied)
            except _StoredAgainError:
                log.info("archive %s was stored again: late documents are not removed", archive_id)
        await delete_late_summaries(self._clients, self._removal.created_at, self._session)
        await delete_late_reports(self._clients, self._removal.created_at, self._session)
        self._removal.looked_again_at = self._runtime.now()
        await self._save()
        return self._removal

    async def _ensure_gone(self, archive_id: str) -> None:
        await self._store.refresh(Archive, self._session)
        if await self._store.find(Archive, archive_id, self._session) is not None:
            raise _StoredAgainError

    async def run(self) -> Removal:
        removal = self._removal
        removal.started_at = removal.started_at or self._runtime.now()
        removal.status, removal.error = OperationStatus.RUNNING, None
        await self._save()
        try:
            await (
                self._delete_all_of_archive(removal.target)
                if removal.target_kind == "archive"
                else self._delete_source()
            )
        except _OutOfTimeError:
            return removal
        except StillThereError as error:
            removal.status, removal.error = OperationStatus.FAILED, str(error)
        except AnotherRunError:
            raise
        except Exception as error:
            failure = classify(error)
            self._removal.error = f"{failure.error_type}: {failure.message}"[:500]
            with suppress(AnotherRunError):  # the other run reports its own progress
                await self._save()
            raise
        else:
            removal.status = OperationStatus.SUCCEEDED
        removal.finished_at = self._runtime.now()
        await self._save()
        log.info("the deletion of %s %s %s: %s", removal.target_kind, removal.target, removal.status,
                 removal.counts)  # fmt: skip
        return removal

    async def _delete_source(self) -> None:
        name = self._removal.target
        await self._store.delete(Source, name, Session())
        while archives := await self._ids(ARCHIVE_IDS_OF_SOURCE, source=name):
            for archive in sorted(archives):
                await self._delete_all_of_archive(archive)
        await self._dead_letters.finish_source()
        self._removal.counts["sources"] = 1

    async def _delete_all_of_archive(self, archive_id: str) -> None:
        if archive_id not in self._removal.archives:
            await self._mark(archive_id)
            await self._remove_all(archive_id)
            await self._delete_blob(archive_id)
            await self._dead_letters.finish(archive_id, self._session, self._emptied)
            done = self._removal.archives = [*self._removal.archives, archive_id]
            self._removal.counts |= {"archives": len(done), "blobs": len(done)}
            self._removal.rounds, self._removal.unit = 0, None
            await self._save()
            self._run.progress("recorded")
        await self._delete_archive(archive_id)
        self._run.progress("archive")

    async def _delete_archive(self, archive_id: str) -> None:
        """Delete the document, unless the archive was stored again and is no longer marked."""
        archive = await self._store.find(Archive, archive_id, Session())
        if archive is not None and archive.removing:
            await self._store.delete(Archive, archive_id, Session(), etag=archive.etag)

    async def _source_of(self, archive_id: str) -> str | None:
        """Return the source of the archive. If its document is missing, the messages name the source."""
        source = self._removal.source_of.get(archive_id)
        if source is not None:
            return source
        await self._store.refresh(Message, self._session)
        rows = await self._rows(MESSAGE_SOURCES_OF_ARCHIVE, archive=archive_id)
        return rows[0]["source"] if rows else None

    async def _mark(self, archive_id: str) -> None:
        archive = await self._store.find(Archive, archive_id, self._session)
        if archive is not None:
            self._removal.source_of = {**self._removal.source_of, archive_id: archive.source}
            await self._save()
            commit = ThreadCommit(self._clients, archive.source, self._session)
            await commit.bury(archive_id, stored_time(archive.ingestion_date))
            if self._removal.target_kind == "archive" and not self._removal.replaced:
                await suppress_deleted(self._clients, archive)
        if not await mark_deleting(self._store, archive_id, self._session):
            log.info("archive %s does not exist: the rest of its documents is deleted", archive_id)
        if self._removal.target_kind != "archive":
            await self._store.create(self._tombstone(archive_id), Session())
        self._run.progress("marked")

    def _tombstone(self, archive_id: str) -> Removal:
        """Return a tombstone for events of the archive that are in flight. This run deletes the archive."""
        now = self._runtime.now()
        return Removal(
            id=removal_id("archive", archive_id),
            target_kind="archive",
            target=archive_id,
            requested_by=f"the deletion of {self._removal.target_kind} {self._removal.target}"[:200],
            status=OperationStatus.SUCCEEDED,
            created_at=now,
            updated_at=now,
        )

    async def _remove_all(self, archive_id: str) -> None:
        """Delete in rounds until the check finds nothing, because a stage may write at the same time."""
        while True:
            await self._dead_letters.take(archive_id, self._session)
            source = await self._source_of(archive_id)
            if source is not None:
                await self._delete_threads(archive_id, source)
            await self._delete_failures(archive_id)
            await self._delete_strays(archive_id, source)
            await self._refresh()
            self._removal.left = await self._left(archive_id, source)
            if not any(self._removal.left.values()):
                return
            if self._removal.rounds >= MAX_ROUNDS:
                raise StillThereError(f"of archive {archive_id} there is still {self._removal.left}")
            self._removal.rounds += 1
            await self._save()
            await self._runtime.sleep(SETTLING_SECONDS * 2**self._removal.rounds)

    async def _refresh(self) -> None:
        """Read the latest writes of the stages. Documents that a replica does not show yet would stay."""
        for model in (Thread, Message, Chunk, Summary, Report):
            await self._store.refresh(model, self._session)

    async def _delete_threads(self, archive_id: str, source: str) -> None:
        """Delete the archive's part of each thread, then threads and redirects that only name the archive."""
        await self._refresh()
        entries = await self._entries(archive_id, source)
        commit = ThreadCommit(self._clients, source, self._session)
        await commit.state.read()
        threads = await commit.state.homes({entry["message_id"] for entry in entries})
        units: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            # An interrupted run may have taken the message out of its thread already.
            thread_id = threads.get(entry["message_id"]) or commit.state.resolved(entry["home"] or "-")
            units.setdefault(thread_id, []).append(entry)
        # The thread at which an earlier run was interrupted comes first.
        for thread_id in sorted(units, key=lambda name: (name != self._removal.unit, name)):
            await self._delete_thread_part(archive_id, source, thread_id, units[thread_id])
        for thread_id in sorted(await self._ids(THREAD_IDS_OF_ARCHIVE, archive=archive_id)):
            await self._delete_thread_part(archive_id, source, thread_id, [])

    async def _entries(self, archive_id: str, source: str | None) -> list[dict[str, Any]]:
        if source is None:
            return []
        rows = self._store.query(
            ENTRIES_OF_ARCHIVE, self._session, partition=source_key(source), archive=archive_id
        )
        return [row async for row in rows]

    async def _delete_thread_part(
        self, archive_id: str, source: str, thread_id: str, entries: list[dict[str, Any]]
    ) -> None:
        if self._runtime.monotonic() > self._until:
            raise _OutOfTimeError
        part = await find_part(self._clients, archive_id, source, thread_id, entries, self._session)
        if self._removal.unit != thread_id:
            counts = self._removal.counts
            for name, number in part.tally().items():
                counts[name] = counts.get(name, 0) + number
            self._removal.unit = thread_id
            await self._save()
            self._run.progress("counted")
        # The commits of an archive that is stored now raise the version, so that nothing of it is removed.
        check = partial(self._ensure_gone, archive_id) if self._is_second_check else None
        await remove_part(self._clients, part, self._run.progress, self._session, check)
        if not part.staying:
            self._emptied |= {thread_id, *part.redirects}
        self._run.progress("thread")

    async def _delete_failures(self, archive_id: str) -> None:
        """Count the failures on the removal before they are deleted, as with threads."""
        removal, found = self._removal, await self._rows(FAILURES_OF_ARCHIVE, archive=archive_id)
        unit = f"{FAILURES}{removal.rounds}"
        if removal.unit != unit:
            removal.counts["failures"] = removal.counts.get("failures", 0) + len(found)
            removal.unit = unit
            await self._save()
            self._run.progress("failures_counted")
        for row in found:
            await self._store.delete(FailureRecord, row["id"], Session(), partition=row["stage"])
        self._run.progress("failures")

    async def _delete_strays(self, archive_id: str, source: str | None) -> None:
        """Delete documents that a stage wrote after their thread was removed."""
        await self._refresh()
        rows = await self._rows(MESSAGE_SOURCES_OF_ARCHIVE, archive=archive_id)
        keys = sorted(row["id"] for row in rows if row["source"] == source)
        if source is not None and keys:
            commit = ThreadCommit(self._clients, source, self._session)
            await commit.state.read()
            writer = MessageWriter(self._clients, commit.state, self._session, labels_chunks=True)
            await writer.write(keys, {})
        chunked = await self._ids(CHUNK_KEYS_OF_ARCHIVE, archive=archive_id)
        await relabel(self._clients, sorted({*keys, *chunked}), self._session)
        await self._delete_vectors(archive_id)
        for thread_id in self._emptied:
            for model, query in DERIVED:
                left = await self._rows(query, partition=thread_id)
                await self._store.delete_all(model, left, Session(), partition=thread_id)

    async def _delete_vectors(self, archive_id: str) -> None:
        """Delete vectors without a chunk. Update the labels of vectors whose chunks are in other archives."""
        hits = await self._clients.index.search("*", filters=Filters(archive_id=archive_id), top=1000)
        ids = [hit.chunk_id for hit in hits]
        await delete_lost_vectors(self._clients, ids, self._session)
        rows = await self._store.query_by_ids(CHUNK_LABELS, ids, self._session)
        await index_labels(self._clients, rows, self._session)

    async def _delete_blob(self, archive_id: str) -> None:
        archive = await self._store.find(Archive, archive_id, Session())
        if archive is not None:
            await self._clients.blobs.delete(ARCHIVES_CONTAINER, archive.file_path)
            self._removal.blobs = [*self._removal.blobs, archive.file_path]
        self._run.progress("blob")

    async def _delete_late_blobs(self, archive_id: str) -> None:
        await self._ensure_gone(archive_id)
        for path in self._removal.blobs:
            if path.startswith(f"{archive_id}/"):
                await self._clients.blobs.delete(ARCHIVES_CONTAINER, path)

    async def _left(self, archive_id: str, source: str | None) -> dict[str, int]:
        """Return the number of remaining documents by container and in the search index."""
        queries = {
            "messages": MESSAGE_SOURCES_OF_ARCHIVE,
            "chunks": CHUNK_KEYS_OF_ARCHIVE,
            "threads": THREAD_IDS_OF_ARCHIVE,
            "failures": FAILURES_OF_ARCHIVE,
        }
        left = {name: len(await self._rows(query, archive=archive_id)) for name, query in queries.items()}
        hits = await self._clients.index.search(
            "*", filters=Filters(archive_id=archive_id), top=1, total=True
        )
        for model, query in DERIVED:
            found = [await self._rows(query, partition=thread_id) for thread_id in self._emptied]
            left[model.container] = sum(map(len, found))
        left["entries"] = len(await self._entries(archive_id, source))
        return {**left, "vectors": hits.total or 0}

    async def _ids(self, query: NamedQuery, **parameters: str) -> set[str]:
        return {str(row) for row in await self._rows(query, **parameters)}

    async def _rows(self, query: NamedQuery, **parameters: str) -> list[Any]:
        return [row async for row in self._store.query(query, self._session, **parameters)]

    async def _save(self) -> None:
        """Replace the document as it was read, so that a late write cannot undo later changes."""
        self._removal.updated_at = self._runtime.now()
        stored = await self._store.replace(self._removal, Session())
        if isinstance(stored, Conflict):
            stored = await self._own_write()
        self._removal.etag = stored.etag

    async def _own_write(self) -> Removal:
        """Return the stored document if it equals this run's write, which the SDK may have sent twice."""
        session, removal = Session(), self._removal
        await self._store.refresh(Removal, session)
        stored = await self._store.read(Removal, removal.id, session)
        if stored.to_cosmos() != removal.to_cosmos():
            raise AnotherRunError(f"removals/{removal.id} was changed by another run")
        return stored
