"""The dead letters of a deleted archive or source, and their archived copies, are deleted with it.

The journal of an operation (`dlq.delete`) fixes the dead letters before the first document is deleted, so
that a run after a crash deletes the same ones. Dead letters that another receiver has locked are deleted
later.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shared.azure.blobs import DEAD_LETTERS_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.dead_letter_mover import OperationObserver
from shared.azure.servicebus.dead_letters import MessageCopy, peek_all
from shared.core.concurrency import batches_of, in_pages
from shared.core.errors import DocumentNotFoundError, InvalidEventError, NewerVersionError, TransientError
from shared.core.ids import removal_id
from shared.models.queries.several_containers import archives_by_id
from shared.models.queries.threads import MESSAGE_ARCHIVES_OF_THREAD
from shared.models.records import Audit, AuditStatus
from shared.models.reports import Summary
from shared.models.sources import Archive, Operation, Removal
from shared.models.threads import Chunk, Message, Thread
from shared.operations.audit import Operator, UnknownOperationError, new_audit, save_audit
from shared.operations.deadletters.journal import DELETE, KEPT, ArchiveTags, Journal, JournalError
from shared.operations.deadletters.operations import run_operation
from shared.pipeline import event_types as data
from shared.pipeline.event_types import ArchiveIngestionFailed
from shared.pipeline.events import parse_event
from shared.pipeline.topology import FAILURES, INGESTION, REMOVAL, STAGES

LONGEST_CHAIN = 20  # merges of threads


@dataclass(frozen=True)
class _Subject:
    """The documents that a message refers to."""

    archive: str | None = None  # the archive that the message names
    container: str = Thread.container
    ids: Collection[str] = ()
    summary: data.SummaryComplete | None = None


@dataclass
class ArchiveJudge:
    clients: Clients
    archive: str
    session: Session
    gone: Collection[str] = ()  # threads that only this archive had, if they are already deleted
    _archives: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    async def of(self, messages: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Return for each message (queue and body) whether it belongs to the archive."""
        subjects = [_subject(queue, body, self.archive) for queue, body in messages]
        for container in (Message.container, Chunk.container, Thread.container):
            ids = {
                id_ for subject in subjects if subject and subject.container == container
                for id_ in subject.ids
            }  # fmt: skip
            await self._find(container, ids)
        return [subject is not None and await self._belongs(subject) for subject in subjects]

    async def _find(self, container: str, ids: Collection[str]) -> None:
        """Find the archives of these documents. A merged thread has the archives of its target."""
        rows = await self.clients.store.query_by_ids(archives_by_id(container), ids, self.session)
        for row in rows:
            found = self._archives.setdefault((container, row["id"]), set())
            found.update(row.get("archive_ids") or [row["archive_id"]])
        merged = {row["id"]: row["merged_into"] for row in rows if row.get("merged_into")}
        for _ in range(LONGEST_CHAIN):
            if not merged:
                return
            targets = await self.clients.store.query_by_ids(
                archives_by_id(container), set(merged.values()), self.session
            )
            by_id = {row["id"]: row for row in targets}
            for name, target in [*merged.items()]:
                del merged[name]
                if target in by_id:
                    self._archives[container, name].update(by_id[target].get("archive_ids") or ())
                    if by_id[target].get("merged_into"):
                        merged[name] = by_id[target]["merged_into"]

    async def _belongs(self, subject: _Subject) -> bool:
        if subject.archive not in {None, self.archive}:
            return False
        if subject.container == Archive.container:
            return subject.archive == self.archive
        known = [(subject.container, id_) for id_ in subject.ids]
        found = [self._archives[key] for key in known if key in self._archives]
        is_known = subject.archive == self.archive or bool(found) or self._all_gone(subject)
        if is_known and all(archives <= {self.archive} for archives in found):
            return True
        return subject.summary is not None and await self._loses_messages(subject.summary)

    def _all_gone(self, subject: _Subject) -> bool:
        return subject.container == Thread.container and set(self.gone).issuperset(subject.ids)

    async def _loses_messages(self, complete: data.SummaryComplete) -> bool:
        """Return whether a thread of the summary has a message that only this archive contains."""
        threads = {complete.thread_id}
        if complete.summary_id:
            scope = complete.thread_id
            stored = await self.clients.store.find(
                Summary, complete.summary_id, self.session, partition=scope
            )
            threads |= set(stored.thread_ids) if stored is not None else set()
        for thread_id in sorted(threads):
            rows = self.clients.store.query(MESSAGE_ARCHIVES_OF_THREAD, self.session, thread=thread_id)
            async for row in rows:
                if set(row["archive_ids"]) == {self.archive}:
                    return True
        return False


def _subject(queue: str, body: bytes, archive: str) -> _Subject | None:
    if queue == REMOVAL.name:
        id_ = named_in(body, "removal_id")
        return _Subject(archive, Archive.container) if id_ == removal_id("archive", archive) else None
    try:
        return _of_event(parse_event(body).data)
    except (InvalidEventError, NewerVersionError):
        return None


