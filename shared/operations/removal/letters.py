"""The dead letters of what is deleted, and what operators' purges archived of them: both go with it.

    look, while the documents tell whose a letter is -> note the operation -> take them -> ... -> look again

Which letters go is settled in the journal of an operation (`dlq.delete`) before the first document goes, so
that a run after a crash goes on with the same. What another receiver holds locked is left, and taken in the
end or by another run: the request for the deletion comes again.
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

LONGEST_CHAIN = 20  # of threads that were merged into one another


@dataclass(frozen=True)
class _Subject:
    """What a message is about."""

    archive: str | None = None  # as the message itself says
    container: str = Thread.container
    ids: Collection[str] = ()
    summary: data.SummaryComplete | None = None


@dataclass
class Belonging:
    clients: Clients
    archive: str
    session: Session
    gone: Collection[str] = ()  # threads that only this archive had, where they are deleted already
    _archives: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    async def of(self, messages: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Whether each belongs to the archive, by its queue and its body."""
        subjects = [_subject(queue, body, self.archive) for queue, body in messages]
        for container in (Message.container, Chunk.container, Thread.container):
            ids = {
                id_ for subject in subjects if subject and subject.container == container
                for id_ in subject.ids
            }  # fmt: skip
            await self._find(container, ids)
        return [subject is not None and await self._is_only_of_it(subject) for subject in subjects]

    async def _find(self, container: str, ids: Collection[str]) -> None:
        """Which archives have these documents; a thread that was merged has those of what it is now."""
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

    async def _is_only_of_it(self, subject: _Subject) -> bool:
        if subject.archive not in {None, self.archive}:
            return False
        if subject.container == Archive.container:
            return subject.archive == self.archive
        known = [(subject.container, id_) for id_ in subject.ids]
        found = [self._archives[key] for key in known if key in self._archives]
        named = subject.archive == self.archive or bool(found) or self._all_gone(subject)
        if named and all(archives <= {self.archive} for archives in found):
            return True
        return subject.summary is not None and await self._loses(subject.summary)

    def _all_gone(self, subject: _Subject) -> bool:
        return subject.container == Thread.container and set(self.gone).issuperset(subject.ids)

    async def _loses(self, announced: data.SummaryComplete) -> bool:
        """Whether a thread that the summary tells of has a message that only this archive has."""
        threads = {announced.thread_id}
        if announced.summary_id:
            scope = announced.thread_id
            stored = await self.clients.store.find(
                Summary, announced.summary_id, self.session, partition=scope
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
        asked = named_in(body, "removal_id")
        return _Subject(archive, Archive.container) if asked == removal_id("archive", archive) else None
    try:
        return _of_event(parse_event(body).data)
    except (InvalidEventError, NewerVersionError):
        return None


def _of_event(event: data.EventData) -> _Subject | None:
    """What the stage that takes it works on: a thread has more than the messages that an event tells of."""
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
    """A field of a request that is no event."""
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
MOST_LETTERS = 100_000  # of one operation, whose plan is one block of a blob
MOST_OPERATIONS = 5
SECONDS = 120.0  # of taking them at one go: shorter than what is held in passing is locked
ARCHIVE = "archive/"


class LettersLeftError(TransientError):
    """Another receiver holds dead letters of it, or they are too many for one run."""


class Judge(Protocol):
    async def of(self, messages: Sequence[tuple[str, bytes]]) -> list[bool]: ...


@dataclass
class RemovalLetters:
    clients: Clients
    removal: Removal
    save: Callable[[], Awaitable[None]]
    progress: Callable[[str], None]
    _asked: dict[str, Audit] = field(default_factory=dict)  # by this run: a replica may not have them yet

    async def take(self, archive_id: str, session: Session) -> None:
        """Before the documents go. What cannot be had now is left to `finish`."""
        removal, judge = self.removal, Belonging(self.clients, archive_id, session)
        if removal.unit not in {None, LETTERS}:
            return
        archived = ArchivedLetters(self.clients, judge)
        if removal.unit is None:
            await self._settle(judge, QUEUES_OF_ARCHIVE)
            self._count("archived_letters", await archived.count())
            removal.unit = LETTERS
            await self.save()
            self.progress("letters_counted")
        await archived.forget()
        try:
            await self._run()
        except LettersLeftError as error:
            log.info("dead letters of archive %s are left for later: %s", archive_id, error)
        self.progress("letters")

    async def finish(self, archive_id: str, session: Session, gone: set[str]) -> None:
        """Those that were left, and those that came meanwhile; `gone` are threads that are deleted by now."""
        await self._take_all(Belonging(self.clients, archive_id, session, gone), QUEUES_OF_ARCHIVE)

    async def finish_source(self) -> None:
        await self._take_all(_OfSource(self.clients, self.removal.target), QUEUES_OF_SOURCE)

    async def _take_all(self, judge: Judge, queues: Sequence[str]) -> None:
        """The caller saves what was counted, and forgets the operations with the same write."""
        taken = await self._run()
        while await self._settle(judge, queues):
            await self.save()
            if len(self.removal.letters) > MOST_OPERATIONS:
                raise LettersLeftError("there are always more dead letters of it")
            taken = await self._run()
        for operation in self.removal.letters:
            await self.clients.blobs.delete(
                DEAD_LETTERS_CONTAINER, Journal(self.clients.blobs, operation).path
            )
        self._count("dead_letters", taken)
        self.removal.letters = []

    async def _settle(self, judge: Judge, queues: Sequence[str]) -> bool:
        """Note which dead letters go; False where there are none."""
        plan = await self._look(judge, queues)
        if not plan:
            return False
        removal, runtime = self.removal, self.clients.runtime
        asked = {"queues": sorted(plan), removal.target_kind: removal.target}
        audit = new_audit(DELETE, Operator(removal.requested_by, "deletion"), asked, runtime)
        header = {"operation": audit.id, "action": DELETE, "plan": plan}
        await Journal(self.clients.blobs, audit.id).begin(header)
        self._asked[audit.id] = await save_audit(
            self.clients.store, audit, runtime.now(), status=AuditStatus.ASKED
        )
        removal.letters = [*removal.letters, audit.id]
        return True

    async def _look(self, judge: Judge, queues: Sequence[str]) -> dict[str, list[int]]:
        # All at once: most of the time goes into opening links.
        found = await asyncio.gather(*(self._found(judge, queue) for queue in queues))
        return {queue: numbers for queue, numbers in zip(queues, found, strict=True) if numbers}

    async def _found(self, judge: Judge, queue: str) -> list[int]:
        numbers: list[int] = []
        async for batch in in_pages(peek_all(self.clients.bus, queue, most=MOST_LETTERS), JUDGED_AT_ONCE):
            mine = await judge.of([(queue, letter.copy.data()) for letter in batch])
            numbers += [
                letter.sequence_number for letter, is_mine in zip(batch, mine, strict=True) if is_mine
            ]
        return numbers

    async def _run(self) -> int:
        """Take those that are settled on; how many that were."""
        clock, taken = self.clients.runtime.monotonic, 0
        until = clock() + SECONDS
        watch = OperationObserver(
            step=lambda name: self.progress(f"letters_{name}"), stopped=lambda: clock() > until
        )
        for operation in self.removal.letters:
            try:
                audit = await run_operation(
                    self.clients, operation, watch=watch, patience=0, known=self._asked.get(operation)
                )
            except UnknownOperationError as error:  # a replica does not show it yet
                raise LettersLeftError(str(error)) from error
            self._asked[operation] = audit
            if audit.status is not AuditStatus.SUCCEEDED:
                raise LettersLeftError(f"{operation}: {audit.outcome}")
            taken += audit.counts["deleted"]
        return taken

    def _count(self, name: str, number: int) -> None:
        self.removal.counts[name] = self.removal.counts.get(name, 0) + number


@dataclass
class _OfSource:
    """What asks for a source's archives, or tells that they could not be fetched."""

    clients: Clients
    source: str

    async def of(self, messages: Sequence[tuple[str, bytes]]) -> list[bool]:
        return [await self._is_of_it(queue, body) for queue, body in messages]

    async def _is_of_it(self, queue: str, body: bytes) -> bool:
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
    """What an operation archived: the records that go, and those that stay."""

    journal: Journal
    tags: ArchiveTags
    going: list[Any] = field(default_factory=list)
    staying: list[Any] = field(default_factory=list)


@dataclass
class ArchivedLetters:
    """What purges, resolves and edits keep of the letters that a judge tells."""

    clients: Clients
    judge: Judge

    async def count(self) -> int:
        return sum([len(found.going) async for found in self._archives()])

    async def forget(self) -> None:
        """Again where an archive was written to meanwhile. The caller holds the threading lease."""
        for _ in range(MOST_OPERATIONS):
            changed = False
            async for found in self._archives():
                if found.going:
                    changed |= not await found.journal.keep_only(found.staying, found.tags)
            if not changed:
                return
        raise LettersLeftError("what was archived of its dead letters changes all the time")

    async def _archives(self) -> AsyncIterator[_SortedArchive]:
        names = await self.clients.blobs.names(DEAD_LETTERS_CONTAINER, ARCHIVE)
        for operation in sorted({_operation(name) for name in names}):
            journal = Journal(self.clients.blobs, operation)
            tags = await journal.tags()  # before it is read: what is written since is noticed
            try:
                records = [record async for record in journal.archived()]
            except DocumentNotFoundError:  # another deletion has taken all of it
                continue
            except JournalError:
                log.exception("what is archived of %s cannot be read: it is left as it is", operation)
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
    """A damaged record is about nothing that can be told."""
    try:
        return str(record.get("queue")), MessageCopy.from_record(record.get("message")).data()
    except ValueError:
        return str(record.get("queue")), b""
