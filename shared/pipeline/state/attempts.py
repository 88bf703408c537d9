"""Attempts at a document: counted, failed, requeued, given up and reset.

The event carries its attempt, and the document remembers the highest it has seen: so one logical attempt
counts once, however often the broker delivers it. The sweep adds one and publishes with it; the broker counts
its own redeliveries.
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
"""A document that is to be worked on as if it were new."""


def error_text(failure: ClassifiedError) -> str:
    """What `lastError` says: the error's type and message, cut to what a document should hold."""
    return f"{failure.error_type}: {failure.message}"[:ERROR_LENGTH]


async def count_attempt(
    store: Store, subjects: Iterable[DocumentRef], *, attempt: int, now: datetime, session: Session
) -> None:
    """Before the work on them. An older event that comes late changes nothing."""
    counted = {"attemptCount": attempt, "lastAttemptTime": stored_time(now)}
    higher = f"NOT IS_DEFINED(c.attemptCount) OR c.attemptCount <= {attempt:d}"
    for model, group in _by_model(subjects):
        patches = [Patch(subject.id, set=counted) for subject in group]
        # Without those that are gone: the stage finds out when it reads.
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
    """Keep on each document that this attempt at it failed, and why: the sweep goes by that.

    Precondition: the stage has given this delivery up. With a `failed_status`, a permanent failure is final.
    """
    for_good = failed_status is not None and failure.kind is ErrorKind.PERMANENT
    state = {"status": failed_status} if for_good else {}
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
    """The attempts at a document as they were read. A write that goes by them must find them unchanged."""

    attempts: int
    last_attempt: str | None

    def unchanged(self) -> str:
        """The text of the condition, with values of ours only."""
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
    """Count the next attempt before its event is published; whether this caller may publish it.

    Precondition: it is open, and its attempts are as they were seen. Of two sweeps at once, one counts.
    `also` is what the event's stage has to find on the document: of a thread, the version that is requested.
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
    """Give the attempt back that was counted at this moment. Its time stays: the next one waits as after it.

    Precondition: its event could not be published. An outage of the broker is no failure of the document,
    and must not use its attempts up.
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
    """After publishing: from now on nothing was heard of the attempt, instead of: the last one failed.

    Precondition: the attempt counted at this moment is still the last one; its stage may have been faster.
    """
    same = f"{OPEN} AND c.attemptCount = {attempt:d} AND c.lastAttemptTime = {json.dumps(moment)}"
    return await _patched(store, subject, {"requeued_at": since}, same, session)


async def given_up(
    store: Store, subject: DocumentRef, seen: SeenAttempt, *, error: str, session: Session
) -> bool:
    """No sweep looks at it again; whether it was given up here.

    Precondition: it is open, its attempts are as they were seen, and there are as many as allowed.
    """
    final = {
        "status": ProcessingStatus.FAILED_MAX_RETRIES.value,
        "lastError": error,
        "requeued_at": None,
    }
    return await _patched(store, subject, final, seen.unchanged(), session)


async def reset(store: Store, subject: DocumentRef, session: Session, *, error: str | None = None) -> bool:
    """Pending again, with no attempt counted: the next sweep asks for it. False where it is processed.

    DocumentNotFoundError where it is gone. Precondition: it is not processed.
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
    """Pending again although it was done, because what was made of it is damaged; False where it is gone.

    It looks as if its last attempt had failed, so a crash before the requeue leaves it to the sweep.
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
    """Whether the condition held. It does not where the document has gone meanwhile."""
    patch = Patch(subject.id, set=changes)
    try:
        patched = await store.patch(subject.model, patch, session, condition=condition)
    except DocumentNotFoundError:
        return False
    return patched is not Conflict.CONFLICT
