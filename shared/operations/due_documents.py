"""Documents that are due for another attempt: the retry policy, and the queries that find them."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.core.times import stored_time
from shared.models.base import RetryableDocument
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.several_containers import (
    count_given_up,
    count_stuck,
    count_waiting,
    due_failed,
    due_never,
    due_silent,
)
from shared.pipeline.retry import exponential
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state.attempts import SeenAttempt
from shared.pipeline.topology import SWEPT
from shared.settings.app import Settings


@dataclass(frozen=True)
class Collection:
    name: str
    model: type[RetryableDocument]
    stage: str
    fields: tuple[str, ...]  # the fields that its event is rebuilt from
    alive: str  # a condition, false for pending documents that need no work


COLLECTIONS = tuple(
    Collection(
        stage.document.container, stage.document, stage.name, stage.rebuild_fields, stage.open_condition
    )
    for stage in SWEPT
)
ARCHIVES, MESSAGES, CHUNKS, THREADS = COLLECTIONS


class RetryReason(StrEnum):
    FAILED = "failed"  # its last attempt is known to have failed
    SILENT = "silent"  # its last attempt has no known outcome
    NEVER = "never"  # it was never attempted


@dataclass(frozen=True)
class DueDocument:
    collection: Collection
    why: RetryReason
    id: str
    partition: str
    attempts: int
    last_attempt: str | None
    last_error: str | None
    requeued_at: str | None
    stored: dict[str, Any] = field(default_factory=dict)  # the fields that the query returned

    @classmethod
    def of(
        cls, collection: Collection, why: RetryReason, row: dict[str, Any], partition: str
    ) -> "DueDocument":
        return DueDocument(
            collection,
            why,
            id=row["id"],
            partition=partition,
            attempts=row.get("attemptCount") or 0,
            last_attempt=row.get("lastAttemptTime"),
            last_error=row.get("lastError"),
            requeued_at=row.get("requeued_at"),
            stored=row,
        )

    @property
    def subject(self) -> DocumentRef:
        return DocumentRef(self.collection.model, self.id)

    @property
    def seen(self) -> SeenAttempt:
        return SeenAttempt(self.attempts, self.last_attempt)

    @property
    def next_attempt(self) -> int:
        return self.attempts + 1

    @property
    def since(self) -> datetime:
        return datetime.fromisoformat(self.last_attempt or self.stored["created_at"])

    def shown(self) -> dict[str, Any]:
        return {
            "collection": self.collection.name,
            "stage": self.collection.stage,
            "id": self.id,
            "partition": self.partition,
            "status": self.stored.get("status"),
            "attempts": self.attempts,
            "last_attempt": self.last_attempt,
            "requeued_at": self.requeued_at,
            "created_at": self.stored.get("created_at"),
            "error": self.last_error,
        }

    @property
    def reason(self) -> str:
        """Return the last error. If there is none, the missing outcome is the error."""
        if self.last_error:
            return self.last_error
        if self.last_attempt is None:
            return "NoOutcome: no attempt at it was recorded"
        return f"NoOutcome: no outcome of attempt {self.attempts} at {self.last_attempt}"


@dataclass(frozen=True)
class Policy:
    base_delay: timedelta
    max_delay: timedelta
    stuck_after: timedelta
    interval: timedelta  # also the delay before the first attempt, so that its event can arrive
    max_attempts: Mapping[str, int]
    limit: int = 5000  # documents of a collection in one run: the next run takes the rest
    probes: int = 5  # documents of a collection while the dependency of its stage is down

    @classmethod
    def from_settings(cls, settings: Settings) -> "Policy":
        return cls(
            base_delay=timedelta(seconds=settings.RETRY_JOB_BASE_DELAY_SECONDS),
            max_delay=timedelta(seconds=settings.RETRY_JOB_MAX_DELAY_SECONDS),
            stuck_after=timedelta(hours=settings.RETRY_JOB_STUCK_THRESHOLD_HOURS),
            interval=timedelta(seconds=settings.RETRY_JOB_INTERVAL_SECONDS),
            max_attempts={
                stage.document.container: getattr(settings, stage.max_attempts)
                for stage in SWEPT
                if stage.max_attempts is not None
            },
        )

    def delay(self, attempts: int) -> timedelta:
        if attempts < 1:
            return timedelta(0)
        base, cap = self.base_delay.total_seconds(), self.max_delay.total_seconds()
        return timedelta(seconds=exponential(base, attempts, cap))

    def silence(self, attempts: int) -> timedelta:
        return max(self.stuck_after, self.delay(attempts))

    def batch_size(self, collection: str, attempt: int, largest: int) -> int:
        """Return the batch size. It shrinks with each attempt to 1, so that a bad document fails alone."""
        if attempt >= self.max_attempts[collection]:
            return 1
        return largest if attempt <= 1 else max(1, largest // 10 ** (attempt - 1))


async def due_documents(
    store: Store, collection: Collection, policy: Policy, now: datetime, *, after: str = ""
) -> AsyncIterator[DueDocument]:
    """Yield due documents by reason, oldest first. Documents without an attempt start at `after`."""
    last = policy.max_attempts[collection.name]
    found = partial(_found, store, collection)
    for attempts in range(last + 1):
        query = due_failed(collection, exactly=attempts < last)
        before = stored_time(now - policy.delay(attempts))
        async for due in found(query, RetryReason.FAILED, attempts=attempts, before=before):
            yield due
    before = stored_time(now - policy.stuck_after)
    async for due in found(due_silent(collection), RetryReason.SILENT, before=before):
        silent_since = stored_time(now - policy.silence(due.attempts))
        if due.last_attempt is not None and due.last_attempt <= silent_since:
            yield due
    grace = stored_time(now - policy.interval)
    async for due in found(due_never(collection), RetryReason.NEVER, before=grace, after=after, last=last):
        yield due


async def count_documents(
    store: Store, collection: Collection, policy: Policy, now: datetime
) -> dict[str, int]:
    """Count the documents that wait for their backoff, are stuck, or have failed, without reading them."""
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
    store: Store, collection: Collection, query: NamedQuery, why: RetryReason, **parameters: Any
) -> AsyncIterator[DueDocument]:
    async for row in store.query(query, Session(), **parameters):
        yield DueDocument.of(collection, why, row, row["place"])


async def count(store: Store, query: NamedQuery, **parameters: Any) -> int:
    """Return the sum of the counts that the query returns, one for each partition."""
    counts: list[Any] = [number async for number in store.query(query, Session(), **parameters)]
    return sum(counts)
