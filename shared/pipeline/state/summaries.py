"""Which summary and report of a thread, week or draft is current.

A thread names its summary (`summary_id`), and so does the document of a digest: that one is current. Naming
another one, or none, is a conditional write that raises `summary_number`. A scope has one report, which
another replaces only with a higher number.
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
    """From the clock, so that a thread or digest that is made anew does not count from the start again."""
    return max(number + 1, int(now.timestamp() * 1000))


def supersedes(summary: Summary, held: Summary | None, thread: Thread) -> bool:
    """Whether the thread is better off with this summary than with the one that it has.

    A version that the thread asks for comes before one that it does not, whatever the clocks of the hosts
    say; of two equal ones that which was made last, because it has read at least as much.
    """
    return held is None or _precedence(summary, thread) >= _precedence(held, thread)


def _precedence(summary: Summary, thread: Thread) -> tuple[int, datetime, str]:
    claimed = (thread.requesting or {}).get("version")
    wanted = (summary.content_hash == thread.content_hash) + 2 * (summary.content_hash == claimed)
    return wanted, summary.generated_at, summary.id


async def read_latest_thread(store: Store, thread_id: str, session: Session) -> Thread | None:
    """As the primary has it."""
    return await store.find_latest(Thread, thread_id, session)


async def find_namer(
    store: Store, scope: str, thread_id: str | None, session: Session, *, latest: bool = False
) -> Thread | Digest | None:
    """The thread, or the digest's document, that says which summary of the scope is current."""
    find = store.find_latest if latest else store.find
    if thread_id is not None:
        return await find(Thread, thread_id, session)
    return await find(Digest, scope_id(scope), session)


async def is_current(store: Store, document: Summary | Report, session: Session) -> bool:
    """Whether its thread or digest names its summary."""
    namer = await find_namer(store, document.scope, document.thread_id, session)
    return namer is not None and namer.summary_id == document.summary_id


async def store_report(
    store: Store, report: Report, session: Session, *, is_first: bool = False
) -> tuple[Report, Report | None] | None:
    """The scope's report from now on, and the one before it; None where the scope has a later one.

    Precondition: the number is that of the thread or digest when it named the summary. `is_first`: there
    seems to be none, so that it is not looked for.
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
    """Note on the thread or digest that its summary is published; False where it names another, or none.

    Where the note is missing, the report is asked for again. An archive's progress counts those of threads.
    """
    model, id_ = (Digest, report.id) if report.thread_id is None else (Thread, report.thread_id)
    patch = Patch(id_, set={"report_id": report.report_id})
    condition = f"c.summary_number = {report.summary_number:d}"
    return await store.patch(model, patch, session, condition=condition) is not Conflict.CONFLICT


async def delete_orphan_report(store: Store, summary_id: str, scope: str, session: Session) -> bool:
    """Delete the report of this summary if the summary is gone; whether that is gone.

    As it was read: a deletion that arrives late must not take a report that was published since.
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
    """Count a touch, unless one is waiting that no refresh has seen. Precondition: its document exists.

    Only the primary knows: by a replica that is behind, a touch that was seen long ago seems to wait.
    """
    touch = Patch(digest_id, increment={"touches": 1})
    await store.patch(Digest, touch, Session(), condition=f"NOT ({WAITS})")


async def start_digest(store: Store, digest: Digest) -> None:
    """Note which touches this refresh has seen. Precondition: it has not looked at any thread yet."""
    seen = {"working": digest.touches}
    await store.patch(Digest, Patch(digest.id, set=seen), Session())


async def name_digest(
    store: Store, digest: Digest, summary_id: str | None, now: datetime, session: Session
) -> int | None:
    """Say which summary is current; None where there is nothing to say. Its number; None where it is not.

    Precondition: the summary is stored. A refresh that has seen fewer touches than the one that named last
    comes too late, and so does one that read another summary than there is.
    """
    is_same, read = summary_id == digest.summary_id, digest.summary_number
    number = read if is_same else next_number(read, now)
    said = {"named": digest.touches, "summary_id": summary_id, "summary_number": number}
    if not is_same:
        said |= {"report_id": None, "announced": 0}
    earlier = f"(NOT IS_DEFINED(c.named) OR c.named <= {digest.touches:d}) AND c.summary_number = {read:d}"
    named = await store.patch(Digest, Patch(digest.id, set=said), session, condition=earlier)
    return None if named is Conflict.CONFLICT else number


async def digest_unnamed(store: Store, digest: Digest, now: datetime, session: Session) -> Digest:
    """Name no summary where a deletion took it with its report: the same one gets another number then."""
    id_ = digest.summary_id
    if id_ is None or await store.find_latest(Summary, id_, session, partition=digest.scope) is not None:
        return digest
    number = await name_digest(store, digest, None, now, session)
    return (
        digest if number is None else digest.model_copy(update={"summary_id": None, "summary_number": number})
    )


async def finish_digest(store: Store, digest: Digest) -> None:
    """Precondition: its summary is named and announced, or there is nothing to say.

    It stays dirty where it was touched since the refresh started.
    """
    done = Patch(digest.id, set={"made": digest.touches, "lastError": None}, increment={"announced": 1})
    await store.patch(Digest, done, Session(), condition=f"c.made <= {digest.touches:d}")


async def fail_digest(store: Store, digest_id: str, failure: ClassifiedError, now: datetime) -> None:
    """Its turn comes again after all others': the document that was written last is last in line.

    Also where a later refresh made it meanwhile: what this one wrote last may still arrive, and undo it.
    """
    state = {"lastError": error_text(failure), "lastAttemptTime": stored_time(now)}
    patch = Patch(digest_id, set=state, increment={"attemptCount": 1})
    await store.patch(Digest, patch, Session())
    again = Patch(digest_id, increment={"touches": 1})
    await store.patch(Digest, again, Session(), condition="c.touches <= c.made")
