"""Drafts and RFCs over HTTP: which are talked about, and what was said of one."""

import asyncio
from collections import Counter

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.search.facets import Facet
from shared.documents.containers import read_document
from shared.documents.models import Report, Thread
from shared.domain.mail.mentions import draft_base
from shared.retrieval.links import api_of, page_of_draft
from shared.retrieval.read_models import DraftDetail, DraftItem, DraftList, ReportItem, ThreadItem
from web.api.openapi import describes
from web.api.reports import REPORTS
from web.api.threads import THREADS
from web.caching import answer_with
from web.parameters import draft_named
from web.problems import Problem, tells_problems

__all__ = ["DraftContents", "blueprint", "drafts_talked_about", "of_draft"]

blueprint = func.Blueprint()
PATTERN = r"^(draft-[a-z0-9]+(-[a-z0-9]+)+|(RFC|BCP|STD)[1-9][0-9]*)$"
MOST = 300
SHOWN = 100
DraftContents = tuple[list[Report], list[Thread]]


async def drafts_talked_about(connected: Clients) -> Counter[str]:
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


@blueprint.function_name("drafts_list")
@blueprint.route(route="api/drafts", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@describes("GET", "api/drafts", {200: DraftList})
@tells_problems
async def list_drafts(req: func.HttpRequest) -> func.HttpResponse:
    """The drafts and RFCs that are mentioned most, by indexed passages."""
    counts = await drafts_talked_about(await clients())
    items = [DraftItem(name=name, passages=count, links=_links(name)) for name, count in counts.most_common()]
    return answer_with(req, DraftList(items=items))


@blueprint.function_name("drafts_get")
@blueprint.route(route="api/drafts/{name}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@describes("GET", "api/drafts/{name}", {200: DraftDetail}, ids={"name": PATTERN})
@tells_problems
async def get_draft(req: func.HttpRequest) -> func.HttpResponse:
    """What was said of a draft or RFC, in any version: its latest reports and threads."""
    name = draft_named(req)
    reports, threads = await of_draft(await clients(), name)
    shown = DraftDetail(
        name=name,
        reports=[ReportItem.of(each) for each in reports],
        threads=[ThreadItem.of(each) for each in threads],
        links=_links(name),
    )
    return answer_with(req, shown)


def _links(name: str) -> dict[str, str]:
    return {
        "self": api_of("drafts", name),
        "reports": f"/api/reports?draft={name}",
        "threads": f"/api/threads?draft={name}",
        "page": page_of_draft(name),
    }
