"""The home page: recent outcomes of all lists."""

import asyncio

import azure.functions as func

from shared.clients.connections import clients
from shared.documents.reports import Report
from shared.documents.values import Tier
from shared.domain.consensus.positions import OutcomeGroup, outcome_group
from shared.retrieval.lists import latest_digests, latest_reports, source_names
from web.pages.reading_view import call_state
from web.rendering import html_errors, show

blueprint = func.Blueprint()
LATELY = 60
SHOWN = 12
DIGESTS = 6


# In Azure an empty route means the function's name. This pattern matches only the root of the site.
@blueprint.function_name("page_home")
@blueprint.route(
    route="{ignored:maxlength(0)?}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS
)
@html_errors
async def home_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    reports, digests, sources = await asyncio.gather(
        latest_reports(connected, LATELY, type="thread"),
        latest_digests(connected, DIGESTS),
        source_names(connected),
    )
    today = connected.runtime.now().date()
    calls = [
        (report, call_state(report.open_call.ends, today))
        for report in reports
        if report.open_call is not None
    ]
    groups = {
        group.name.lower(): [report for report in reports if _group(report) is group][:SHOWN]
        for group in OutcomeGroup
    }
    return show(
        req,
        "pages/home.html",
        groups=groups,
        calls=calls[:SHOWN],
        digests=digests,
        sources=sources,
        nothing=not reports,
    )


def _group(report: Report) -> OutcomeGroup:
    outcome = report.outcome
    return outcome_group(
        has_consensus=report.has_consensus,
        kind=outcome.kind if outcome else None,
        tier=outcome.tier if outcome else Tier.REMARK,
        divided=report.consensus_type,
    )
