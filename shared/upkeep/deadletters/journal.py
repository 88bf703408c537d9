"""The journal of an operation, in an append blob: its plan, and how far it has come.

    {"operation": ..., "plan": {queue: [numbers]}}   first, before anything is done
    {"queue": ..., "done": [numbers]}                sent or archived; they have not left the dead letters yet
    {"queue": ..., "restored": [numbers]}            in a purge's journal: sent again from the archive

A line may stand there twice, and an operation may do twice what it had no time to write down: both have no
second effect.
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from shared.clients.blobs import DEAD_LETTERS_CONTAINER, Blobs
from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letter_mover import (
    OperationObserver,
    RateLimiter,
    Resubmission,
    send_again,
)
from shared.clients.servicebus.dead_letters import MessageCopy
from shared.core.errors import DocumentNotFoundError, PermanentError
from shared.documents.records import Audit, AuditStatus
from shared.upkeep.audit import find_audit

CONTAINER = DEAD_LETTERS_CONTAINER
KEPT = ".kept.jsonl"  # what stays of an archive when a deletion has taken records out of it
BLOCK_BYTES = 3 * 1024 * 1024  # a block of an append blob has at most 4 MiB


class JournalError(PermanentError):
    """A journal cannot be read."""


@dataclass(frozen=True)
class ArchiveTags:
    """The versions of the two blobs of an archive; None of one that is not there."""

    archive: str | None
    kept: str | None


@dataclass
class JournalState:
    """The content of a journal."""

    header: dict[str, Any] = field(default_factory=dict)
    done: dict[str, set[int]] = field(default_factory=dict)
    restored: dict[str, set[int]] = field(default_factory=dict)

    @property
    def plan(self) -> dict[str, list[int]]:
        return dict(self.header["plan"])


class Journal:
    def __init__(self, blobs: Blobs, operation: str) -> None:
        self._blobs = blobs
        self.path = f"operations/{operation}.jsonl"
        self.archive_path = f"archive/{operation}.jsonl"
        self.kept_path = f"archive/{operation}{KEPT}"

    async def begin(self, header: Mapping[str, Any]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line(header))

    async def done(self, queue: str, numbers: Iterable[int]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line({"queue": queue, "done": sorted(numbers)}))

    async def restored(self, queue: str, numbers: Iterable[int]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line({"queue": queue, "restored": sorted(numbers)}))

    async def archive(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add them to the operation's archive, in blocks of the size that an append blob takes."""
        block = b""
        for record in records:
            line = _line(record)
            if block and len(block) + len(line) > BLOCK_BYTES:
                await self._blobs.append(CONTAINER, self.archive_path, block)
                block = b""
            block += line
        if block:
            await self._blobs.append(CONTAINER, self.archive_path, block)

    async def archived(self) -> AsyncIterator[dict[str, Any]]:
        """What the archive holds, each dead letter once."""
        seen: set[tuple[Any, Any]] = set()
        missing = None
        for path in (self.kept_path, self.archive_path):
            try:
                async for record in read_lines(self._blobs, path):
                    key = (record.get("queue"), record.get("sequence_number"))
                    if not (isinstance(key[0], str) and isinstance(key[1], int)):
                        raise JournalError(f"{CONTAINER}/{path}: a line of it names no dead letter")
                    if key not in seen:
                        seen.add(key)
                        yield record
            except DocumentNotFoundError as error:
                if missing is not None:
                    raise
                missing = error

    async def keep_only(self, records: Iterable[Mapping[str, Any]], etags: ArchiveTags) -> bool:
        """Leave these in the archive; False where it has changed since these tags were read.

        The append blob cannot be replaced in one step. So what stays is stored beside it before it goes, and
        after a crash between the two each record is there once or twice.
        """
        content = b"".join(map(_line, records))
        if content and not await self._blobs.upload_if(CONTAINER, self.kept_path, content, etags.kept):
            return False
        if etags.archive and not await self._blobs.delete_if(CONTAINER, self.archive_path, etags.archive):
            return False
        if etags.kept and not content:
            return await self._blobs.delete_if(CONTAINER, self.kept_path, etags.kept)
        return True

    async def tags(self) -> ArchiveTags:
        kept = await self._blobs.etag(CONTAINER, self.kept_path)
        return ArchiveTags(await self._blobs.etag(CONTAINER, self.archive_path), kept)

    async def read(self) -> JournalState:
        progress = JournalState()
        async for line in read_lines(self._blobs, self.path):
            if "plan" in line:
                progress.header = progress.header or line
            for kind, numbers in (("done", progress.done), ("restored", progress.restored)):
                if kind in line:
                    numbers.setdefault(line["queue"], set()).update(line[kind])
        if not progress.header:
            raise JournalError(f"{CONTAINER}/{self.path} has no plan in it")
        return progress


