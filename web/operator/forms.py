"""Registration of operator pages, and checks of their forms."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import azure.functions as func

from shared.azure.connections import Clients, clients
from web.access import ONLY_OPERATORS, Visitor, allowed_form, cookie_header, visitor
from web.problems import Problem
from web.rendering import page, show

PATH = "/operator"
NEVER_KEPT = {"Cache-Control": "no-store"}
CLOSED = "This page is closed. Set OPERATOR_KEY or give an account the operator role (docs/operate.md)."
WRONG_FORM = "The form has expired or was not sent from this page. Reload the page and try again."
OperatorsHandler = Callable[[func.HttpRequest, Clients, Visitor], Awaitable[func.HttpResponse]]


def operators_page(
    name: str, path: str, roles: frozenset[str] = ONLY_OPERATORS
) -> Callable[[OperatorsHandler], Any]:
    """Register a page for accounts with one of the roles. Other visitors see the sign-in form."""

    def register(handler: OperatorsHandler) -> Any:
        async def guarded(req: func.HttpRequest) -> func.HttpResponse:
            connected = await clients()
            who = visitor(req, connected.settings, roles)
            return await handler(req, connected, who) if who else login_page(req, connected)

        return page(name, path)(guarded)

    return register


def show_to(
    req: func.HttpRequest,
    who: Visitor,
    template: str,
    /,
    *,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> func.HttpResponse:
    """Show a page that is not cached, with the visitor's cookie if it is new."""
    cookie = cookie_header(req, who.cookie) if who.cookie else {}
    return show(req, template, headers={**NEVER_KEPT, **(headers or {}), **cookie}, who=who, **values)


def check_sender(
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
