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
from shared.core.times import stored_time
from shared.documents.queries.named_query import NamedQuery
from shared.documents.queries.several_containers import (
    count_given_up,
    count_stuck,
    count_waiting,
    due_failed,
    due_never,
    due_silent,
)
from shared.upkeep.requeue.due_document import Collection, DueDocument, RetryReason
from shared.upkeep.requeue.policy import Policy

Counted = dict[str, int]


async def due_documents(
    store: Store, collection: Collection, policy: Policy, now: datetime, *, after: str = ""
) -> AsyncIterator[DueDocument]:
    """Those that are due, oldest first within each kind. `after` is where the never attempted ones start."""
    last = policy.max_attempts[collection.name]
    for attempts in range(last + 1):
        before = stored_time(now - policy.delay(attempts))
        query = due_failed(collection, exactly=attempts < last)
        async for due in _found(
            store, query, collection, RetryReason.FAILED, attempts=attempts, before=before
        ):
            yield due
    before = stored_time(now - policy.stuck_after)
    async for due in _found(store, due_silent(collection), collection, RetryReason.SILENT, before=before):
        if due.last_attempt is not None and due.last_attempt <= stored_time(
            now - policy.silence(due.attempts)
        ):
            yield due
    grace = stored_time(now - policy.grace)
    async for due in _found(
        store, due_never(collection), collection, RetryReason.NEVER, before=grace, after=after, last=last
    ):
        yield due


async def count_documents(store: Store, collection: Collection, policy: Policy, now: datetime) -> Counted:
    """How many wait for their backoff, are stuck, and were given up; counted without being read."""
    last = policy.max_attempts[collection.name]
    befores = {
        f"before{attempts}": stored_time(now - policy.delay(attempts)) for attempts in range(1, last + 1)
    }
    old = stored_time(now - policy.stuck_after)
    return {
        "waiting": await count(store, count_waiting(collection, last), **befores),
        "stuck": await count(store, count_stuck(collection), old=old),
        "failed": await count(store, count_given_up(collection)),
    }


async def _found(
    store: Store, query: NamedQuery, collection: Collection, why: RetryReason, **parameters: Any
) -> AsyncIterator[DueDocument]:
    async for row in store.query(query, Session(), **parameters):
        yield DueDocument(
            collection,
            why,
            id=row["id"],
            partition=row["place"],
            attempts=row.get("attemptCount") or 0,
            last_attempt=row.get("lastAttemptTime"),
            last_error=row.get("lastError"),
            requeued_at=row.get("requeued_at"),
            fields=row,
        )


async def count(store: Store, query: NamedQuery, **parameters: Any) -> int:
    """A query that counts gives one number for each of the partitions that the SDK asks."""
    found: list[Any] = [number async for number in store.query(query, Session(), **parameters)]
    return sum(found)
