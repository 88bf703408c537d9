"""Reports of errors by readers. A corrector handles them, and the report itself changes nothing."""

import azure.functions as func
from pydantic import TypeAdapter

from shared.operations.audit import Operator
from shared.operations.correcting import Reason, report_error
from web.access import from_this_site
from web.connected import current_caller
from web.forms import form_of
from web.limits import Limited
from web.parameters import asked_thread
from web.problems import Problem
from web.rendering import page, show

LARGEST_FORM = 4096
NEVER_KEPT = {"Cache-Control": "no-store"}
SENT = "Thank you. A corrector will look at it. Nothing changes until then."


@page("page_report_error", "threads/{id}/error")
async def error_page(req: func.HttpRequest) -> func.HttpResponse:
    _, thread = await asked_thread(req)
    return show(req, "pages/report_error.html", headers=NEVER_KEPT, thread=thread, sent="")


@page("page_report_error_send", "threads/{id}/error", "POST", largest=LARGEST_FORM, limited=Limited.REPORT)
async def error_send(req: func.HttpRequest) -> func.HttpResponse:
    if not from_this_site(req.headers):
        raise Problem(403, "The form was not sent from this site. Reload the page and try again.")
    connected, thread = await asked_thread(req)
    reason = TypeAdapter[str](Reason).validate_python(form_of(req, LARGEST_FORM).get("reason", ""))
    reader = Operator(current_caller().name or "a reader", "thread's page")
    await report_error(connected, thread.id, reason, reader)
    return show(req, "pages/report_error.html", headers=NEVER_KEPT, thread=thread, sent=SENT)
