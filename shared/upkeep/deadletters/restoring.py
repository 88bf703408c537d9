"""Puts purged dead letters back: from the archive to their stage's queue, where they are tried again.

Nothing can be put into a dead-letter queue itself. What still fails comes back there by itself.
"""

from collections.abc import AsyncIterator
from itertools import groupby
from typing import Any, Protocol

from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letter_mover import OperationObserver
from shared.clients.servicebus.message_copy import MessageCopy
from shared.clients.servicebus.rate_limit import RateLimiter
from shared.clients.servicebus.resending import Resubmission, send_again
from shared.core.errors import DocumentNotFoundError, PermanentError
from shared.documents.records import Audit, AuditStatus
from shared.upkeep.audit import find_audit
from shared.upkeep.deadletters.actions import RESTORABLE
from shared.upkeep.deadletters.journal import Journal


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
