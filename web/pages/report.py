"""A report's page: the summary by itself, with every quote in full."""

import azure.functions as func

from shared.clients import clients
from web.asking import REPORT_ID, id_of
from web.pages.summary import shown_summary
from web.problems import Problem
from web.reading import cited_in, find_report, summary_of
from web.rendering import show, shows_problems

__all__ = ["blueprint"]

blueprint = func.Blueprint()


@blueprint.function_name("page_report")
@blueprint.route(route="reports/{id}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@shows_problems
async def report_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    report = await find_report(connected, id_of(req, "id", REPORT_ID, "report"))
    summary = await summary_of(connected, report)
    if summary is None:
        raise Problem(404, "The summary of this report is no longer there.")
    cited = await cited_in(connected, report, summary)
    return show(
        req,
        "pages/report.html",
        report=report,
        summary=shown_summary(summary, [each.page for each in cited], {}),
        threads=list(dict.fromkeys(each.thread_id for each in cited if each.thread_id)),
    )
