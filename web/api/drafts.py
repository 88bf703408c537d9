"""API of drafts and RFCs."""

import azure.functions as func

from shared.views.parameters import PATTERN, api_of, page_of
from shared.views.read_models import DraftDetail, DraftItem, DraftList, ReportItem, ThreadItem
from shared.views.topics import count_draft_mentions, of_draft
from web.api.openapi import endpoint
from web.caching import answer_with
from web.connected import clients
from web.parameters import draft_named


@endpoint("drafts_list", "GET", "api/drafts", {200: DraftList})
async def list_drafts(req: func.HttpRequest) -> func.HttpResponse:
    """Drafts and RFCs by number of passages that mention them."""
    counts = await count_draft_mentions(await clients())
    items = [DraftItem(name=name, passages=count, links=_links(name)) for name, count in counts.most_common()]
    return answer_with(req, DraftList(items=items))


@endpoint("drafts_get", "GET", "api/drafts/{name}", {200: DraftDetail}, ids={"name": PATTERN})
async def get_draft(req: func.HttpRequest) -> func.HttpResponse:
    """The latest reports and threads on a draft (any version) or RFC."""
    name = draft_named(req)
    reports, threads = await of_draft(await clients(), name)
    detail = DraftDetail(
        name=name,
        reports=[ReportItem.of(report) for report in reports],
        threads=[ThreadItem.of(thread) for thread in threads],
        links=_links(name),
    )
    return answer_with(req, detail)


def _links(name: str) -> dict[str, str]:
    return {
        "self": api_of("drafts", name),
        "reports": f"/api/reports?draft={name}",
        "threads": f"/api/threads?draft={name}",
        "page": page_of("drafts", name),
    }
