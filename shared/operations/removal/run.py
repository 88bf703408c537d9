"""The deletion of an archive or a source with everything derived, thread by thread, resumable at any point.

    mark the archive -> tombstone -> dead letters -> each thread that has something of it -> failures -> check
    -> blob -> dead letters that came meanwhile -> the archive

The tombstone is a commit: after it no worker commits anything of the archive. The entries of message ids
that name the archive say what it has, and go last. Each thread is counted and noted on the removal's
document before it is touched: after a crash it is not counted again. The check asks for entries, messages,
chunks, threads, failures, vectors, and for the summaries and reports of the threads that went; what it
finds, from a stage that was still at work, is removed in another round. Twenty minutes after its end it
looks once more, for what was still on its way.
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
from shared.operations.removal.letters import RemovalLetters
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
FAILURES = "failures, round "  # as a unit of the removal, with the number
SETTLING_SECONDS = 1.0  # for the search index to catch up: doubled with each round


class StillThereError(PipelineError):
    """After several rounds the check still finds documents of it."""


class AnotherRunError(PipelineError):
    """Another run has changed the deletion's document: it goes on, and this one ends.

    Where that other one was only a late write, nobody goes on until the deletion is requested again.
    """


class _BackError(Exception):
    """The archive has come in again since it was deleted."""


class _OutOfTimeError(Exception):
    """The time of this run is over; another one goes on."""


@dataclass(frozen=True)
class RemovalRun:
    """How long a run may take, and who follows its steps."""

    seconds: float = 1200.0  # then the rest is left to another run
    progress: Callable[[str], None] = field(default=lambda _step: None)


async def run_removal(removal_id: str, clients: Clients, run: RemovalRun | None = None) -> Removal:
    """Do what is left of it. If its status is still running when this returns, it needs another run."""
    removal = await clients.store.read(Removal, removal_id, Session())
    remover = _Remover(clients, removal, run or RemovalRun())
    if removal.status not in DONE:
        return await remover.run()
    if _is_to_look_at_again(removal, clients.runtime.now()):
        return await remover.look_again()
    return removal


def _is_to_look_at_again(removal: Removal, now: datetime) -> bool:
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
        self._letters = RemovalLetters(clients, removal, self._save, run.progress)
        self._emptied: set[str] = set()  # those that lost all their messages
        self._looks_again = False

    async def look_again(self) -> Removal:
        """Remove what arrived after its end, unless the archive has come in again."""
        self._looks_again = True
        self._removal.rounds, self._removal.unit = 0, None
        await self._save()
        for archive_id in self._removal.archives:
            try:
                await self._ensure_gone(archive_id)
                await self._remove_all(archive_id)
                await self._delete_late_blobs(archive_id)
                await self._letters.finish(archive_id, self._session, self._emptied)
            except _BackError:
                log.info("archive %s has come in again: nothing late of it is looked for", archive_id)
        await delete_late_summaries(self._clients, self._removal.created_at, self._session)
        await delete_late_reports(self._clients, self._removal.created_at, self._session)
        self._removal.looked_again_at = self._runtime.now()
        await self._save()
        return self._removal

    async def _ensure_gone(self, archive_id: str) -> None:
        await self._store.refresh(Archive, self._session)
        if await self._store.find(Archive, archive_id, self._session) is not None:
            raise _BackError

    async def run(self) -> Removal:
        removal = self._removal
        removal.started_at = removal.started_at or self._runtime.now()
        removal.status, removal.error = OperationStatus.RUNNING, None
        await self._save()
        try:
            await (self._archive(removal.target) if removal.target_kind == "archive" else self._source())
        except _OutOfTimeError:
            return removal
        except StillThereError as error:
            removal.status, removal.error = OperationStatus.FAILED, str(error)
        except AnotherRunError:
            raise
        except Exception as error:
            failure = classify(error)
            self._removal.error = f"{failure.error_type}: {failure.message}"[:500]
            with suppress(AnotherRunError):  # which says by itself how it goes
                await self._save()
            raise
        else:
            removal.status = OperationStatus.SUCCEEDED
        removal.finished_at = self._runtime.now()
        await self._save()
        log.info("the deletion of %s %s %s: %s", removal.target_kind, removal.target, removal.status,
                 removal.counts)  # fmt: skip
        return removal

    async def _source(self) -> None:
        name = self._removal.target
        await self._store.delete(Source, name, Session())
        while archives := await self._ids(ARCHIVE_IDS_OF_SOURCE, source=name):
            for archive in sorted(archives):
                await self._archive(archive)
        await self._letters.finish_source()
        self._removal.counts["sources"] = 1

    async def _archive(self, archive_id: str) -> None:
        if archive_id not in self._removal.archives:
            await self._mark(archive_id)
            await self._remove_all(archive_id)
            await self._delete_blob(archive_id)
            await self._letters.finish(archive_id, self._session, self._emptied)
            done = self._removal.archives = [*self._removal.archives, archive_id]
            self._removal.counts |= {"archives": len(done), "blobs": len(done)}
            self._removal.rounds, self._removal.unit = 0, None
            await self._save()
            self._run.progress("recorded")
        await self._delete_archive(archive_id)
        self._run.progress("archive")

    async def _delete_archive(self, archive_id: str) -> None:
        """Not one that came in again since: it is not marked."""
        archive = await self._store.find(Archive, archive_id, Session())
        if archive is not None and archive.removing:
            await self._store.delete(Archive, archive_id, Session(), etag=archive.etag)

    async def _source_of(self, archive_id: str) -> str | None:
        """Its source; of an archive whose document was gone already, by the messages that are there."""
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
            log.info("archive %s is gone already: what is left of it goes now", archive_id)
        if self._removal.target_kind != "archive":
            await self._store.create(self._tombstone(archive_id), Session())
        self._run.progress("marked")

    def _tombstone(self, archive_id: str) -> Removal:
        """A tombstone, for events of the archive that are still in flight; this removal does the work."""
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
        """In rounds, until the check finds nothing: a stage may write while we delete."""
        while True:
            await self._letters.take(archive_id, self._session)
            source = await self._source_of(archive_id)
            if source is not None:
                await self._threads(archive_id, source)
            await self._delete_failures(archive_id)
            await self._delete_strays(archive_id, source)
            await self._catch_up()
            self._removal.left = await self._left(archive_id, source)
            if not any(self._removal.left.values()):
                return
            if self._removal.rounds >= MAX_ROUNDS:
                raise StillThereError(f"of archive {archive_id} there is still {self._removal.left}")
            self._removal.rounds += 1
            await self._save()
            await self._runtime.sleep(SETTLING_SECONDS * 2**self._removal.rounds)

    async def _catch_up(self) -> None:
        """See what the stages wrote: what a replica does not show yet would stay for ever."""
        for model in (Thread, Message, Chunk, Summary, Report):
            await self._store.refresh(model, self._session)

    async def _threads(self, archive_id: str, source: str) -> None:
        """Each thread that has messages of the archive, then threads and redirects that only name it."""
        await self._catch_up()
        entries = await self._entries(archive_id, source)
        commit = ThreadCommit(self._clients, source, self._session)
        await commit.state.read()
        homes = await commit.state.homes({entry["message_id"] for entry in entries})
        units: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            # A run that broke off may have taken it out of its thread already.
            home = homes.get(entry["message_id"]) or commit.state.resolved(entry["home"] or "-")
            units.setdefault(home, []).append(entry)
        # The one that a crash interrupted comes first.
        for thread_id in sorted(units, key=lambda name: (name != self._removal.unit, name)):
            await self._thread(archive_id, source, thread_id, units[thread_id])
        for thread_id in sorted(await self._ids(THREAD_IDS_OF_ARCHIVE, archive=archive_id)):
            await self._thread(archive_id, source, thread_id, [])

    async def _entries(self, archive_id: str, source: str | None) -> list[dict[str, Any]]:
        """The entries of the messages that the archive has."""
        if source is None:
            return []
        rows = self._store.query(
            ENTRIES_OF_ARCHIVE, self._session, partition=source_key(source), archive=archive_id
        )
        return [row async for row in rows]

    async def _thread(
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
        # Nothing of an archive that comes in now is taken out: its commits raise the version.
        check = partial(self._ensure_gone, archive_id) if self._looks_again else None
        await remove_part(self._clients, part, self._run.progress, self._session, check)
        if not part.staying:
            self._emptied |= {thread_id, *part.redirects}
        self._run.progress("thread")

    async def _delete_failures(self, archive_id: str) -> None:
        """Counted on the removal before they are deleted, as a thread is."""
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
        """What a stage wrote after its thread was removed: messages, chunks, vectors, summaries, reports."""
        await self._catch_up()
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
        """Those without a chunk. A chunk that stays has other archives, which its vector may not know yet."""
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
        """How much is left, by container and in the search index."""
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
        """As it was read, so that a write which arrives late cannot take back what was noted since."""
        self._removal.updated_at = self._runtime.now()
        stored = await self._store.replace(self._removal, Session())
        if isinstance(stored, Conflict):
            stored = await self._own_write()
        self._removal.etag = stored.etag

    async def _own_write(self) -> Removal:
        """What is stored, where it is this run's own write, which the SDK has sent twice."""
        session, removal = Session(), self._removal
        await self._store.refresh(Removal, session)
        stored = await self._store.read(Removal, removal.id, session)
        if stored.to_cosmos() != removal.to_cosmos():
            raise AnotherRunError(f"removals/{removal.id} was changed by another run")
        return stored
