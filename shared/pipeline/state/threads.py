"""Changes of a thread's state: its summary is claimed, requested, made and published; or it is merged."""

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
"""The event that claimed a version is redelivered until it succeeds or is dead-lettered; then another may."""

NO_SUMMARY = {"summary_id": None}
REVISION = {"revision": 1}


def raise_revision(thread: Thread) -> Thread:
    """Precondition: it got messages, or other threads, so what was made of it is out of date.

    Its attempts start again. The version that was last requested stays: the next one differs from it.
    """
    return thread.model_copy(update={**RESET_ATTEMPTS, "revision": thread.revision + 1})


async def raise_revisions(store: Store, thread_ids: Sequence[str], session: Session) -> None:
    """The same, where a message of each is about to get other content. One that is merged stays so."""
    patches = [Patch(thread_id, set=RESET_ATTEMPTS, increment=REVISION) for thread_id in thread_ids]
    await store.patch_all(Thread, patches, session, condition="NOT IS_STRING(c.merged_into)")


async def describe_thread(store: Store, thread: Thread, facts: Mapping[str, Any], session: Session) -> bool:
    """Set what it says of its messages; False where it changed. Precondition: all of them are stored."""
    patch = Patch(thread.id, set={**facts, "inexact": False})
    condition = (
        f"c.created_at = '{stored_time(thread.created_at)}' AND c.revision = {thread.revision:d}"
        " AND NOT IS_STRING(c.merged_into)"
    )
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


# the summary


