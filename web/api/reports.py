"""Reports over HTTP: what was agreed, found by list, thread, draft, people, time and outcome."""

import azure.functions as func

from shared.clients.connections import clients
from shared.core.ids import REPORT_ID
from shared.retrieval.listing import REPORTS
from shared.retrieval.read_models import ReportDetail, ReportItem, ReportList
from shared.retrieval.threads import cited_in, report_and_summary, report_detail
from web.api.list_parameters import ReportsAsked
from web.api.openapi import endpoint
from web.api.report_links import linked_markdown
from web.caching import NOT_SNIFFED, answer_of, answer_with
from web.origin import origin_of
from web.pagination import next_address
from web.parameters import id_of, parse_query
from web.people_access import check_people_shown

PATH = "/api/reports"


@endpoint("reports_list", "GET", "api/reports", {200: ReportList}, query=ReportsAsked)
async def list_reports(req: func.HttpRequest) -> func.HttpResponse:
    """Reports, newest first. Earlier versions only with `outdated`."""
    wanted, connected = parse_query(req, ReportsAsked), await clients()
    if wanted.person is not None:
        check_people_shown(req, connected.settings)
    page = await REPORTS.page(
        connected.store, sort=wanted.sort, filters=wanted.filters(), after=wanted.after, size=wanted.limit
    )
    items = [ReportItem.of(report) for report in page.items]
    return answer_with(req, ReportList(items=items, next=next_address(req, PATH, page.cursor)))


@endpoint("reports_get", "GET", "api/reports/{id}", {200: ReportDetail}, ids={"id": REPORT_ID})
async def get_report(req: func.HttpRequest) -> func.HttpResponse:
    """One report with its summary: claims, positions and citations."""
    return answer_with(req, await report_detail(await clients(), id_of(req, "id", REPORT_ID, "report")))


@endpoint(
    "reports_markdown", "GET", "api/reports/{id}/markdown", {200: "text/markdown"}, ids={"id": REPORT_ID}
)
async def get_markdown(req: func.HttpRequest) -> func.HttpResponse:
    """The report as Markdown, each quote with links to its sentence and its mail."""
    connected = await clients()
    report, summary = await report_and_summary(connected, id_of(req, "id", REPORT_ID, "report"))
    cited = await cited_in(connected, report, summary)
    text = linked_markdown(summary, cited, origin_of(req, connected.settings))
    headers = {**NOT_SNIFFED, "Content-Disposition": f'inline; filename="{report.id}.md"'}
    return answer_of(req, text.encode(), "text/markdown", headers=headers)
