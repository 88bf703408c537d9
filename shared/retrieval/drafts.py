"""Drafts and RFCs: how often they are mentioned, and the reports and threads about one."""

import asyncio
from collections import Counter

from shared.clients.connections import Clients
from shared.clients.search.facets import Facet
from shared.core.errors import NotFoundError
from shared.documents.reports import Report
from shared.documents.threads import Thread
from shared.domain.mail.mentions import draft_base
from shared.retrieval.listing import REPORTS, THREADS

MAX_DRAFTS = 300
MAX_SHOWN = 100
DraftContents = tuple[list[Report], list[Thread]]


async def count_draft_mentions(connected: Clients) -> Counter[str]:
    """How many indexed passages mention each draft or RFC, in any version."""
    hits = await connected.index.search("*", top=1, facets=[Facet("draft_mentions", MAX_DRAFTS)])
    counts: Counter[str] = Counter()
    for facet in hits.facets.get("draft_mentions", []):
        counts[draft_base(facet.value)] += facet.count
    return counts


async def of_draft(connected: Clients, name: str) -> DraftContents:
    """Its reports and its threads, the latest first."""
    reports, threads = await asyncio.gather(
        REPORTS.page(
            connected.store,
            sort="-last_message_date",
            filters={"draft": name, "current": True},
            size=MAX_SHOWN,
        ),
        THREADS.page(connected.store, filters={"draft": name}, size=MAX_SHOWN),
    )
    if not reports.items and not threads.items:
        raise NotFoundError(f"No thread mentions {name}.")
    return reports.items, threads.items
