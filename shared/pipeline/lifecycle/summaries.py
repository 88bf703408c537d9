"""Which summary and report of a thread, week or draft is the last word: the one made last.

A summary is made of what is stored at that moment, so one made later knows at least as much. Those before it
are kept, and say that they are outdated. A repeated event for an old version changes nothing of that.
"""

from datetime import datetime

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.documents.base import stored_time
from shared.documents.queries.reports import CURRENT_REPORTS
from shared.documents.queries.summaries import CURRENT_SUMMARIES
from shared.documents.reports import Report
from shared.documents.summaries import Summary

__all__ = ["mark_all_outdated", "mark_superseded", "revive"]


async def mark_superseded(store: Store, scope: str, session: Session) -> str | None:
    """Mark all but the latest summary, and their reports; the id of the latest."""
    summaries = [each async for each in store.query(CURRENT_SUMMARIES, session, partition_value=scope)]
    latest = max(((each["generated_at"], each["id"]) for each in summaries), default=("", None))[1]
    await _mark(store, scope, [each["id"] for each in summaries if each["id"] != latest], session)
    await _mark_reports(store, scope, latest, session)
    return latest


async def mark_all_outdated(store: Store, scope: str, session: Session) -> None:
    """What was said about a thread that is another one now."""
    summaries = [each["id"] async for each in store.query(CURRENT_SUMMARIES, session, partition_value=scope)]
    await _mark(store, scope, summaries, session)
    await _mark_reports(store, scope, None, session)


async def revive(store: Store, summary: Summary, now: datetime, session: Session) -> None:
    """What was outdated is so no longer: what it is about is again what it was."""
    again = {"outdated": False, "generated_at": stored_time(now)}
    await store.patch(Summary, Patch(summary.id, summary.scope, set=again), session)
    report = await store.find(Report, f"rpt-{summary.id}", summary.scope, session)
    if report is not None:
        patch = Patch(report.id, report.scope, set={"outdated": False, "published_at": stored_time(now)})
        await store.patch(Report, patch, session)


async def _mark(store: Store, scope: str, ids: list[str], session: Session) -> None:
    await store.patch_all(Summary, [Patch(each, scope, set={"outdated": True}) for each in ids], session)


async def _mark_reports(store: Store, scope: str, latest: str | None, session: Session) -> None:
    reports = [each async for each in store.query(CURRENT_REPORTS, session, partition_value=scope)]
    stale = [each["id"] for each in reports if each["summary_id"] != latest]
    await store.patch_all(Report, [Patch(each, scope, set={"outdated": True}) for each in stale], session)
