"""State changes that decide which summary and report of a thread, week or draft is current.

A thread or digest names its current summary (`summary_id`). A change of it is a conditional write that raises
`summary_number`. A scope has one report, and only a report with a higher number replaces it.
"""

from datetime import datetime

from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Conflict, Store
from shared.core.errors import ClassifiedError, TransientError
from shared.core.ids import scope_id
from shared.core.times import stored_time
from shared.models.reports import Digest, Report, Summary
from shared.models.threads import Thread
from shared.pipeline.state.attempts import error_text

MAX_ROUNDS = 8


class CurrentChangedError(TransientError):
    """The report or the current summary of a scope changed at every attempt to set it."""


def next_number(number: int, now: datetime) -> int:
    """Return a higher number from the clock, so that a recreated thread or digest does not restart it."""
    return max(number + 1, int(now.timestamp() * 1000))


def supersedes(summary: Summary, held: Summary | None, thread: Thread) -> bool:
    """Return whether this summary should replace the thread's current summary.

    A summary of a requested version precedes any other. Of two equal summaries the later read precedes.
    """
    return held is None or _precedence(summary, thread) >= _precedence(held, thread)


def _precedence(summary: Summary, thread: Thread) -> tuple[int, datetime, str]:
    claimed = (thread.requesting or {}).get("version")
    wanted = (summary.content_hash == thread.content_hash) + 2 * (summary.content_hash == claimed)
    return wanted, summary.generated_at, summary.id


async def read_latest_thread(store: Store, thread_id: str, session: Session) -> Thread | None:
    """Read the thread at the primary."""
    return await store.find_latest(Thread, thread_id, session)


async def find_namer(
    store: Store, scope: str, thread_id: str | None, session: Session, *, latest: bool = False
) -> Thread | Digest | None:
    """Return the thread or digest that names the scope's current summary."""
    find = store.find_latest if latest else store.find
    if thread_id is not None:
        return await find(Thread, thread_id, session)
    return await find(Digest, scope_id(scope), session)


async def is_current(store: Store, document: Summary | Report, session: Session) -> bool:
    """Return whether its thread or digest names its summary."""
    namer = await find_namer(store, document.scope, document.thread_id, session)
    return namer is not None and namer.summary_id == document.summary_id


async def store_report(
    store: Store, report: Report, session: Session, *, is_first: bool = False
) -> tuple[Report, Report | None] | None:
    """Store the scope's report. Return it and the report before it, or None if the scope has a later report.

    Precondition: the number is that of the thread or digest when it named the summary. With `is_first`, try
    to create the report before looking for an existing report.
    """
    if is_first and await store.create(report, session):
        return report, None
    for _ in range(MAX_ROUNDS):
        held = await store.find_latest(Report, report.id, session, partition=report.scope)
        if held is None:
            if await store.create(report, session):
                return report, None
        elif held.summary_number >= report.summary_number:
            return None if held.summary_id != report.summary_id else (held, held)
        else:
            replaced = await store.replace(report.model_copy(update={"etag": held.etag}), session)
            if not isinstance(replaced, Conflict):
                return replaced, held
    raise CurrentChangedError(f"the report of {report.scope} changes all the time")


async def set_report(store: Store, report: Report, session: Session) -> bool:
    """Record on the thread or digest that its summary is published. Return False if it names another summary.

    A thread without this record is published again, and counts as open in the archive's progress.
    """
    model, id_ = (Digest, report.id) if report.thread_id is None else (Thread, report.thread_id)
    patch = Patch(id_, set={"report_id": report.report_id})
    condition = f"c.summary_number = {report.summary_number:d}"
    return await store.patch(model, patch, session, condition=condition) is not Conflict.CONFLICT


async def delete_orphan_report(store: Store, summary_id: str, scope: str, session: Session) -> bool:
    """Delete the report of this summary if the summary is gone. Return whether the summary is gone.

    The deletion is conditional, so that a late deletion never deletes a newer report.
    """
    for _ in range(MAX_ROUNDS):
        if await store.find_latest(Summary, summary_id, session, partition=scope) is not None:
            return False
        report = await _latest_report(store, scope, session)
        if report is None or report.summary_id != summary_id or await _deleted(store, report, session):
            return True
    raise CurrentChangedError(f"the report of {scope}, whose summary is gone, changes all the time")


