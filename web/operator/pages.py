"""The operator's page, and the forms on it."""

import re
from datetime import timedelta
from urllib.parse import parse_qs

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.core.ids import AUDIT_ID, CAUSE_ID
from shared.upkeep.audit import Actor
from shared.upkeep.deadletters.background import request_requeue
from web.access import Visitor, allowed_form, cookie_header, enter, visitor
from web.operator.view import running_on, view_of
from web.problems import Problem
from web.rendering import html_errors, show

blueprint = func.Blueprint()
PATH = "/operator"
NEVER_KEPT = {"Cache-Control": "no-store"}
LARGEST_FORM = 4096
CLOSED = "This page is closed: set OPERATOR_KEY, or give an account the role operator (docs/operations.md)."
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
WRONG_FORM = "The form is too old, or was not sent from this page. Load the page again, and repeat."


@blueprint.function_name("operator")
@blueprint.route(route="operator", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def operator_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    who = visitor(req, connected.settings)
    if who is None:
        return _login(req, connected)
    asked = req.params.get("asked", "")
    view = await view_of(connected, fresh=bool(asked))
    running = {group.id: running_on(view.status, group.id) for group in view.groups}
    headers = {**NEVER_KEPT, **(cookie_header(req, who.cookie) if who.cookie else {})}
    return show(
        req,
        "operator/page.html",
        headers=headers,
        who=who,
        view=view,
        running=running,
        span=_span,
        asked=asked if re.fullmatch(AUDIT_ID, asked) else None,
    )


@blueprint.function_name("operator_enter")
@blueprint.route(route="operator/enter", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def operator_enter(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    cookie = enter(_form(req).get("key", ""), connected.settings)
    if cookie is None:
        return _login(req, connected, wrong=True)
    return _back(cookie_header(req, cookie))


@blueprint.function_name("operator_leave")
@blueprint.route(route="operator/leave", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def operator_leave(req: func.HttpRequest) -> func.HttpResponse:
    _checked(req, await clients(), _form(req))
    return _back(cookie_header(req, "", seconds=0))


@blueprint.function_name("operator_requeue")
@blueprint.route(route="operator/requeue", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def operator_requeue(req: func.HttpRequest) -> func.HttpResponse:
    """Have a group requeued in the background. Where that is under way already, it is not asked for again."""
    connected, form = await clients(), _form(req)
    who = _checked(req, connected, form)
    wanted = form.get("group", "")
    if not re.fullmatch(CAUSE_ID, wanted):
        raise Problem(422, "group: must be a group's id")
    view = await view_of(connected, fresh=True)
    group = next((found for found in view.groups if found.id == wanted), None)
    if group is None:
        raise Problem(404, "There are no dead letters of this group any more.")
    audit = running_on(view.status, group.id) or await request_requeue(
        connected, group.queue, group.id, Actor(who.name, "operator's page")
    )
    return _back(location=f"{PATH}?asked={audit.id}")


def _checked(req: func.HttpRequest, connected: Clients, form: dict[str, str]) -> Visitor:
    who = visitor(req, connected.settings)
    if who is None:
        raise Problem(403, CLOSED)
    if not allowed_form(req, who, form.get("token", "")):
        raise Problem(403, WRONG_FORM)
    return who


def _login(req: func.HttpRequest, connected: Clients, *, wrong: bool = False) -> func.HttpResponse:
    if connected.settings.OPERATOR_KEY is None:
        raise Problem(403, CLOSED)
    return show(req, "operator/enter.html", status=401, headers=NEVER_KEPT, wrong=wrong)


def _back(headers: dict[str, str] | None = None, *, location: str = PATH) -> func.HttpResponse:
    return func.HttpResponse(
        None, status_code=303, headers={**NEVER_KEPT, "Location": location, **(headers or {})}
    )


def _span(length: timedelta) -> str:
    """In one unit: `42 s`, `7 min`, `3 d`."""
    seconds = max(0.0, length.total_seconds())
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:.0f}\N{NO-BREAK SPACE}{unit}"
    return f"{seconds:.0f}\N{NO-BREAK SPACE}s"


def _form(req: func.HttpRequest) -> dict[str, str]:
    body = req.get_body()
    if len(body) > LARGEST_FORM:
        raise Problem(413, "The form is too large.")
    given = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
    return {name: values[-1] for name, values in given.items()}