def _of_event(event: data.EventData) -> _Subject | None:
    archive = getattr(event, "archive_id", None)
    ids = event.trace_ids()
    match event:
        case data.ArchiveIngested() | data.ParsingFailed():
            return _Subject(archive, Archive.container)
        case data.SummaryComplete():
            return _Subject(ids=ids["thread_id"], summary=event)
        case data.ChunksPrepared() | data.EmbeddingGenerationFailed() if ids["chunk_id"]:
            return _Subject(archive, Chunk.container, ids["chunk_id"])
        case data.JSONParsed() | data.ChunksPrepared() | data.ChunkingFailed():
            return _Subject(archive, Message.container, ids["message_key"])
    return _Subject(ids=ids["thread_id"]) if ids["thread_id"] else None


def named_in(body: bytes, field_name: str) -> str | None:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    value = request.get(field_name) if isinstance(request, dict) else None
    return value if isinstance(value, str) else None


log = logging.getLogger(__name__)
LETTERS = "dead letters"  # as a unit of the removal
QUEUES_OF_ARCHIVE = (*(stage.name for stage in STAGES), FAILURES.name, REMOVAL.name)
QUEUES_OF_SOURCE = (INGESTION.name, FAILURES.name, REMOVAL.name)
JUDGED_AT_ONCE = 500
MOST_LETTERS = 100_000  # in one operation, whose plan is one block of a blob
MOST_OPERATIONS = 5
SECONDS = 120.0  # for one run, shorter than the lock that other receivers hold while they pass
ARCHIVE = "archive/"


class DeadLettersLeftError(TransientError):
    """Another receiver holds dead letters of the target, or there are too many for one run."""


class Judge(Protocol):
    async def of(self, messages: Sequence[tuple[str, bytes]]) -> list[bool]: ...


@dataclass
class DeadLetterRemoval:
    clients: Clients
    removal: Removal
    save: Callable[[], Awaitable[None]]
    progress: Callable[[str], None]
    _asked: dict[str, Audit] = field(default_factory=dict)  # a replica may not have them yet

    async def take(self, archive_id: str, session: Session) -> None:
        """Delete dead letters before the documents. Locked dead letters are left to `finish`."""
        removal, judge = self.removal, ArchiveJudge(self.clients, archive_id, session)
        if removal.unit not in {None, LETTERS}:
            return
        archived = ArchivedDeadLetters(self.clients, judge)
        if removal.unit is None:
            await self._plan(judge, QUEUES_OF_ARCHIVE)
            self._count("archived_letters", await archived.count())
            removal.unit = LETTERS
            await self.save()
            self.progress("letters_counted")
        await archived.forget()
        try:
            await self._run()
        except DeadLettersLeftError as error:
            log.info("dead letters of archive %s are left for later: %s", archive_id, error)
        self.progress("letters")

    async def finish(self, archive_id: str, session: Session, gone: set[str]) -> None:
        """Delete the remaining and new dead letters. `gone` has the threads that are already deleted."""
        await self._take_all(ArchiveJudge(self.clients, archive_id, session, gone), QUEUES_OF_ARCHIVE)

    async def finish_source(self) -> None:
        await self._take_all(_SourceJudge(self.clients, self.removal.target), QUEUES_OF_SOURCE)

    async def _take_all(self, judge: Judge, queues: Sequence[str]) -> None:
        """Delete all dead letters. The caller saves the counts and the cleared operations in one write."""
        deleted = await self._run()
        while await self._plan(judge, queues):
            await self.save()
            if len(self.removal.letters) > MOST_OPERATIONS:
                raise DeadLettersLeftError("more dead letters keep arriving")
            deleted = await self._run()
        for operation in self.removal.letters:
            await self.clients.blobs.delete(
                DEAD_LETTERS_CONTAINER, Journal(self.clients.blobs, operation).path
            )
        self._count("dead_letters", deleted)
        self.removal.letters = []

    async def _plan(self, judge: Judge, queues: Sequence[str]) -> bool:
        """Store the plan of an operation. Return False if there are no dead letters to delete."""
        plan = await self._find(judge, queues)
        if not plan:
            return False
        removal, runtime = self.removal, self.clients.runtime
        selection = {"queues": sorted(plan), removal.target_kind: removal.target}
        audit = new_audit(DELETE, Operator(removal.requested_by, "deletion"), selection, runtime)
        header = {"operation": audit.id, "action": DELETE, "plan": plan}
        await Journal(self.clients.blobs, audit.id).begin(header)
        self._asked[audit.id] = await save_audit(
            self.clients.store, audit, runtime.now(), status=AuditStatus.ASKED
        )
        removal.letters = [*removal.letters, audit.id]
        return True

    async def _find(self, judge: Judge, queues: Sequence[str]) -> dict[str, list[int]]:
        # Concurrently: opening the links takes most of the time.
        found = await asyncio.gather(*(self._find_in(judge, queue) for queue in queues))
        return {queue: numbers for queue, numbers in zip(queues, found, strict=True) if numbers}

    async def _find_in(self, judge: Judge, queue: str) -> list[int]:
        numbers: list[int] = []
        async for batch in in_pages(peek_all(self.clients.bus, queue, most=MOST_LETTERS), JUDGED_AT_ONCE):
            mine = await judge.of([(queue, dead_letter.copy.data()) for dead_letter in batch])
            numbers += [
                dead_letter.sequence_number
                for dead_letter, is_mine in zip(batch, mine, strict=True)
                if is_mine
            ]
        return numbers

    async def _run(self) -> int:
        """Run the planned operations, and return how many dead letters were deleted."""
        clock, deleted = self.clients.runtime.monotonic, 0
        until = clock() + SECONDS
        watch = OperationObserver(
            step=lambda name: self.progress(f"letters_{name}"), stopped=lambda: clock() > until
        )
        for operation in self.removal.letters:
            try:
                audit = await run_operation(
                    self.clients, operation, watch=watch, patience=0, known=self._asked.get(operation)
                )
            except UnknownOperationError as error:  # a replica does not have it yet
                raise DeadLettersLeftError(str(error)) from error
            self._asked[operation] = audit
            if audit.status is not AuditStatus.SUCCEEDED:
                raise DeadLettersLeftError(f"{operation}: {audit.outcome}")
            deleted += audit.counts["deleted"]
        return deleted

    def _count(self, name: str, number: int) -> None:
        self.removal.counts[name] = self.removal.counts.get(name, 0) + number


