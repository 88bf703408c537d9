"""Who counts attempts: the event carries its attempt, and the document remembers the highest it has seen.

So one logical attempt counts once, however often the broker delivers it. The sweep adds one and publishes
with it; broker redeliveries are counted by the broker.
"""

from collections.abc import Iterable
from datetime import datetime

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict, Store
from shared.core.errors import ClassifiedError, DocumentNotFoundError, ErrorKind
from shared.documents.base import Document, stored_time
from shared.pipeline.stage import Subject

__all__ = ["count_attempt", "remember_failure"]

ERROR_LENGTH = 500


async def count_attempt(
    store: Store, subject: Subject, *, attempt: int, now: datetime, session: Session
) -> None:
    """Before the work on an archive or a thread: attemptCount = max(attemptCount, attempt)."""
    started = {"lastAttemptTime": stored_time(now)}
    try:
        counted = await store.patch(
            subject.model,
            Patch(subject.id, subject.partition, set={"attemptCount": attempt, **started}),
            session,
            condition=f"NOT IS_DEFINED(c.attemptCount) OR c.attemptCount <= {attempt:d}",
        )
    except DocumentNotFoundError:
        return  # a race, a merge or a deletion: the stage finds out when it reads
    if counted is Conflict.CONFLICT:  # an older event came late: the count stays
        await store.patch(subject.model, Patch(subject.id, subject.partition, set=started), session)


async def remember_failure(
    store: Store,
    subjects: Iterable[Subject],
    *,
    attempt: int,
    failure: ClassifiedError,
    now: datetime,
    session: Session,
    failed_status: str | None = None,
) -> None:
    """Keep on each document that this attempt at it failed, and why: the sweep goes by that."""
    for_good = failed_status is not None and failure.kind is ErrorKind.PERMANENT
    state = {"status": failed_status} if for_good else {}
    by_model: dict[type[Document], list[Subject]] = {}
    for subject in subjects:
        by_model.setdefault(subject.model, []).append(subject)
    for model, group in by_model.items():
        there = await store.find_many(model, [(each.id, each.partition) for each in group], session)
        patches = [
            Patch(
                document.id,
                document.partition_value,
                set={
                    "attemptCount": max(document.attemptCount, attempt),
                    "lastAttemptTime": stored_time(now),
                    "lastError": f"{failure.error_type}: {failure.message}"[:ERROR_LENGTH],
                    "requeued_at": None,
                    **state,
                },
            )
            for document in there.values()
        ]
        await store.patch_all(model, patches, session)
