"""Forms of the operator's pages: who sent one, what stands in it, where its sender goes next."""

from urllib.parse import parse_qs

import azure.functions as func

from shared.clients.connections import Clients
from web.access import ROLE, Visitor, allowed_form, visitor
from web.problems import Problem
from web.rendering import show

PATH = "/operator"
NEVER_KEPT = {"Cache-Control": "no-store"}
LARGEST_FORM = 4096
CLOSED = "This page is closed: set OPERATOR_KEY, or give an account the role operator (docs/operations.md)."
WRONG_FORM = "The form is too old, or was not sent from this page. Load the page again, and repeat."
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


def form_of(req: func.HttpRequest, largest: int = LARGEST_FORM) -> dict[str, str]:
    body = req.get_body()
    if len(body) > largest:
        raise Problem(413, "The form is too large.")
    try:
        given = parse_qs(body.decode("utf-8", "replace"), max_num_fields=20)
    except ValueError:
        raise Problem(413, "The form has too many fields.") from None
    return {name: values[-1] for name, values in given.items()}
