"""The page of a report: the summary with all quotes."""

from datetime import datetime

import azure.functions as func

from shared.azure.cosmos.session import Session
from shared.core.ids import REPORT_ID
from shared.models.reports import Report, Summary
from shared.models.threads import Thread
from shared.views.parameters import page_of, page_of_mail
from shared.views.threads import cited_in, find_report
from web.connected import clients
from web.pages.reading_view import QuotePlaces, names_of, reading_view
from web.pages.summary_view import CitedClaim, SummaryView, sentence_address, summary_view
from web.parameters import id_of, origin_of
from web.position_changes import changes_in
from web.rendering import page, show


async def _by_thread(report: Report, view: SummaryView) -> list[tuple[Thread, list[CitedClaim]]]:
    """Return the claims of a digest by thread, in the order of the digest. Threads may have no claim."""
    if report.thread_id is not None:
        return []
    found = await (await clients()).store.find_many(Thread, report.thread_ids, Session())
    claims: dict[str | None, list[CitedClaim]] = {}
    for claim in (claim for section in view.sections for claim in section.claims):
        claims.setdefault(claim.claim.thread_id, []).append(claim)
    for thread_claims in claims.values():
        thread_claims.sort(key=lambda cited: cited.footnotes[0].number)
    return [
        (found[thread_id], claims.get(thread_id, [])) for thread_id in report.thread_ids if thread_id in found
    ]


def _view(report: Report, summary: Summary, addresses: list[str | None], now: datetime) -> SummaryView:
    """Return the view of the summary. A digest has no reading."""
    if summary.reading is None:
        return summary_view(summary, addresses)
    cited = sentence_address(summary, addresses)
    places = QuotePlaces(
        people=names_of(report.participants),
        senders={
            summary.citations[index].message_id: claim.speaker
            for claim in summary.claims
            for index in claim.citations
            if claim.speaker
        },
        sentence=lambda quote: cited(quote) or page_of_mail(quote.message_id, quote.quote),
        message=lambda _message_id: None,
    )
    return summary_view(summary, addresses, reading_view(summary.reading, places, now))


@page("page_report", "reports/{id}")
async def report_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    report, summary, outdated = await find_report(connected, id_of(req, "report", REPORT_ID))
    cited = await cited_in(connected, summary, outdated=outdated)
    view = _view(report, summary, [citation.page for citation in cited], connected.runtime.now())
    threads = await _by_thread(report, view)
    return show(req, "pages/report.html", report=report, summary=view, threads=threads, outdated=outdated)


@page("page_report_print", "reports/{id}/print")
async def print_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    report, summary, outdated = await find_report(connected, id_of(req, "report", REPORT_ID))
    places: list[str | None] = [f"#citation-{number}" for number, _ in enumerate(summary.citations, 1)]
    return show(
        req,
        "pages/print.html",
        report=report,
        outdated=outdated,
        headline=summary.reading.headline if summary.reading else None,
        summary=summary_view(summary, places),
        changes=changes_in(summary),
        permalink=page_of("reports", report.report_id),
        origin=origin_of(req, connected.settings),
    )
