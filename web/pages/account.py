"""The account page with secret feed addresses, the sign-in of development hosts, and robots.txt."""

import re
from urllib.parse import quote

import azure.functions as func

from shared.azure import connections
from shared.azure.access import Caller
from shared.settings.app import Settings
from shared.views.lists import source_names
from web.access import (
    ACCOUNT_COOKIE,
    OPEN,
    ROLES,
    cookie_header,
    cookie_of,
    from_this_site,
    sign_in_address,
    signed_account,
)
from web.caching import answer_of
from web.connected import clients, current_caller
from web.forms import LARGEST_FORM, form_of
from web.limits import Limited
from web.parameters import origin_of
from web.problems import Problem
from web.rendering import page, show
from web.routes import route
from web.sessions import end_session, feed_of, make_feed_key, revoke_feed_key

NEVER_KEPT = {"Cache-Control": "no-store"}
NOT_HERE = "This page does not exist."
WRONG_FORM = "The form was not sent from this site. Reload the page and try again."
_GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,127}")
MAY_BE_LISTED = "User-agent: *\nDisallow: /api/\nDisallow: /operator\nDisallow: /search\n"
NOT_LISTED = "User-agent: *\nDisallow: /\n"


@page("page_account", "account")
async def account_page(req: func.HttpRequest) -> func.HttpResponse:
    """Show the account and its feeds. A new secret address is shown once."""
    return await _account(req)


@page("page_account_send", "account", "POST", largest=LARGEST_FORM)
async def account_sent(req: func.HttpRequest) -> func.HttpResponse:
    _check_form(req)
    connected, caller, form = await connections.clients(), _account_holder(), form_of(req)
    if "revoke" in form:
        await revoke_feed_key(connected, caller.name)
        return await _account(req)
    return await _account(req, await make_feed_key(connected, caller))


async def _account(req: func.HttpRequest, key: str = "") -> func.HttpResponse:
    caller, connected = _account_holder(), await clients()
    record = await feed_of(await connections.clients(), caller.name)
    base = f"{origin_of(req, connected.settings)}/feeds/private/{quote(key)}"
    feeds = [
        (name, f"{base}/sources/{quote(name)}{kind}")
        for name in (await source_names(connected) if key else ())
        for kind in ("", "/calls", "/calendar")
    ]
    leaves = "/sign-out" if cookie_of(req, ACCOUNT_COOKIE) else "/.auth/logout"
    return show(
        req,
        "pages/account.html",
        headers=NEVER_KEPT,
        caller=caller,
        record=record,
        feeds=feeds,
        leaves=leaves,
    )


def _account_holder() -> Caller:
    caller = current_caller()
    if not caller.roles or not caller.name:
        raise Problem(404, "This site has no accounts.")
    return caller


@page("page_sign_in", "sign-in", roles=OPEN)
async def sign_in_page(req: func.HttpRequest) -> func.HttpResponse:
    """Show the sign-in form of a development host. In Azure, the platform signs in."""
    await _check_development(req)
    return show(req, "pages/sign_in.html", headers=NEVER_KEPT, roles=ROLES, to=req.params.get("to", "/"))


@page("page_sign_in_send", "sign-in", "POST", roles=OPEN, largest=LARGEST_FORM, limited=Limited.SIGN_IN)
async def sign_in_sent(req: func.HttpRequest) -> func.HttpResponse:
    settings = await _check_development(req)
    _check_form(req)
    form = form_of(req)
    roles = [role for role in ROLES if f"role-{role}" in form]
    groups = [group for group in form.get("groups", "").split(",") if _GROUP.fullmatch(group.strip())]
    name = " ".join(form.get("name", "").split())[:200]
    if not name:
        raise Problem(422, "name: must not be empty")
    cookie = signed_account(name, roles, [group.strip() for group in groups], settings)
    to = form.get("to", "/")
    back = to if re.fullmatch(r"/(?![/\\\\])[!-~]{0,500}", to) or to == "/" else "/"
    header = cookie_header(req, cookie, name=ACCOUNT_COOKIE)
    return func.HttpResponse(None, status_code=303, headers={**NEVER_KEPT, "Location": back, **header})


@page("page_sign_out", "sign-out", "POST", roles=OPEN, largest=LARGEST_FORM)
async def sign_out(req: func.HttpRequest) -> func.HttpResponse:
    """Sign out. The session ends on the server, so that its cookie becomes invalid."""
    _check_form(req)
    cookie = cookie_of(req, ACCOUNT_COOKIE)
    if cookie:
        await end_session(await connections.clients(), cookie)
    header = cookie_header(req, "", seconds=0, name=ACCOUNT_COOKIE)
    return func.HttpResponse(None, status_code=303, headers={**NEVER_KEPT, "Location": "/sign-in", **header})


@route("robots", "robots.txt", roles=OPEN)
async def robots(req: func.HttpRequest) -> func.HttpResponse:
    settings = (await connections.clients()).settings
    text = MAY_BE_LISTED if settings.SEARCH_ENGINES and settings.AUTH_MODE == "public" else NOT_LISTED
    return answer_of(req, text.encode(), "text/plain")


async def _check_development(req: func.HttpRequest) -> Settings:
    settings = (await connections.clients()).settings
    address = sign_in_address(req, settings, "/")
    if settings.AUTH_MODE == "public" or address is None or not address.startswith("/sign-in"):
        raise Problem(404, NOT_HERE)
    return settings


def _check_form(req: func.HttpRequest) -> None:
    if not from_this_site(req.headers):
        raise Problem(403, WRONG_FORM)
