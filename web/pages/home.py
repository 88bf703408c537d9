"""The home page: what happened lately, on all lists."""

import asyncio

import azure.functions as func

from shared.clients.connections import clients
from shared.domain.consensus.models import ConsensusType
from shared.retrieval.latest import latest_digests, latest_reports, source_names
from web.rendering import html_errors, show

blueprint = func.Blueprint()
LATELY = 60
SHOWN = 12
DIGESTS = 6


# In Azure an empty route means the function's name. This pattern matches only the root of the site.
@blueprint.function_name("page_home")
@blueprint.route(route="{ignored:maxlength(0)?}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def home_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    reports, digests, sources = await asyncio.gather(
        latest_reports(connected, LATELY, type="thread"),
        latest_digests(connected, DIGESTS),
        source_names(connected),
    )
    disputed = {ConsensusType.DISSENT, ConsensusType.MIXED}
    undecided = [report for report in reports if not report.has_consensus]
    return show(
        req,
        "pages/home.html",
        agreed=[report for report in reports if report.has_consensus][:SHOWN],
        contested=[report for report in undecided if report.consensus_type in disputed][:SHOWN],
        open=[report for report in undecided if report.consensus_type not in disputed][:SHOWN],
        digests=digests,
        sources=sources,
        nothing=not reports,
    )
