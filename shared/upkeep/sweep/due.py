"""The documents that are due, by queries that give nothing else.

- failed: the last attempt is known to have failed, and the backoff has elapsed. One query for each number of
  attempts, because each has its own backoff: so a document that still waits is not even read.
- silent: nothing was heard of the last attempt, and the stuck threshold and the backoff have elapsed
- never: no attempt was recorded, and the grace after its creation is over

Those at their last attempt are found in the same way, to be given up.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.documents.base import stored_time
from shared.documents.queries.named_query import FAILED, NEVER, OPEN, SILENT, NamedQuery
from shared.upkeep.requeue.due_document import Collection, DueDocument, RetryReason
from shared.upkeep.requeue.policy import Policy

__all__ = ["Counted", "count_documents", "due_documents"]


FIELDS = ("id", "attemptCount", "lastAttemptTime", "lastError", "requeued_at", "created_at")

Counted = dict[str, int]


async def due_documents(
    store: Store, collection: Collection, policy: Policy, now: datetime, *, after: str = ""
) -> AsyncIterator[DueDocument]:
    """Those that are due, oldest first within each kind. `after` is where the never attempted ones start."""
    last = policy.max_attempts[collection.name]
    for attempts in range(last + 1):
        before = stored_time(now - policy.delay(attempts))
        query = _query(collection, "due_failed", _failed(exactly=attempts < last), "lastAttemptTime")
        async for due in _found(
            store, query, collection, RetryReason.FAILED, attempts=attempts, before=before
        ):
            yield due
    query = _query(collection, "due_silent", f"{SILENT} AND c.lastAttemptTime <= @before", "lastAttemptTime")
    before = stored_time(now - policy.stuck_after)
    async for due in _found(store, query, collection, RetryReason.SILENT, before=before):
        if due.last_attempt is not None and due.last_attempt <= stored_time(
            now - policy.silence(due.attempts)
        ):
            yield due
    never = f"{NEVER} AND (c.created_at <= @before OR c.attemptCount >= @last) AND c.created_at > @after"
    query = _query(collection, "due_never", never, "created_at")
    grace = stored_time(now - policy.grace)
    async for due in _found(
        store, query, collection, RetryReason.NEVER, before=grace, after=after, last=last
    ):
        yield due


async def count_documents(store: Store, collection: Collection, policy: Policy, now: datetime) -> Counted:
    """How many wait for their backoff, are stuck, and were given up; counted without being read."""
    waiting = " OR ".join(
        f"(c.attemptCount {'=' if attempts < policy.max_attempts[collection.name] else '>='} {attempts:d}"
        f" AND c.lastAttemptTime > @before{attempts:d})"
        for attempts in range(1, policy.max_attempts[collection.name] + 1)
    )
    befores = {
        f"before{attempts}": stored_time(now - policy.delay(attempts))
        for attempts in range(1, policy.max_attempts[collection.name] + 1)
    }
    old = stored_time(now - policy.stuck_after)
    stuck = f"c.lastAttemptTime <= @old OR ({NEVER} AND c.created_at <= @old) OR c.requeued_at <= @old"
    opened = f"{OPEN} AND {collection.alive}"
    return {
        "waiting": await _count(store, collection, f"{opened} AND {FAILED} AND ({waiting})", **befores),
        "stuck": await _count(store, collection, f"{opened} AND ({stuck})", old=old),
        "failed": await _count(store, collection, "c.status = 'failed_max_retries'"),
    }


def _failed(*, exactly: bool) -> str:
    attempts = "c.attemptCount = @attempts" if exactly else "c.attemptCount >= @attempts"
    return f"{attempts} AND c.lastAttemptTime <= @before AND {FAILED}"


def _query(collection: Collection, name: str, condition: str, order: str) -> NamedQuery:
    place = collection.model.partition_field
    fields = ", ".join(f"c.{each}" for each in (*FIELDS, *collection.fields))
    text = (
        f"SELECT {fields}, c.{place} AS place FROM c"  # noqa: S608 - names of ours; values are parameters
        f" WHERE {OPEN} AND {collection.alive} AND {condition} ORDER BY c.{order}"
    )
    return NamedQuery(name, collection.name, text)


async def _found(
    store: Store, query: NamedQuery, collection: Collection, why: RetryReason, **parameters: Any
) -> AsyncIterator[DueDocument]:
    async for each in store.query(query, Session(), **parameters):
        yield DueDocument(
            collection,
            why,
            id=each["id"],
            partition=each["place"],
            attempts=each.get("attemptCount") or 0,
            last_attempt=each.get("lastAttemptTime"),
            last_error=each.get("lastError"),
            requeued_at=each.get("requeued_at"),
            fields=each,
        )


async def _count(store: Store, collection: Collection, condition: str, **parameters: Any) -> int:
    text = f"SELECT VALUE COUNT(1) FROM c WHERE {condition}"  # noqa: S608 - conditions of ours
    query = NamedQuery("count", collection.name, text)
    found: list[Any] = [each async for each in store.query(query, Session(), **parameters)]
    return sum(found)
