"""Forms of the operator's pages: who sent one, what stands in it, where its sender goes next."""

import azure.functions as func

from shared.clients.connections import Clients
from web.access import ROLE, Visitor, allowed_form, visitor
from web.problems import Problem
from web.rendering import show

PATH = "/operator"
NEVER_KEPT = {"Cache-Control": "no-store"}
CLOSED = "This page is closed. Set OPERATOR_KEY or give an account the operator role (docs/operations.md)."
WRONG_FORM = "The form has expired or was not sent from this page. Reload the page and try again."
ONLY_OPERATORS = frozenset({ROLE})


def checked_sender(
    req: func.HttpRequest, connected: Clients, form: dict[str, str], roles: frozenset[str] = ONLY_OPERATORS
) -> Visitor:
    who = visitor(req, connected.settings, roles)
    if who is None:
        raise Problem(403, CLOSED)
    if not allowed_form(req, who, form.get("token", "")):
        raise Problem(403, WRONG_FORM)
    return who


def login_page(req: func.HttpRequest, connected: Clients, *, wrong: bool = False) -> func.HttpResponse:
    if connected.settings.OPERATOR_KEY is None:
        raise Problem(403, CLOSED)
    return show(req, "operator/enter.html", status=401, headers=NEVER_KEPT, wrong=wrong)


def back_to(location: str = PATH, headers: dict[str, str] | None = None) -> func.HttpResponse:
    return func.HttpResponse(
        None, status_code=303, headers={**NEVER_KEPT, "Location": location, **(headers or {})}
    )
