"""A report to be printed or kept: nothing folded, every quote with the address of its mail in full."""

import azure.functions as func

from shared.clients.connections import clients
from shared.core.ids import REPORT_ID
from shared.retrieval.parameters import page_of
from shared.retrieval.threads import report_and_summary
from web.origin import origin_of
from web.pages.summary_view import shown_summary
from web.parameters import id_of
from web.position_changes import changes_in
from web.rendering import html_errors, show

blueprint = func.Blueprint()


@blueprint.function_name("page_report_print")
@blueprint.route(route="reports/{id}/print", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def print_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    report, summary = await report_and_summary(connected, id_of(req, "id", REPORT_ID, "report"))
    places: list[str | None] = [f"#citation-{number}" for number, _ in enumerate(summary.citations, 1)]
    return show(
        req,
        "pages/print.html",
        report=report,
        headline=summary.reading.headline if summary.reading else None,
        summary=shown_summary(summary, places, {}),
        changes=changes_in(summary),
        permalink=page_of("reports", report.id),
        origin=origin_of(req, connected.settings),
    )
