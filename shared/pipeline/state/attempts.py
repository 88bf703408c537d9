"""State changes of a document's attempts: counted, failed, requeued, given up and reset.

An event has the number of its attempt, and the document keeps the highest number. So an attempt counts once,
however often the broker delivers its event. The sweep publishes an event with the next number.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Conflict, Store
from shared.core.errors import ClassifiedError, DocumentNotFoundError, ErrorKind
from shared.core.times import stored_time
from shared.models.base import Document, ProcessingStatus
from shared.models.queries.named_query import NEVER, OPEN
from shared.pipeline.stage import DocumentRef

ERROR_LENGTH = 500
RESET_ATTEMPTS: Mapping[str, Any] = {
    "status": ProcessingStatus.PENDING,
    "attemptCount": 0,
    "lastAttemptTime": None,
    "lastError": None,
    "requeued_at": None,
}
"""The fields of a document that is processed again like a new one."""


def error_text(failure: ClassifiedError) -> str:
    """Return the text of `lastError`: the error's type and message, cut to the maximum length."""
    return f"{failure.error_type}: {failure.message}"[:ERROR_LENGTH]


async def count_attempt(
    store: Store, subjects: Iterable[DocumentRef], *, attempt: int, now: datetime, session: Session
) -> None:
    """Count the attempt before the work on the documents. A late older event changes nothing."""
    counted = {"attemptCount": attempt, "lastAttemptTime": stored_time(now)}
    higher = f"NOT IS_DEFINED(c.attemptCount) OR c.attemptCount <= {attempt:d}"
    for model, group in _by_model(subjects):
        patches = [Patch(subject.id, set=counted) for subject in group]
        # Deleted documents are skipped. The stage notices them when it reads.
        await store.patch_all(model, patches, session, condition=higher)


def _by_model(subjects: Iterable[DocumentRef]) -> Iterable[tuple[type[Document], list[DocumentRef]]]:
    groups: dict[type[Document], list[DocumentRef]] = {}
    for subject in subjects:
        groups.setdefault(subject.model, []).append(subject)
    return groups.items()


async def record_failed_attempt(
    store: Store,
    subjects: Iterable[DocumentRef],
    *,
    attempt: int,
    failure: ClassifiedError,
    now: datetime,
    session: Session,
    failed_status: str | None = None,
) -> None:
    """Store the failed attempt and its error on each document, for the sweep.

    Precondition: the stage gave up. With a `failed_status`, a permanent failure also sets the status.
    """
    is_final = failed_status is not None and failure.kind is ErrorKind.PERMANENT
    state = {"status": failed_status} if is_final else {}
    for model, group in _by_model(subjects):
        found = await store.find_many(model, [subject.id for subject in group], session)
        patches = [
            Patch(
                document.id,
                set={
                    "attemptCount": max(document.attemptCount, attempt),
                    "lastAttemptTime": stored_time(now),
                    "lastError": error_text(failure),
                    "requeued_at": None,
                    **state,
                },
            )
            for document in found.values()
        ]
        await store.patch_all(model, patches, session)


class SeenAttempt(NamedTuple):
    """The attempts at a document as they were read, and the condition that they are unchanged."""

    attempts: int
    last_attempt: str | None

    def unchanged(self) -> str:
        """Return the condition. Its values are never user input."""
        attempts = f"c.attemptCount = {self.attempts:d}"
        if not self.attempts:
            attempts = f"({attempts} OR NOT IS_DEFINED(c.attemptCount))"
        last = NEVER if self.last_attempt is None else f"c.lastAttemptTime = {json.dumps(self.last_attempt)}"
        return f"{OPEN} AND {attempts} AND {last}"


async def count_requeue(
    store: Store,
    subject: DocumentRef,
    seen: SeenAttempt,
    *,
    error: str,
    moment: str,
    also: Mapping[str, Any],
    session: Session,
) -> bool:
    """Count the next attempt and return whether this caller may publish its event.

    Precondition: the document is open and its attempts are as seen, so only one of two sweeps succeeds.
    `also` are fields that the event's stage needs on the document, like a thread's requested version.
    """
    counted = {
        "attemptCount": seen.attempts + 1,
        "lastAttemptTime": moment,
        "lastError": error,
        "requeued_at": None,
        **also,
    }
    return await _patched(store, subject, counted, seen.unchanged(), session)


async def undo_requeue(
    store: Store, subject: DocumentRef, seen: SeenAttempt, *, moment: str, session: Session
) -> bool:
    """Subtract the attempt that was counted at this moment, but keep its time, so that the next one waits.

    Precondition: its event could not be published. An outage of the broker must not use up attempts.
    """
    same = f"{OPEN} AND c.attemptCount = {seen.attempts + 1:d} AND c.lastAttemptTime = {json.dumps(moment)}"
    return await _patched(store, subject, {"attemptCount": seen.attempts}, same, session)


async def record_requeue(
    store: Store,
    subject: DocumentRef,
    *,
    attempt: int,
    moment: str,
    since: str,
    session: Session,
) -> bool:
    """Record after publishing that the attempt has no outcome yet, instead of a failed last attempt.

    Precondition: the attempt counted at this moment is still the last. Its stage may already have finished.
    """
    same = f"{OPEN} AND c.attemptCount = {attempt:d} AND c.lastAttemptTime = {json.dumps(moment)}"
    return await _patched(store, subject, {"requeued_at": since}, same, session)


async def mark_failed(
    store: Store, subject: DocumentRef, seen: SeenAttempt, *, error: str, session: Session
) -> bool:
    """Mark the document failed_max_retries, so that no sweep retries it. Return whether this call did.

    Precondition: it is open, its attempts are as seen, and they have reached the limit.
    """
    final = {
        "status": ProcessingStatus.FAILED_MAX_RETRIES.value,
        "lastError": error,
        "requeued_at": None,
    }
    return await _patched(store, subject, final, seen.unchanged(), session)


async def reset(store: Store, subject: DocumentRef, session: Session, *, error: str | None = None) -> bool:
    """Make the document pending without attempts, for the next sweep. Return False if it is processed.

    Raise DocumentNotFoundError if it is gone. Precondition: it is not processed.
    """
    fresh = {**RESET_ATTEMPTS, "status": ProcessingStatus.PENDING.value, "lastError": error}
    patch = Patch(subject.id, set=fresh)
    done = await store.patch(subject.model, patch, session, condition="c.status != 'processed'")
    return done is not Conflict.CONFLICT


async def reopen_document(
    store: Store,
    subject: DocumentRef,
    session: Session,
    *,
    attempts: int,
    error: str,
    also: Mapping[str, Any],
) -> bool:
    """Make a processed document pending, because its results are damaged. Return False if it is gone.

    Its fields are those of a failed attempt, so that the sweep retries it after a crash before the requeue.
    """
    changes = {
        "status": ProcessingStatus.PENDING.value,
        "attemptCount": attempts,
        "lastAttemptTime": None,
        "lastError": error,
        "requeued_at": None,
        **also,
    }
    try:
        await store.patch(subject.model, Patch(subject.id, set=changes), session)
    except DocumentNotFoundError:
        return False
    return True


async def _patched(
    store: Store, subject: DocumentRef, changes: Mapping[str, Any], condition: str, session: Session
) -> bool:
    """Return whether the patch was applied: the document exists and the condition held."""
    patch = Patch(subject.id, set=changes)
    try:
        patched = await store.patch(subject.model, patch, session, condition=condition)
    except DocumentNotFoundError:
        return False
    return patched is not Conflict.CONFLICT