@dataclass
class _SourceJudge:
    """Judges requests for archives of a source, and events about failed fetches."""

    clients: Clients
    source: str

    async def of(self, messages: Sequence[tuple[str, bytes]]) -> list[bool]:
        return [await self._belongs(queue, body) for queue, body in messages]

    async def _belongs(self, queue: str, body: bytes) -> bool:
        if queue == REMOVAL.name:
            return named_in(body, "removal_id") == removal_id("source", self.source)
        if queue == INGESTION.name:
            id_ = named_in(body, "operation_id")
            found = await self.clients.store.find(Operation, id_, Session()) if id_ else None
            return found is not None and found.source == self.source
        try:
            event = parse_event(body).data
        except (InvalidEventError, NewerVersionError):
            return False
        return isinstance(event, ArchiveIngestionFailed) and event.source_name == self.source


@dataclass
class _SortedArchive:
    """The archive of an operation: the records to delete and the records to keep."""

    journal: Journal
    tags: ArchiveTags
    going: list[Any] = field(default_factory=list)
    staying: list[Any] = field(default_factory=list)


@dataclass
class ArchivedDeadLetters:
    """Copies of dead letters that purges, resolves and edits archived, if the judge selects them."""

    clients: Clients
    judge: Judge

    async def count(self) -> int:
        return sum([len(found.going) async for found in self._archives()])

    async def forget(self) -> None:
        """Delete the records, and repeat for changed archives. The caller holds the threading lease."""
        for _ in range(MOST_OPERATIONS):
            changed = False
            async for found in self._archives():
                if found.going:
                    changed |= not await found.journal.keep_only(found.staying, found.tags)
            if not changed:
                return
        raise DeadLettersLeftError("the archived dead letters keep changing")

    async def _archives(self) -> AsyncIterator[_SortedArchive]:
        names = await self.clients.blobs.names(DEAD_LETTERS_CONTAINER, ARCHIVE)
        for operation in sorted({_operation(name) for name in names}):
            journal = Journal(self.clients.blobs, operation)
            tags = await journal.tags()  # read first, so that later writes are noticed
            try:
                records = [record async for record in journal.archived()]
            except DocumentNotFoundError:  # another deletion has removed the whole archive
                continue
            except JournalError:
                log.exception("the archive of operation %s cannot be read and is left unchanged", operation)
                continue
            found = _SortedArchive(journal, tags)
            for record, is_mine in zip(records, await self._judged(records), strict=True):
                (found.going if is_mine else found.staying).append(record)
            yield found

    async def _judged(self, records: Sequence[dict[str, Any]]) -> list[bool]:
        return [
            is_mine
            for batch in batches_of(records, JUDGED_AT_ONCE)
            for is_mine in await self.judge.of([_queue_and_body(record) for record in batch])
        ]


def _operation(path: str) -> str:
    return path.removeprefix(ARCHIVE).removesuffix(KEPT).removesuffix(".jsonl")


def _queue_and_body(record: dict[str, Any]) -> tuple[str, bytes]:
    """Return the queue and the body of a record. The body of a damaged record is empty."""
    try:
        return str(record.get("queue")), MessageCopy.from_record(record.get("message")).data()
    except ValueError:
        return str(record.get("queue")), b""
