"""The home page with recent outcomes of all lists."""

import asyncio

import azure.functions as func

from shared.models.reports import Report
from shared.models.values import Tier
from shared.reading.positions import OutcomeGroup, outcome_group
from shared.views.lists import latest_digests, latest_reports, source_names
from web.access import OPEN
from web.connected import clients
from web.pages.reading_view import call_state
from web.problems import Problem
from web.rendering import page, problem_page, show
from web.routes import route

RECENT = 60
SHOWN = 12
DIGESTS = 6


# In Azure an empty route becomes the name of the function. This pattern matches only the root of the site.
@page("page_home", "{ignored:maxlength(0)?}")
async def home_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    reports, digests, sources = await asyncio.gather(
        latest_reports(connected, RECENT, type="thread"),
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


@page("page_following", "following")
async def following_page(req: func.HttpRequest) -> func.HttpResponse:
    return show(req, "pages/following.html")


@route("zz_missing", "{*path}", roles=OPEN)
async def missing(req: func.HttpRequest) -> func.HttpResponse:
    """Show the 404 page. Azure tries routes in the order of function names, so `zz_` makes it the last."""
    problem = Problem(404, "This page does not exist.")
    if req.route_params.get("path", "").lower().startswith("api/"):
        return problem.response()
    return problem_page(req, problem)