async def claim_version(
    store: Store, thread: Thread, version: str, *, claimer: str, now: datetime, session: Session
) -> bool:
    """Whether this event may ask for a summary of this version.

    Precondition: the version was never asked for, and nobody else's claim on it holds. An event that is
    delivered again finds its own claim and goes on.
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
        # A worker that stood still since it read the thread may have an older version than the last request,
        # or one of a thread that a deletion has made anew since. The version that was requested last can be
        # the same again, when the thread got a message and lost it: its revision is another one then.
        condition=f"c.created_at = '{stored_time(thread.created_at)}'"
        f" AND c.revision = {thread.revision:d}"
        f" AND {_equals('content_hash', thread.content_hash)} AND {_unclaimed(version, claimer, now)}",
    )
    return claimed is not Conflict.CONFLICT


def _reopened(thread: Thread) -> Mapping[str, Any]:
    """With another version it is neither done nor given up any more: the sweep looks after it again."""
    return {} if thread.status is ProcessingStatus.PENDING else RESET_ATTEMPTS


def _unclaimed(version: str, claimer: str, now: datetime) -> str:
    """Over values of ours: hashes, an event id and a time."""
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
    """Precondition: the request for this version is published, and the claim on it still holds.

    Who claimed it before ends the claim. A worker that stood still for long may find the claim of a later
    version, or that one requested: then its own is not the latest, and the thread stays as it is.
    """
    patch = Patch(thread_id, set=requested_version(version, ends_claim=ends_claim))
    await store.patch(Thread, patch, session, condition=f"c.requesting.version = '{version}'")


def requested_version(version: str, *, ends_claim: bool) -> dict[str, Any]:
    """The same as fields, for those who record a requeue with it."""
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
    """Make it the thread's summary, and return its number; None where the thread is not as it was read.

    Precondition: the summary supersedes the one that the thread had when it was read. The thread is done,
    unless the summary is not of all that it has, or it has changed since, or messages were about to leave
    it, or it waits for another version: then it stays pending for its next one.
    """
    version = summary.content_hash
    if version and (thread.requesting or {}).get("version") == version:
        # Whoever claimed it did not come to say that it was asked for. By itself: a patch has ten operations.
        await mark_requested(store, thread.id, version, session, ends_claim=True)
        thread = thread.model_copy(update={"requesting": None, "content_hash": version})
    call = summary.reading.shown_call if summary.reading else None
    is_new = thread.summary_id != summary.id
    number = next_number(thread.summary_number, now) if is_new else thread.summary_number
    said: dict[str, Any] = {
        "summary_id": summary.id,
        "summary_number": number,
        "has_consensus": summary.metadata.has_consensus,
        "consensus_type": summary.metadata.consensus_type,
        "flags": summary.metadata.flags,
        "outcome": summary.reading.shown_outcome.model_dump(mode="json") if summary.reading else None,
        "result_thread": summary.metadata.result_thread,
        "open_call": call.model_dump(mode="json") if call else None,
    }
    done = Patch(thread.id, set={**said, "status": ProcessingStatus.PROCESSED.value, "lastError": None})
    same = _same_summary(thread)
    unchanged = f"{same} AND c.revision = {thread.revision:d}"
    awaited = (thread.requesting or {}).get("version") or thread.content_hash
    if (
        covers_all
        and awaited in (None, summary.content_hash)
        and await store.patch(Thread, done, session, condition=unchanged) is not Conflict.CONFLICT
    ):
        return number
    grown = Patch(thread.id, set=said)
    return None if await store.patch(Thread, grown, session, condition=same) is Conflict.CONFLICT else number


def _same_summary(thread: Thread) -> str:
    """Over values of ours: a number, hashes and a time."""
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
    """Have it read anew, once for each edition. Precondition: it is a thread of its own.

    The edition is a part of its version, so that orchestration, the sweep and the checks ask for its summary
    as they do for one that has grown. False where this edition was asked for before.
    """
    patch = Patch(thread_id, set={"edition": edition, **RESET_ATTEMPTS}, increment=REVISION)
    condition = f"NOT IS_STRING(c.merged_into) AND {_another('edition', edition)}"
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


async def count_correction(store: Store, thread_id: str, session: Session) -> bool:
    """Have it made anew with its corrections; False where it is merged by now.

    Precondition: the correction, or its revocation, is stored.
    """
    patch = Patch(thread_id, set=RESET_ATTEMPTS, increment={"corrections": 1, **REVISION})
    condition = "NOT IS_STRING(c.merged_into)"
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


async def mark_vote(store: Store, thread_id: str, subject: str, session: Session) -> None:
    """Let others find it by what is voted on. Precondition: it calls a vote, or brings a result."""
    patch = Patch(thread_id, set={"vote_subject": subject})
    await store.patch(Thread, patch, session)


async def link_result(store: Store, result: str, vote: str, session: Session) -> None:
    """Precondition: the thread `result` brings the result of the thread `vote`."""
    patch = Patch(result, set={"vote_thread": vote})
    await store.patch(Thread, patch, session, condition=_another("vote_thread", vote))


def _another(name: str, value: str) -> str:
    """Whether the field has another value, or none; over values of ours."""
    return f"(NOT IS_STRING(c.{name}) OR c.{name} != '{value}')"


async def reset_unreported(
    store: Store, thread_id: str, summary_id: str, error: str, session: Session
) -> bool:
    """Make it pending again, as if its last attempt had failed; False where it is not like that any more.

    Precondition: it is done, and the report of its summary did not come for long. The sweep then asks for the
    summary, which is announced once more.
    """
    patch = Patch(
        thread_id,
        set={"status": ProcessingStatus.PENDING.value, "lastError": error, "requeued_at": None},
    )
    condition = f"{PROCESSED} AND c.summary_id = '{uuid.UUID(summary_id)}' AND {UNREPORTED}"
    return await store.patch(Thread, patch, session, condition=condition) is not Conflict.CONFLICT


# merges


def redirect_thread(thread: Thread, into: str) -> Thread:
    """The redirect that stays of a thread which became part of another.

    Precondition: the other thread is written in the same batch. The status says that no stage has anything to
    do with it.
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
    """Precondition: the threads are as this version of it says, and their summaries are asked for.

    Where somebody has changed it since it was read, the later word still waits to be applied.
    """
    if not placement.applied:
        await store.replace(placement.model_copy(update={"applied": True}), session)
