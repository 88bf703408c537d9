"""The page of a thread: its reading and messages, with links from citations to sentences."""

import asyncio
from urllib.parse import urlencode

import azure.functions as func

from shared.azure.connections import Clients
from shared.core.ids import REPORT_ID
from shared.models.reports import Report, Summary
from shared.models.threads import Thread
from shared.views.conversation import threads_of_series
from shared.views.parameters import page_of
from shared.views.threads import cited_chunks, conversation_of, find_report, resolved_thread, summary_of
from web.connected import clients, current_caller
from web.pages.thread_view import ThreadPageData, outline_values, thread_values
from web.parameters import checked_id, id_of
from web.rendering import page, show


@page("page_thread", "threads/{id}")
async def thread_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, id_ = await clients(), id_of(req, "thread")
    thread = await resolved_thread(connected, id_)
    if thread.id != id_:
        asked = f"?{urlencode(dict(req.params))}" if req.params else ""
        # Temporary, because an operator can separate the threads again.
        headers = {"Location": page_of("threads", thread.id) + asked, "Cache-Control": "no-cache"}
        return func.HttpResponse(status_code=302, headers=headers)
    if req.params.get("view") == "versions":
        versions = await threads_of_series(connected, thread)
        return show(req, "pages/thread_view.html", thread=thread, title="Versions", versions=versions)
    reading = await _reading(req, connected, thread)
    if req.params.get("view") == "outline":
        return show(req, "pages/thread_view.html", **outline_values(reading))
    values = thread_values(reading, at=req.params.get("at"), page=req.params.get("page", "1"))
    # The next messages, which a script adds to the page.
    template = "pages/thread_part.html" if req.params.get("part") == "messages" else "pages/thread.html"
    return show(req, template, operator=current_caller().reads_all, **values)


async def _reading(req: func.HttpRequest, connected: Clients, thread: Thread) -> ThreadPageData:
    conversation, (summary, report) = await asyncio.gather(
        conversation_of(connected, thread), _summary(req, connected, thread)
    )
    citations = summary.citations if summary else []
    return ThreadPageData(
        thread,
        conversation.messages,
        summary,
        report,
        await cited_chunks(connected, citations),
        connected.runtime.now(),
        conversation.elsewhere,
        sends_mail=connected.settings.sends_mail,
    )


async def _summary(
    req: func.HttpRequest, connected: Clients, thread: Thread
) -> tuple[Summary | None, Report | None]:
    """Return the summary of the thread, or of the report whose citations are marked."""
    if "report" in req.params:
        report, summary, _ = await find_report(
            connected, checked_id(req.params["report"], REPORT_ID, "report with this id")
        )
        return summary, None if summary.id == thread.summary_id else report
    return await summary_of(connected, thread), None
