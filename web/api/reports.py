"""API of reports: list, detail and Markdown."""

import re
from collections.abc import Sequence

import azure.functions as func

from shared.core.ids import REPORT_ID
from shared.models.reports import Summary
from shared.views.listing import REPORTS
from shared.views.parameters import ReportsAsked, page_of_mail
from shared.views.read_models import CitationShown, ReportDetail, ReportItem, ReportList
from shared.views.threads import cited_in, find_report, report_detail
from web.access import check_people_shown
from web.api.openapi import endpoint
from web.caching import NOT_SNIFFED, answer_of, answer_with
from web.connected import clients
from web.formatting import markdown_target
from web.parameters import id_of, next_address, origin_of, parse_query
from web.position_changes import changes_in_markdown

# The format of shared/summaries/markdown.py, which escapes the text of mails.
_CITATION = re.compile(r'^(?P<head>(?P<number>\d+)\. <a id="citation-\d+"></a>“.*”) \(.*\)$', re.MULTILINE)
_CITATIONS = "## Citations\n"


@endpoint("reports_list", "GET", "api/reports", {200: ReportList}, query=ReportsAsked)
async def list_reports(req: func.HttpRequest) -> func.HttpResponse:
    """Reports, newest first."""
    wanted, connected = parse_query(req, ReportsAsked), await clients()
    if wanted.person is not None:
        check_people_shown(req, connected.settings)
    page = await REPORTS.page(
        connected.store, sort=wanted.sort, filters=wanted.filters(), after=wanted.after, size=wanted.limit
    )
    items = [ReportItem.of(report) for report in page.items]
    return answer_with(req, ReportList(items=items, next=next_address(req, "/api/reports", page.cursor)))


@endpoint("reports_get", "GET", "api/reports/{id}", {200: ReportDetail}, ids={"id": REPORT_ID})
async def get_report(req: func.HttpRequest) -> func.HttpResponse:
    """One report with its summary: claims, positions and citations."""
    return answer_with(req, await report_detail(await clients(), id_of(req, "report", REPORT_ID)))


@endpoint(
    "reports_markdown", "GET", "api/reports/{id}/markdown", {200: "text/markdown"}, ids={"id": REPORT_ID}
)
async def get_markdown(req: func.HttpRequest) -> func.HttpResponse:
    """The report as Markdown, each quote with links to its sentence and its mail."""
    connected = await clients()
    report, summary, outdated = await find_report(connected, id_of(req, "report", REPORT_ID))
    cited = await cited_in(connected, summary, outdated=outdated)
    text = linked_markdown(summary, cited, origin_of(req, connected.settings))
    headers = {**NOT_SNIFFED, "Content-Disposition": f'inline; filename="{report.report_id}.md"'}
    return answer_of(req, text.encode(), "text/markdown", headers=headers)


def linked_markdown(summary: Summary, cited: Sequence[CitationShown], origin: str) -> str:
    """Return the Markdown with links, and with changes of positions before the citations."""

    def linked(line: re.Match[str]) -> str:
        number = int(line["number"])
        if not 1 <= number <= len(cited):
            return line[0]
        return f"{line['head']} ({', '.join(_links(cited[number - 1], origin))})"

    text, heading, rest = _CITATION.sub(linked, summary.content_markdown).rpartition(_CITATIONS)
    changes = changes_in_markdown(summary, origin) if heading else ""
    return f"{text}{changes}{heading}{rest}"


def _links(citation: CitationShown, origin: str) -> list[str]:
    places = {"in the thread": citation.page, "the mail": page_of_mail(citation.message_id, citation.quote)}
    return [f"[{words}]({markdown_target(origin + place)})" for words, place in places.items() if place]
