"""The main operator page, sign-in and sign-out."""

import re

import azure.functions as func

from shared.azure.calls import SERVICE_NAMES
from shared.azure.connections import Clients, clients
from shared.core.ids import AUDIT_ID
from shared.core.times import in_one_unit
from shared.operations.deadletters.journal import RESTORABLE
from web.access import (
    MAY,
    Visitor,
    check_key,
    cookie_header,
    cookie_of,
    enter,
    from_this_site,
    is_operator,
    permissions,
)
from web.forms import LARGEST_FORM, form_of
from web.limits import Limited
from web.operator.forms import WRONG_FORM, back_to, check_sender, login_page, operators_page, show_to
from web.operator.view import running_on, view_of
from web.problems import Problem
from web.rendering import page
from web.sessions import end_session


@operators_page("operator", "operator", MAY["inspect"])
async def operator_page(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:
    asked = req.params.get("asked", "")
    view = await view_of(connected, fresh=bool(asked))
    running = {group.id: running_on(view.status, group.id) for group in view.groups}
    return show_to(
        req,
        who,
        "operator/page.html",
        may=permissions(req, connected.settings),
        operator=is_operator(req, connected.settings),
        restorable=RESTORABLE,
        services={**SERVICE_NAMES, "model": "Embedding model", "disk": "Disk"},
        view=view,
        running=running,
        span=lambda length: in_one_unit(length.total_seconds(), "\N{NO-BREAK SPACE}"),
        asked=asked if re.fullmatch(AUDIT_ID, asked) else None,
    )


@page("operator_enter", "operator/enter", "POST", largest=LARGEST_FORM, limited=Limited.SIGN_IN)
async def operator_enter(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    if not from_this_site(req.headers):
        raise Problem(403, WRONG_FORM)
    given = form_of(req).get("key", "")
    check_key(given, req, connected.settings)
    cookie = enter(given, connected.settings)
    if cookie is None:
        return login_page(req, connected, wrong=True)
    return back_to(headers=cookie_header(req, cookie))


@page("operator_leave", "operator/leave", "POST")
async def operator_leave(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    check_sender(req, connected, form_of(req), MAY["inspect"])
    await end_session(connected, cookie_of(req))
    return back_to(headers=cookie_header(req, "", seconds=0))
