"""Which drafts and RFCs are talked about, and what is known of one."""

import asyncio
from collections import Counter

from shared.clients.connections import Clients
from shared.clients.search.facets import Facet
from shared.documents.containers import read_document
from shared.documents.reports import Report
from shared.documents.threads import Thread
from shared.domain.mail.mentions import draft_base
from shared.retrieval.listings import REPORTS, THREADS
from web.problems import Problem

__all__ = ["MOST", "SHOWN", "DraftContents", "count_draft_mentions", "of_draft"]

MOST = 300


SHOWN = 100


DraftContents = tuple[list[Report], list[Thread]]


async def count_draft_mentions(connected: Clients) -> Counter[str]:
    """How many indexed passages speak of each, in any version."""
    hits = await connected.index.search("*", top=1, facets=[Facet("draft_mentions", MOST)])
    counts: Counter[str] = Counter()
    for each in hits.facets.get("draft_mentions", []):
        counts[draft_base(each.value)] += each.count
    return counts


async def of_draft(connected: Clients, name: str) -> DraftContents:
    """Its reports and its threads, the latest first."""
    reports, threads = await asyncio.gather(
        REPORTS.page(
            connected.store,
            sort="-last_message_date",
            filters={"draft": name, "current": True},
            after=None,
            size=SHOWN,
        ),
        THREADS.page(
            connected.store, sort="-last_message_date", filters={"draft": name}, after=None, size=SHOWN
        ),
    )
    if not reports.rows and not threads.rows:
        raise Problem(404, f"No thread mentions {name}.")
    return (
        [read_document(Report, each) for each in reports.rows],
        [read_document(Thread, each) for each in threads.rows],
    )
