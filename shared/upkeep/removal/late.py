"""What arrives when a deletion is done: writes of hosts that stood still, or that nobody waits for any more.

No check at the end of a deletion can see them, so each is looked at once more when they have arrived.
"""

from datetime import datetime, timedelta
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.times import stored_time
from shared.documents.queries.reports import REPORTS_PUBLISHED_SINCE, THREAD_SUMMARIES_MADE_SINCE
from shared.documents.reports import Summary
from shared.documents.threads import Thread
from shared.pipeline.lifecycle.summaries import orphan_deleted
from shared.upkeep.removal.thread_part import delete_summary

LATE_AFTER = timedelta(minutes=20)  # longer than a host stands still, and a request is under way
LATE_UNTIL = timedelta(days=7)
MADE_BEFORE = timedelta(hours=1)  # what arrives late was made before the deletion began


async def delete_late_summaries(clients: Clients, since: datetime, session: Session) -> None:
    """Those of threads that are gone, or were made anew since: they may quote what was deleted."""
    store = clients.store
    rows = [
        row
        async for row in store.query(
            THREAD_SUMMARIES_MADE_SINCE, session, since=stored_time(since - MADE_BEFORE)
        )
        if row["scope"] == row["thread_id"]
    ]
    scopes = sorted({row["scope"] for row in rows})
    await store.catch_up(Thread, scopes, session)
    threads = await store.find_many(Thread, [(scope, scope) for scope in scopes], session)
    for row in rows:
        if _is_late(row, threads.get(row["scope"])):
            await delete_summary(store, row, session)


def _is_late(row: dict[str, Any], thread: Thread | None) -> bool:
    if thread is None:
        return True
    if thread.summary_id == row["id"]:
        return False
    return not row.get("outdated") or row["created_at"] < stored_time(thread.created_at)


async def delete_late_reports(clients: Clients, since: datetime, session: Session) -> None:
    """Those whose summary was deleted. A summary is stored before its report, so one that comes has it."""
    store = clients.store
    rows = [
        row
        async for row in store.query(REPORTS_PUBLISHED_SINCE, session, since=stored_time(since - MADE_BEFORE))
    ]
    await store.catch_up(Summary, {row["scope"] for row in rows}, session)
    summaries = await store.find_many(Summary, [(row["summary_id"], row["scope"]) for row in rows], session)
    for row in rows:
        if row["summary_id"] not in summaries:
            await orphan_deleted(store, row["id"], row["summary_id"], row["scope"], session)