async def withdraw_report(store: Store, scope: str, thread_id: str | None, session: Session) -> None:
    """Delete the scope's report if no summary is current: its thread is merged or gone, its digest empty."""
    for _ in range(MAX_ROUNDS):
        report = await _latest_report(store, scope, session)
        if report is None:
            return
        namer = await find_namer(store, scope, thread_id, session, latest=True)
        if (namer is not None and namer.summary_id is not None) or await _deleted(store, report, session):
            return
    raise CurrentChangedError(f"the report of {scope} changes all the time")


async def _latest_report(store: Store, scope: str, session: Session) -> Report | None:
    return await store.find_latest(Report, scope_id(scope), session, partition=scope)


async def _deleted(store: Store, report: Report, session: Session) -> bool:
    return await store.delete(Report, report.id, session, partition=report.scope, etag=report.etag)


WAITS = "c.touches > c.made AND c.touches > c.working"


async def mark_digest_stale(store: Store, digest_id: str) -> None:
    """Count a touch unless one is waiting that no refresh has seen. Precondition: the digest exists.

    The condition is evaluated at the primary, because a replica may show an old touch as waiting.
    """
    touch = Patch(digest_id, increment={"touches": 1})
    await store.patch(Digest, touch, Session(), condition=f"NOT ({WAITS})")


async def start_digest(store: Store, digest: Digest) -> None:
    """Record the touches that this refresh has seen. Precondition: it has not read any thread yet."""
    seen = {"working": digest.touches}
    await store.patch(Digest, Patch(digest.id, set=seen), Session())


async def name_digest(
    store: Store, digest: Digest, summary_id: str | None, now: datetime, session: Session
) -> int | None:
    """Set the current summary, or None for an empty digest. Return its number, or None on a conflict.

    Precondition: the summary is stored. A refresh conflicts if it saw fewer touches than an earlier refresh,
    or if the digest's summary has changed after it was read.
    """
    is_same, read = summary_id == digest.summary_id, digest.summary_number
    number = read if is_same else next_number(read, now)
    changes = {"named": digest.touches, "summary_id": summary_id, "summary_number": number}
    if not is_same:
        changes |= {"report_id": None, "announced": 0}
    earlier = f"(NOT IS_DEFINED(c.named) OR c.named <= {digest.touches:d}) AND c.summary_number = {read:d}"
    named = await store.patch(Digest, Patch(digest.id, set=changes), session, condition=earlier)
    return None if named is Conflict.CONFLICT else number


async def clear_deleted_summary(store: Store, digest: Digest, now: datetime, session: Session) -> Digest:
    """Clear the digest's summary if a deletion removed it. The same summary then gets another number."""
    id_ = digest.summary_id
    if id_ is None or await store.find_latest(Summary, id_, session, partition=digest.scope) is not None:
        return digest
    number = await name_digest(store, digest, None, now, session)
    return (
        digest if number is None else digest.model_copy(update={"summary_id": None, "summary_number": number})
    )


async def finish_digest(store: Store, digest: Digest) -> None:
    """Finish the refresh. Precondition: the summary is set and announced, or the digest is empty.

    A digest that was touched after the start of the refresh stays stale.
    """
    done = Patch(digest.id, set={"made": digest.touches, "lastError": None}, increment={"announced": 1})
    await store.patch(Digest, done, Session(), condition=f"c.made <= {digest.touches:d}")


async def fail_digest(store: Store, digest_id: str, failure: ClassifiedError, now: datetime) -> None:
    """Store the error and queue the digest again, after all others, because it was written last.

    A digest that a later refresh finished is queued, too: a late write of this refresh may still undo it.
    """
    state = {"lastError": error_text(failure), "lastAttemptTime": stored_time(now)}
    patch = Patch(digest_id, set=state, increment={"attemptCount": 1})
    await store.patch(Digest, patch, Session())
    again = Patch(digest_id, increment={"touches": 1})
    await store.patch(Digest, again, Session(), condition="c.touches <= c.made")