async def read_lines(blobs: Blobs, path: str) -> AsyncIterator[dict[str, Any]]:
    rest, number = b"", 0
    async for piece in blobs.read(CONTAINER, path):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            yield _record(line, f"{CONTAINER}/{path}, line {number}")


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise JournalError(f"{where}: not as it was written; see the blob's earlier versions")
    return record


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


REQUEUE, PURGE, RESTORE, RESOLVE = "dlq.requeue", "dlq.purge", "dlq.restore", "dlq.resolve"
DELETE = "dlq.delete"  # with the archive that they are about: nothing of them is kept
DONE_WORD = {
    REQUEUE: "requeued",
    PURGE: "purged",
    RESTORE: "restored",
    RESOLVE: "resolved",
    DELETE: "deleted",
}
RESTORABLE = frozenset({PURGE, RESOLVE})  # they archive what they take out


class NothingToRestoreError(PermanentError):
    """The operation left no archive that can be restored."""


class RestoreTally(Protocol):
    planned: int
    done: int
    left: int
    refused: dict[int, str]


async def restorable(
    clients: Clients, purge: str, *, sequence_numbers: list[int] | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """What the purge archived and no restore has sent yet."""
    audit = await find_audit(clients.store, purge)
    if audit.action not in RESTORABLE:
        allowed = ", ".join(sorted(RESTORABLE))
        raise NothingToRestoreError(f"{purge} is a {audit.action}: only these can be restored: {allowed}")
    if audit.status not in {AuditStatus.SUCCEEDED, AuditStatus.INCOMPLETE}:
        raise NothingToRestoreError(
            f"the {audit.action} {purge} is {audit.status}: finish it first, with --resume {purge}"
        )
    found = [record async for record in _missing(Journal(clients.blobs, purge))]
    if sequence_numbers:
        found = [record for record in found if record["sequence_number"] in sequence_numbers]
    return found[:limit]


async def _missing(journal: Journal) -> AsyncIterator[dict[str, Any]]:
    restored = (await journal.read()).restored
    try:
        async for record in journal.archived():
            if record["sequence_number"] not in restored.get(record["queue"], set()):
                yield record
    except DocumentNotFoundError:  # it purged nothing
        return


async def restore(
    clients: Clients, audit: Audit, pace: RateLimiter, watch: OperationObserver, tally: RestoreTally
) -> None:
    """Send what was not restored yet. The purge's journal records it, so that nothing is restored twice."""
    asked = audit.selection
    purge = str(asked["purge"])
    records = await restorable(
        clients, purge, sequence_numbers=asked.get("sequence_numbers"), limit=asked.get("limit")
    )
    tally.planned = tally.left = len(records)
    watch.planned(len(records))
    journal = Journal(clients.blobs, purge)
    purged = (await find_audit(clients.store, purge)).selection.get("queues", [])
    for queue, group in groupby(_known(records, purged, tally), key=lambda record: str(record["queue"])):
        async with clients.bus.queue_sender(queue) as sender:
            waiting = list(group)
            while waiting and not watch.stopped():
                granted = await pace.take(len(waiting))
                batch, waiting = waiting[:granted], waiting[granted:]
                again, refused = _readable(batch)
                refused |= await send_again(sender, queue, purge, again)
                watch.step("acted")
                sent = [number for number, _, _ in again if number not in refused]
                await journal.restored(queue, sent)
                watch.step("noted")
                tally.done += len(sent)
                tally.left -= len(batch)
                tally.refused |= refused
                watch.progress(tally.done)


def _known(records: list[dict[str, Any]], purged: list[str], tally: RestoreTally) -> list[dict[str, Any]]:
    """Only records of the queues that were purged: a tampered archive must not send to any other."""
    for record in records:
        if record["queue"] not in purged:
            tally.refused[record["sequence_number"]] = f"the purge was not of the queue {record['queue']!r}"
            tally.left -= 1
    return [record for record in records if record["queue"] in purged]


def _readable(batch: list[dict[str, Any]]) -> tuple[list[Resubmission], dict[int, str]]:
    """The messages that can be sent, and why a damaged record cannot; it does not hold up the others."""
    again: list[Resubmission] = []
    refused: dict[int, str] = {}
    for record in batch:
        try:
            copy = MessageCopy.from_record(record.get("message"))
        except ValueError as error:
            refused[record["sequence_number"]] = str(error)
        else:
            again.append((record["sequence_number"], record.get("message_id"), copy))
    return again, refused
