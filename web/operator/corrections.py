"""The page on which who has the role corrects what is said of a thread."""

import azure.functions as func
from pydantic import TypeAdapter, ValidationError

from shared.clients.connections import clients
from shared.core.ids import CORRECTION_ID, HASH_ID
from shared.retrieval.parameters import page_of
from shared.retrieval.threads import conversation_of, resolved_thread, summary_of
from shared.upkeep.audit import Actor
from shared.upkeep.correcting import CorrectionAsked, Reason, correct, corrections_of_thread, revoke
from web.access import CORRECTORS, cookie_header, visitor
from web.forms import form_of
from web.operator.correction_view import correction_view
from web.operator.forms import NEVER_KEPT, back_to, checked_sender, login_page
from web.parameters import checked_id, id_of
from web.problems import Problem, invalid
from web.rendering import html_errors, show

blueprint = func.Blueprint()
LARGEST_FORM = 16 * 1024
FIELDS = ("kind", "message_id", "stance", "outcome", "sentence", "genre", "quote", "reason")


@blueprint.function_name("operator_corrections")
@blueprint.route(
    route="operator/corrections/{id}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS
)
@html_errors
async def corrections_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    who = visitor(req, connected.settings, CORRECTORS)
    if who is None:
        return login_page(req, connected)
    thread = await resolved_thread(connected, id_of(req, "id", HASH_ID, "thread"))
    summary = await summary_of(connected, thread)
    if summary is None or summary.reading is None:
        raise Problem(404, "This thread has no summary yet, so there is nothing to correct.")
    messages = (await conversation_of(connected, thread, answers=False)).messages
    found = await corrections_of_thread(connected, thread.id)
    headers = {**NEVER_KEPT, **(cookie_header(req, who.cookie) if who.cookie else {})}
    view = correction_view(thread, summary.reading, messages, found)
    return show(req, "operator/corrections.html", headers=headers, who=who, view=view)


@blueprint.function_name("operator_correct")
@blueprint.route(route="operator/corrections/{id}", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def correct_thread(req: func.HttpRequest) -> func.HttpResponse:
    """Make or revoke one correction; the sender sees the thread's page next."""
    connected, form = await clients(), form_of(req, LARGEST_FORM)
    who = checked_sender(req, connected, form, CORRECTORS)
    thread = await resolved_thread(connected, id_of(req, "id", HASH_ID, "thread"))
    actor, etag = Actor(who.name, "operator's page"), form.get("etag") or None
    given = {name: form[name] for name in FIELDS if form.get(name)}
    if "revoke" in form:
        id_ = checked_id(form["revoke"], CORRECTION_ID, "correction with this id")
        await revoke(connected, id_, _reason(given), actor, etag=etag)
    else:
        await correct(connected, thread.id, _asked(given), actor, etag=etag)
    return back_to(page_of("threads", thread.id))


def _asked(given: dict[str, str]) -> CorrectionAsked:
    try:
        return CorrectionAsked.model_validate(given)
    except ValidationError as error:
        raise invalid(error) from None


def _reason(given: dict[str, str]) -> str:
    try:
        return TypeAdapter[str](Reason).validate_python(given.get("reason", ""))
    except ValidationError as error:
        raise invalid(error) from None
