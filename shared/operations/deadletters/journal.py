"""The journal of an operation, in an append blob: its plan, and its progress.

    {"operation": ..., "plan": {queue: [numbers]}}   first, before the first move
    {"queue": ..., "done": [numbers]}                sent or archived; still in the dead-letter queue
    {"queue": ..., "restored": [numbers]}            in a purge's journal: sent again from the archive

A repeated line has no effect.
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from shared.azure.blobs import DEAD_LETTERS_CONTAINER, Blobs
from shared.azure.connections import Clients
from shared.azure.servicebus.dead_letter_mover import (
    OperationObserver,
    RateLimiter,
    Resubmission,
    send_again,
)
from shared.azure.servicebus.dead_letters import MessageCopy
from shared.core.errors import DocumentNotFoundError, PermanentError
from shared.models.records import Audit, AuditStatus
from shared.operations.audit import find_audit

CONTAINER = DEAD_LETTERS_CONTAINER
SHOWN_REFUSED = 3
KEPT = ".kept.jsonl"  # the rest of an archive after a deletion has removed records from it
BLOCK_BYTES = 3 * 1024 * 1024  # a block of an append blob has at most 4 MiB


class JournalError(PermanentError):
    """A journal cannot be read."""


# The ETags of the two blobs of an archive: the archive and the kept records. None if the blob is missing.
ArchiveTags = tuple[str | None, str | None]


@dataclass
class JournalState:
    plan: dict[str, list[int]]
    done: dict[str, set[int]] = field(default_factory=dict)
    restored: dict[str, set[int]] = field(default_factory=dict)


class Journal:
    def __init__(self, blobs: Blobs, operation: str) -> None:
        self._blobs = blobs
        self.path = f"operations/{operation}.jsonl"
        self.archive_path = f"archive/{operation}.jsonl"
        self.kept_path = f"archive/{operation}{KEPT}"

    async def begin(self, header: Mapping[str, Any]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line(header))

    async def record(self, kind: Literal["done", "restored"], queue: str, numbers: Iterable[int]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line({"queue": queue, kind: sorted(numbers)}))

    async def archive(self, records: Iterable[Mapping[str, Any]]) -> None:
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
        """Keep only these records. Return False if a blob has changed since the tags were read."""
        content, (archive, kept) = b"".join(map(_line, records)), etags
        if content and not await self._blobs.upload_if(CONTAINER, self.kept_path, content, kept):
            return False
        if archive and not await self._blobs.delete_if(CONTAINER, self.archive_path, archive):
            return False
        if kept and not content:
            return await self._blobs.delete_if(CONTAINER, self.kept_path, kept)
        return True

    async def tags(self) -> ArchiveTags:
        kept = await self._blobs.etag(CONTAINER, self.kept_path)
        return await self._blobs.etag(CONTAINER, self.archive_path), kept

    async def read(self) -> JournalState:
        lines = [line async for line in read_lines(self._blobs, self.path)]
        plan = next((line["plan"] for line in lines if "plan" in line), None)
        if plan is None:
            raise JournalError(f"{CONTAINER}/{self.path} has no plan")
        state = JournalState(plan)
        for line in lines:
            for kind, numbers in (("done", state.done), ("restored", state.restored)):
                if kind in line:
                    numbers.setdefault(line["queue"], set()).update(line[kind])
        return state


async def read_lines(blobs: Blobs, path: str) -> AsyncIterator[dict[str, Any]]:
    rest, number = b"", 0
    async for piece in blobs.read(CONTAINER, path):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            record = None
            with suppress(ValueError, RecursionError):
                record = json.loads(line)
            if not isinstance(record, dict):
                location = f"{CONTAINER}/{path}, line {number}"
                raise JournalError(f"{location}: damaged. See the blob's earlier versions")
            yield record


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


REQUEUE, PURGE, RESTORE, RESOLVE = "dlq.requeue", "dlq.purge", "dlq.restore", "dlq.resolve"
DELETE = "dlq.delete"  # as part of the deletion of an archive: the messages are not archived
DONE_WORD = {
    REQUEUE: "requeued",
    PURGE: "purged",
    RESTORE: "restored",
    RESOLVE: "resolved",
    DELETE: "deleted",
}
RESTORABLE = frozenset({PURGE, RESOLVE})  # they archive the messages that they remove


class NothingToRestoreError(PermanentError):
    """The operation left no archive that can be restored."""


@dataclass
class MoveCounts:
    planned: int = 0
    done: int = 0
    gone: int = 0
    left: int = 0
    refused: dict[int, str] = field(default_factory=dict)

    def counts(self, action: str) -> dict[str, int]:
        numbers = (self.planned, self.done, self.gone, len(self.refused), self.left)
        return dict(zip(("planned", DONE_WORD[action], "gone", "refused", "left"), numbers, strict=True))

    def outcome(self) -> str | None:
        parts = []
        if self.gone:
            parts.append(f"{self.gone} no longer existed")
        if self.left:
            parts.append(f"{self.left} are left: another receiver holds them, or the operation was stopped")
        if self.refused:
            examples = [
                f"{number}: {reason}" for number, reason in list(self.refused.items())[:SHOWN_REFUSED]
            ]
            parts.append(f"{len(self.refused)} cannot be sent ({'; '.join(examples)})")
        return "; ".join(parts) or None


async def restorable(
    clients: Clients, purge: str, *, sequence_numbers: list[int] | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    audit = await find_audit(clients.store, purge)
    if audit.action not in RESTORABLE:
        allowed = ", ".join(sorted(RESTORABLE))
        raise NothingToRestoreError(f"{purge} is a {audit.action}: only these can be restored: {allowed}")
    if audit.status not in {AuditStatus.SUCCEEDED, AuditStatus.INCOMPLETE}:
        raise NothingToRestoreError(
            f"the {audit.action} {purge} is {audit.status}: finish it first, with --resume {purge}"
        )
    journal = Journal(clients.blobs, purge)
    restored = (await journal.read()).restored
    try:
        return [
            record
            async for record in journal.archived()
            if record["sequence_number"] not in restored.get(record["queue"], set())
            and (not sequence_numbers or record["sequence_number"] in sequence_numbers)
        ][:limit]
    except DocumentNotFoundError:  # the operation archived nothing
        return []


async def restore(
    clients: Clients, audit: Audit, pace: RateLimiter, watch: OperationObserver, tally: MoveCounts
) -> None:
    """Send the messages that were not restored yet. The journal of the purge records each of them."""
    asked, purge = audit.selection, str(audit.selection["purge"])
    records = await restorable(
        clients, purge, sequence_numbers=asked.get("sequence_numbers"), limit=asked.get("limit")
    )
    tally.planned = tally.left = len(records)
    watch.planned(len(records))
    journal = Journal(clients.blobs, purge)
    purged = (await find_audit(clients.store, purge)).selection.get("queues", [])
    for queue, group in groupby(records, key=lambda record: str(record["queue"])):
        waiting = list(group)
        if queue not in purged:  # a tampered archive must not send to another queue
            why = f"the purge was not of the queue {queue!r}"
            tally.refused |= {record["sequence_number"]: why for record in waiting}
            tally.left -= len(waiting)
            continue
        async with clients.bus.queue_sender(queue) as sender:
            while waiting and not watch.stopped():
                granted = await pace.take(len(waiting))
                batch, waiting = waiting[:granted], waiting[granted:]
                again, refused = _readable(batch)
                refused |= await send_again(sender, queue, purge, again)
                watch.step("acted")
                sent = [number for number, _, _ in again if number not in refused]
                await journal.record("restored", queue, sent)
                watch.step("noted")
                tally.done += len(sent)
                tally.left -= len(batch)
                tally.refused |= refused
                watch.progress(tally.done)


def _readable(batch: list[dict[str, Any]]) -> tuple[list[Resubmission], dict[int, str]]:
    """Return the messages that can be sent, and for each damaged record the reason why it cannot."""
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
