"""What arrives when a deletion is done: writes of hosts that stood still, or that nobody waits for any more.

No check at the end of a deletion can see them, so each is looked at once more when they have arrived.
"""

from datetime import datetime, timedelta

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.times import stored_time
from shared.documents.queries.reports import REPORTS_PUBLISHED_SINCE
from shared.documents.reports import Report
from shared.documents.summaries import Summary

LATE_AFTER = timedelta(minutes=20)  # longer than a host stands still, and a request is under way
LATE_UNTIL = timedelta(days=7)
MADE_BEFORE = timedelta(hours=1)  # a report that arrives late was made before the deletion began


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
            await store.delete(Report, row["id"], row["scope"], session)
