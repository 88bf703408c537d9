"""Which summary and report of a thread, week or draft is current.

A thread names its summary (`summary_id`), and that one is current; so does the document of a digest. It
changes by a conditional write, so of two workers with different summaries one has to look again. The flag
`outdated` follows, on summaries and on reports. A summary is stored as outdated, and stays so until it is
named: one that arrives late, from a worker that is gone, claims nothing.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from shared.clients.cosmos.session import Patch, Session
from shared.clients.cosmos.store import Conflict, Store
from shared.core.errors import ClassifiedError, TransientError
from shared.core.ids import digest_id, report_id
from shared.core.times import stored_time
from shared.documents.queries.reports import REPORT_FLAGS, SUMMARY_FLAGS
from shared.documents.reports import Digest, Report, Summary
from shared.documents.threads import Thread
from shared.pipeline.lifecycle.attempts import error_text

MAX_ROUNDS = 8


class CurrentChangedError(TransientError):
    """The current summary changed each time that the flags were set by it."""


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
    await store.refresh(Thread, session)
    return await store.find(Thread, thread_id, session)


async def thread_flags_settled(store: Store, thread_id: str, session: Session) -> str | None:
    """Let the flags say which summary the thread has; its id, None where it is merged or gone."""

    async def current() -> str | None:
        return _summary_of(await read_latest_thread(store, thread_id, session))

    expected = _summary_of(await store.find(Thread, thread_id, session))
    return await _flags_settled(store, thread_id, expected, current, session)


async def report_flag_settled(
    store: Store, report: Report, thread_id: str, session: Session, *, is_new: bool
) -> None:
    """Let the report's flag say whether its summary is the one that the thread has at the primary.

    Precondition: the report is stored. A summary that is named after this look finds it, and sets the flag.
    """
    flag = report.outdated if is_new else None  # an earlier one may be read from a replica
    for _ in range(MAX_ROUNDS):
        thread = await read_latest_thread(store, thread_id, session)
        outdated = _summary_of(thread) != report.summary_id
        if outdated == flag:
            return
        flag = outdated
        await store.patch(
            Report, Patch(report.id, partition=report.scope, set={"outdated": outdated}), session
        )
    raise CurrentChangedError(f"the current summary of {thread_id} changes all the time")


def _summary_of(thread: Thread | None) -> str | None:
    return None if thread is None or thread.merged_into is not None else thread.summary_id


async def digest_flags_settled(store: Store, scope: str, session: Session) -> str | None:
    """The same for a digest, whose document names its summary."""
    id_ = digest_id(scope)

    async def found() -> str | None:
        digest = await store.find(Digest, id_, session)
        return None if digest is None else digest.summary_id

    async def current() -> str | None:
        await store.refresh(Digest, session)
        return await found()

    return await _flags_settled(store, scope, await found(), current, session)


async def _flags_settled(
    store: Store,
    scope: str,
    expected: str | None,
    current: Callable[[], Awaitable[str | None]],
    session: Session,
) -> str | None:
    """Set the flags by the expected summary, until the primary shows that it is the current one.

    A worker that set them by an earlier one in between has looked after that, and sets them again.
    """
    before = expected
    for _ in range(MAX_ROUNDS):
        await _set_flags(store, scope, before, session)
        after = await current()
        if after == before:
            return after
        before = after
    raise CurrentChangedError(f"the current summary of {scope} changes all the time")


async def all_outdated(store: Store, scope: str, session: Session) -> None:
    """Precondition: nothing that was said about the scope holds, because its thread was merged or emptied."""
    await _set_flags(store, scope, None, session)


async def outdate_merged(store: Store, thread_id: str, session: Session) -> None:
    """Mark the summaries of a thread that was merged as outdated."""
    thread = await store.find(Thread, thread_id, session)
    if thread is None or thread.merged_into is not None:
        await all_outdated(store, thread_id, session)


async def summary_revived(store: Store, summary: Summary, now: datetime, session: Session) -> Summary:
    """Let it be named again. Precondition: its thread, or digest, has the same content as when it was made.

    It gets the time of now, because the latest summary is the current one, and is announced as a new one.
    """
    latest = {"generated_at": stored_time(now)}
    revived = await store.patch(Summary, Patch(summary.id, partition=summary.scope, set=latest), session)
    report = await store.find(Report, report_id(summary.id), session, partition=summary.scope)
    if report is not None:
        patch = Patch(report.id, partition=report.scope, set={"published_at": stored_time(now)})
        await store.patch(Report, patch, session)
    return summary if isinstance(revived, Conflict) else revived


async def orphan_deleted(store: Store, id_: str, summary_id: str, scope: str, session: Session) -> bool:
    """Delete this report if its summary is gone; whether that is gone.

    As it was read: a deletion that arrives late must not take a report that was published since.
    """
    for _ in range(MAX_ROUNDS):
        await store.refresh(Summary, session)
        if await store.find(Summary, summary_id, session, partition=scope) is not None:
            return False
        await store.refresh(Report, session)
        report = await store.find(Report, id_, session, partition=scope)
        if report is None or await store.delete(Report, id_, session, partition=scope, etag=report.etag):
            return True
    raise CurrentChangedError(f"report {id_}, whose summary is gone, changes all the time")


async def _set_flags(store: Store, scope: str, current: str | None, session: Session) -> None:
    for model, name in ((Summary, "id"), (Report, "summary_id")):
        rows = await _rows(store, model, scope, session)
        wrong = [row for row in rows if bool(row["outdated"]) != (row[name] != current)]
        patches = [Patch(row["id"], partition=scope, set={"outdated": row[name] != current}) for row in wrong]
        await store.patch_all(model, patches, session)


async def _rows(
    store: Store, model: type[Summary | Report], scope: str, session: Session
) -> list[dict[str, Any]]:
    """All of the scope, as the primary has them: a flag that is missed here would stay wrong."""
    await store.refresh(model, session)
    query = SUMMARY_FLAGS if model is Summary else REPORT_FLAGS
    return [row async for row in store.query(query, session, partition=scope)]


WAITS = "c.touches > c.made AND c.touches > c.working"


async def digest_touched(store: Store, digest_id: str) -> None:
    """Count a touch, unless one is waiting that no refresh has seen. Precondition: its document exists.

    Only the primary knows: by a replica that is behind, a touch that was seen long ago seems to wait.
    """
    touch = Patch(digest_id, increment={"touches": 1})
    await store.patch(Digest, touch, Session(), condition=f"NOT ({WAITS})")


async def digest_started(store: Store, digest: Digest) -> None:
    """Note which touches this refresh has seen. Precondition: it has not looked at any thread yet."""
    seen = {"working": digest.touches}
    await store.patch(Digest, Patch(digest.id, set=seen), Session())


async def digest_named(store: Store, digest: Digest, summary_id: str | None, session: Session) -> bool:
    """Say which summary is current; None where there is nothing to say. False where a later refresh has.

    Precondition: the summary is stored, and no refresh that has seen more touches has named one. So a worker
    that stood still cannot put an old digest in the place of a newer one.
    """
    named = Patch(digest.id, set={"named": digest.touches, "summary_id": summary_id})
    earlier = f"NOT IS_DEFINED(c.named) OR c.named <= {digest.touches:d}"
    return await store.patch(Digest, named, session, condition=earlier) is not Conflict.CONFLICT


async def digest_made(store: Store, digest: Digest) -> None:
    """Precondition: its summary is named and announced, or there is nothing to say.

    It stays dirty where it was touched since the refresh started.
    """
    done = Patch(digest.id, set={"made": digest.touches, "lastError": None})
    await store.patch(Digest, done, Session(), condition=f"c.made <= {digest.touches:d}")


async def digest_failed(store: Store, digest_id: str, failure: ClassifiedError, now: datetime) -> None:
    """Its turn comes again after all others': the document that was written last is last in line.

    Also where a later refresh made it meanwhile: what this one wrote last may still arrive, and undo it.
    """
    state = {"lastError": error_text(failure), "lastAttemptTime": stored_time(now)}
    patch = Patch(digest_id, set=state, increment={"attemptCount": 1})
    await store.patch(Digest, patch, Session())
    again = Patch(digest_id, increment={"touches": 1})
    await store.patch(Digest, again, Session(), condition="c.touches <= c.made")
