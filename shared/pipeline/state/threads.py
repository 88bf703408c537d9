"""State changes of a thread: claims and requests of its summary, the summary itself, and merges."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Conflict, Store
from shared.core.times import stored_time
from shared.models.base import ProcessingStatus
from shared.models.edits import Placement
from shared.models.queries.named_query import PROCESSED, UNREPORTED
from shared.models.reports import Summary
from shared.models.threads import Thread
from shared.pipeline.state.attempts import RESET_ATTEMPTS
from shared.pipeline.state.summaries import next_number

CLAIM_LIFETIME = timedelta(minutes=30)
"""The claiming event is redelivered until it succeeds or is dead-lettered. Then another event may claim."""

NO_SUMMARY = {"summary_id": None}
REVISION = {"revision": 1}


def raise_revision(thread: Thread) -> Thread:
    """Raise the revision and reset the attempts. Precondition: the thread's messages have changed.

    The requested version stays, because the next version differs from it.
    """
    return thread.model_copy(update={**RESET_ATTEMPTS, "revision": thread.revision + 1})


async def raise_revisions(store: Store, thread_ids: Sequence[str], session: Session) -> None:
    """Raise the revisions of threads whose messages are about to change. Merged threads stay unchanged."""
    patches = [Patch(thread_id, set=RESET_ATTEMPTS, increment=REVISION) for thread_id in thread_ids]
    await store.patch_all(Thread, patches, session, condition="NOT IS_STRING(c.merged_into)")


async def describe_thread(store: Store, thread: Thread, facts: Mapping[str, Any], session: Session) -> bool:
    """Set the facts about the messages. Return False if the thread changed. Precondition: all are stored."""
    patch = Patch(thread.id, set={**facts, "inexact": False})
    condition = (
        f"c.created_at = '{stored_time(thread.created_at)}' AND c.revision = {thread.revision:d}"
        " AND NOT IS_STRING(c.merged_into)"
    )
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


async def claim_version(
    store: Store, thread: Thread, version: str, *, claimer: str, now: datetime, session: Session
) -> bool:
    """Claim the version. Return whether this event may request its summary.

    Precondition: the version was never requested, and no other event has a valid claim on it. A redelivered
    event finds its own claim.
    """
    before = thread.requesting or {}
    is_mine = (before.get("version"), before.get("event")) == (version, claimer)
    claim = {
        "version": version,
        "event": claimer,
        "at": stored_time(now),
        "since": before.get("since") or stored_time(now),
    }
    claimed = await store.patch(
        Thread,
        Patch(thread.id, set={"requesting": claim, **({} if is_mine else _reopened(thread))}),
        session,
        # A paused worker may have an older version, or a version of a thread that was since recreated. If the
        # thread got a message and lost it, the requested version is the same again, but not the revision.
        condition=f"c.created_at = '{stored_time(thread.created_at)}'"
        f" AND c.revision = {thread.revision:d}"
        f" AND {_equals('content_hash', thread.content_hash)} AND {_unclaimed(version, claimer, now)}",
    )
    return claimed is not Conflict.CONFLICT


def _reopened(thread: Thread) -> Mapping[str, Any]:
    """Return the fields that make a finished thread pending, so that the sweep covers its new version."""
    return {} if thread.status is ProcessingStatus.PENDING else RESET_ATTEMPTS


def _unclaimed(version: str, claimer: str, now: datetime) -> str:
    """Return the condition. Its values are hashes, an event id and a time, never user input."""
    expired = stored_time(now - CLAIM_LIFETIME)
    never_asked_for = f"NOT IS_STRING(c.content_hash) OR c.content_hash != '{version}'"
    free = (
        "NOT IS_OBJECT(c.requesting)"
        f" OR c.requesting.version != '{version}'"
        f" OR c.requesting.event = '{claimer}' OR c.requesting.at < '{expired}'"
    )
    return f"({never_asked_for}) AND ({free})"


async def mark_requested(
    store: Store, thread_id: str, version: str, session: Session, *, ends_claim: bool
) -> None:
    """Record the requested version. Precondition: the request is published, and its claim still holds.

    A worker that was paused may find the claim of a later version. Then the thread stays unchanged.
    """
    patch = Patch(thread_id, set=requested_version(version, ends_claim=ends_claim))
    await store.patch(Thread, patch, session, condition=f"c.requesting.version = '{version}'")


def requested_version(version: str, *, ends_claim: bool) -> dict[str, Any]:
    """Return the fields that `mark_requested` sets, for callers that also record a requeue."""
    return {"content_hash": version, **({"requesting": None} if ends_claim else {})}


async def set_summary(
    store: Store,
    thread: Thread,
    summary: Summary,
    session: Session,
    *,
    now: datetime,
    covers_all: bool = True,
) -> int | None:
    """Set the thread's summary and return its number, or None if the thread is not as read.

    Precondition: the summary supersedes the thread's summary as read. The thread stays pending if it has
    changed, if the summary does not cover all of it, or if another version is requested.
    """
    version = summary.content_hash
    if version and (thread.requesting or {}).get("version") == version:
        # The claiming worker did not record the request. One patch is limited to ten operations.
        await mark_requested(store, thread.id, version, session, ends_claim=True)
        thread = thread.model_copy(update={"requesting": None, "content_hash": version})
    call = summary.reading.shown_call if summary.reading else None
    is_new = thread.summary_id != summary.id
    number = next_number(thread.summary_number, now) if is_new else thread.summary_number
    changes: dict[str, Any] = {
        "summary_id": summary.id,
        "summary_number": number,
        "has_consensus": summary.metadata.has_consensus,
        "consensus_type": summary.metadata.consensus_type,
        "flags": summary.metadata.flags,
        "outcome": summary.reading.shown_outcome.model_dump(mode="json") if summary.reading else None,
        "result_thread": summary.metadata.result_thread,
        "open_call": call.model_dump(mode="json") if call else None,
    }
    done = Patch(thread.id, set={**changes, "status": ProcessingStatus.PROCESSED.value, "lastError": None})
    same = _same_summary(thread)
    unchanged = f"{same} AND c.revision = {thread.revision:d}"
    awaited = (thread.requesting or {}).get("version") or thread.content_hash
    if (
        covers_all
        and awaited in (None, summary.content_hash)
        and await store.patch(Thread, done, session, condition=unchanged) is not Conflict.CONFLICT
    ):
        return number
    pending = Patch(thread.id, set=changes)
    stored = await store.patch(Thread, pending, session, condition=same)
    return None if stored is Conflict.CONFLICT else number


def _same_summary(thread: Thread) -> str:
    """Return the condition that summary, versions and claim are as read. It has no user input."""
    claimed = (thread.requesting or {}).get("version")
    claim = f"c.requesting.version = '{claimed}'" if claimed else "NOT IS_STRING(c.requesting.version)"
    return (
        f"NOT IS_STRING(c.merged_into) AND c.created_at = '{stored_time(thread.created_at)}'"
        f" AND c.summary_number = {thread.summary_number:d}"
        f" AND {_equals('content_hash', thread.content_hash)} AND {claim}"
    )


def _equals(name: str, value: str | None) -> str:
    return f"NOT IS_STRING(c.{name})" if value is None else f"c.{name} = '{value}'"


async def request_reread(store: Store, thread_id: str, edition: str, session: Session) -> bool:
    """Request a rereading of the thread, once for each edition. Return False if it was requested before.

    The edition is a part of the version, so the thread gets a new summary like a thread with a new message.
    Precondition: the thread is not merged.
    """
    patch = Patch(thread_id, set={"edition": edition, **RESET_ATTEMPTS}, increment=REVISION)
    condition = f"NOT IS_STRING(c.merged_into) AND {_another('edition', edition)}"
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


async def count_correction(store: Store, thread_id: str, session: Session) -> bool:
    """Count a correction, which gives the thread a new version. Return False if the thread is merged.

    Precondition: the correction, or its revocation, is stored.
    """
    patch = Patch(thread_id, set=RESET_ATTEMPTS, increment={"corrections": 1, **REVISION})
    condition = "NOT IS_STRING(c.merged_into)"
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


async def mark_vote(store: Store, thread_id: str, subject: str, session: Session) -> None:
    """Set the subject of the vote, for queries. Precondition: the thread calls a vote or has a result."""
    patch = Patch(thread_id, set={"vote_subject": subject})
    await store.patch(Thread, patch, session)


async def link_result(store: Store, result: str, vote: str, session: Session) -> None:
    """Link a result to its vote. Precondition: the thread `result` announces the result of `vote`."""
    patch = Patch(result, set={"vote_thread": vote})
    await store.patch(Thread, patch, session, condition=_another("vote_thread", vote))


def _another(name: str, value: str) -> str:
    """Return the condition that the field has another value or none. The value is never user input."""
    return f"(NOT IS_STRING(c.{name}) OR c.{name} != '{value}')"


async def reset_unreported(
    store: Store, thread_id: str, summary_id: str, error: str, session: Session
) -> bool:
    """Make the thread pending like after a failed attempt. Return False if the precondition does not hold.

    Precondition: the thread is processed, but its summary has no report. The sweep announces it again.
    """
    patch = Patch(
        thread_id,
        set={"status": ProcessingStatus.PENDING.value, "lastError": error, "requeued_at": None},
    )
    condition = f"{PROCESSED} AND c.summary_id = '{uuid.UUID(summary_id)}' AND {UNREPORTED}"
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


def redirect_thread(thread: Thread, into: str) -> Thread:
    """Return the redirect of a merged thread. Its status tells the sweep that no stage works on it.

    Precondition: the other thread is written in the same batch.
    """
    return thread.model_copy(
        update={
            "merged_into": into,
            "summary_id": None,
            "summary_number": thread.summary_number + 1,
            "threading": {},
            "inexact": False,
            "status": ProcessingStatus.PROCESSED,
        }
    )


async def mark_placement_applied(store: Store, placement: Placement, session: Session) -> None:
    """Mark the placement applied unless it was changed after it was read.

    Precondition: the threads are as this version says, and their summaries are requested.
    """
    if not placement.applied:
        await store.replace(placement.model_copy(update={"applied": True}), session)
