"""Which summary and report of a thread, week or draft is current: the one made last.

A summary is made of what is stored at that moment, so a later one has read at least as much. The earlier ones
are kept, marked as outdated. A repeated event for an old version does not change that.
"""

from collections.abc import Iterable
from datetime import datetime

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.ids import report_id
from shared.core.times import stored_time
from shared.documents.queries.reports import CURRENT_REPORTS
from shared.documents.queries.summaries import CURRENT_SUMMARIES
from shared.documents.reports import Report
from shared.documents.summaries import Summary


async def summaries_superseded(store: Store, scope: str, session: Session) -> str | None:
    """Mark all but the latest summary of the scope, and their reports; the id of the latest."""
    summaries = [row async for row in store.query(CURRENT_SUMMARIES, session, partition_value=scope)]
    latest = max(((row["generated_at"], row["id"]) for row in summaries), default=("", None))[1]
    earlier = [row["id"] for row in summaries if row["id"] != latest]
    await _mark_outdated(store, Summary, scope, earlier, session)
    await _mark_reports(store, scope, latest, session)
    return latest


async def all_outdated(store: Store, scope: str, session: Session) -> None:
    """Precondition: nothing that was said about the scope holds, because its thread was merged or emptied."""
    summaries = [row["id"] async for row in store.query(CURRENT_SUMMARIES, session, partition_value=scope)]
    await _mark_outdated(store, Summary, scope, summaries, session)
    await _mark_reports(store, scope, None, session)


async def summary_revived(store: Store, summary: Summary, now: datetime, session: Session) -> None:
    """Make it current again. Precondition: its thread, or digest, has the same content as when it was made.

    It gets the time of now, because the latest summary is the current one.
    """
    current = {"outdated": False, "generated_at": stored_time(now)}
    await store.patch(Summary, Patch(summary.id, summary.scope, set=current), session)
    report = await store.find(Report, report_id(summary.id), summary.scope, session)
    if report is not None:
        patch = Patch(report.id, report.scope, set={"outdated": False, "published_at": stored_time(now)})
        await store.patch(Report, patch, session)


async def _mark_reports(store: Store, scope: str, latest: str | None, session: Session) -> None:
    reports = [row async for row in store.query(CURRENT_REPORTS, session, partition_value=scope)]
    stale = [row["id"] for row in reports if row["summary_id"] != latest]
    await _mark_outdated(store, Report, scope, stale, session)


async def _mark_outdated(
    store: Store, model: type[Summary | Report], scope: str, ids: Iterable[str], session: Session
) -> None:
    await store.patch_all(model, [Patch(id_, scope, set={"outdated": True}) for id_ in ids], session)
