"""Drafts and RFCs: those that are talked about, and what was said of one."""

import azure.functions as func

from shared.clients.connections import clients
from shared.documents.values import SummaryType
from shared.retrieval.topics import count_draft_mentions, of_draft
from web.pages.draft_line import draft_line
from web.parameters import draft_named
from web.rendering import html_errors, show

blueprint = func.Blueprint()


@blueprint.function_name("page_drafts")
@blueprint.route(route="drafts", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def drafts_page(req: func.HttpRequest) -> func.HttpResponse:
    counts = (await count_draft_mentions(await clients())).most_common()
    return show(
        req,
        "pages/drafts.html",
        drafts=[draft for draft in counts if draft[0].startswith("draft-")],
        published=[draft for draft in counts if not draft[0].startswith("draft-")],
    )


@blueprint.function_name("page_draft")
@blueprint.route(route="drafts/{name}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def draft_page(req: func.HttpRequest) -> func.HttpResponse:
    name = draft_named(req)
    connected = await clients()
    reports, threads = await of_draft(connected, name)
    reported = {report.thread_id for report in reports}
    return show(
        req,
        "pages/draft.html",
        name=name,
        sends_mail=connected.settings.SMTP_URL is not None,
        steps=draft_line(reports),
        focused=[report for report in reports if report.summary_type is SummaryType.DRAFT_FOCUSED],
        reports=[report for report in reports if report.summary_type is not SummaryType.DRAFT_FOCUSED],
        others=[thread for thread in threads if thread.id not in reported],
    )
