"""The home page: what happened lately, on all lists."""

import asyncio

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.cosmos.session import Session
from shared.documents.containers import read_document
from shared.documents.models import ConsensusType, Report
from shared.documents.queries.named_query import NamedQuery
from web.api.reports import REPORTS
from web.rendering import show, shows_problems

__all__ = ["blueprint", "latest_digests", "latest_reports", "source_names"]

blueprint = func.Blueprint()
SOURCE_NAMES = NamedQuery("source_names", "archives", "SELECT DISTINCT VALUE c.source FROM c")
LATELY = 60
SHOWN = 12
DIGESTS = 6


async def source_names(connected: Clients) -> list[str]:
    """The lists that archives came from, whether they are defined as sources or not."""
    found: list[object] = [each async for each in connected.store.query(SOURCE_NAMES, Session())]
    return sorted({str(each) for each in found})


async def latest_reports(connected: Clients, size: int, **filters: object) -> list[Report]:
    """The current reports of the discussions that had a message last."""
    page = await REPORTS.page(
        connected.store,
        sort="-last_message_date",
        filters={"current": True, **filters},
        after=None,
        size=size,
    )
    return [read_document(Report, each) for each in page.rows]


async def latest_digests(connected: Clients, size: int, **filters: object) -> list[Report]:
    """Of weeks and months, the latest first: by the label in their scope."""
    found = await latest_reports(connected, size, digests=True, **filters)
    return sorted(found, key=lambda each: each.scope.rpartition(":")[2], reverse=True)


# Only this route is the site's root on Azure, too: an empty one would be named after the function.
@blueprint.function_name("page_home")
@blueprint.route(route="{ignored:maxlength(0)?}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@shows_problems
async def home_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    reports, digests, sources = await asyncio.gather(
        latest_reports(connected, LATELY, type="thread"),
        latest_digests(connected, DIGESTS),
        source_names(connected),
    )
    disputed = {ConsensusType.DISSENT, ConsensusType.MIXED}
    undecided = [each for each in reports if not each.has_consensus]
    return show(
        req,
        "pages/home.html",
        agreed=[each for each in reports if each.has_consensus][:SHOWN],
        contested=[each for each in undecided if each.consensus_type in disputed][:SHOWN],
        open=[each for each in undecided if each.consensus_type not in disputed][:SHOWN],
        digests=digests,
        sources=sources,
        nothing=not reports,
    )
