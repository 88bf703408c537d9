"""The functions of the API and the pages: who may call each, how often, and with how large a body.

Every request passes here before its handler. A route is for readers unless it says otherwise.
"""

import functools
import os
from collections.abc import Awaitable, Callable
from typing import Any

import azure.functions as func

from shared.azure.calls import as_request
from shared.settings.app import Settings, SettingsError, settings
from web.access import OPEN, READERS, ROLE, admitted, caller_of, client_of, is_secure
from web.caching import REVALIDATE
from web.connected import ANYBODY, current_caller, set_caller
from web.limits import RATES, Limited, check_body
from web.problems import Problem, as_problem

Handler = Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]
Answered = Callable[[func.HttpRequest, Problem], func.HttpResponse]
blueprint = func.Blueprint()
LARGEST_BODY = 64 * 1024
WHOLE_FILES = 100 * 1024 * 1024  # as the host: what is larger comes in parts
IS_PUBLIC = os.environ.get("AUTH_MODE", "public") != "entra"


def as_json(_: func.HttpRequest, problem: Problem) -> func.HttpResponse:
    return problem.response()


def route(
    name: str,
    path: str,
    *methods: str,
    roles: frozenset[str] = READERS,
    by_key: bool = False,
    limited: Limited | None = None,
    largest: int = LARGEST_BODY,
    answered: Answered = as_json,
) -> Callable[[Handler], Any]:
    """Without methods: GET and HEAD. `by_key`: a public site's host asks for a function key.

    Whatever the handler raises is answered as a problem.
    """

    def register(handler: Handler) -> Any:
        @functools.wraps(handler)
        async def guarded(req: func.HttpRequest) -> func.HttpResponse:
            set_caller(ANYBODY)
            with as_request():
                try:
                    check_body(req.headers, req.get_body, largest)
                    known = _settings(roles)
                    if known is not None:
                        await _admit(req, known)
                    response = await handler(req)
                except Exception as error:  # noqa: BLE001 - as_problem logs what it does not know
                    response = answered(req, as_problem(error))
            return _with_headers(req, response)

        async def _admit(req: func.HttpRequest, known: Settings) -> None:
            caller = await caller_of(req, known, by_key=by_key)
            set_caller(caller)
            if roles is not OPEN:
                admitted(caller, known, roles)
            if limited is not None and ROLE not in caller.roles:
                RATES.take(limited, client_of(req, caller), known)

        return unguarded(name, path, *methods, by_key=by_key, largest=largest)(guarded)

    return register


def unguarded(
    name: str, path: str, *methods: str, by_key: bool = False, largest: int = 0
) -> Callable[[Any], Any]:
    """A function for anybody, which reads nothing: without settings, roles and limits."""
    level = func.AuthLevel.FUNCTION if by_key and IS_PUBLIC else func.AuthLevel.ANONYMOUS
    # The development host refuses a longer body before it reads it.
    bound = {"maxBodyBytes": largest}

    def register(handler: Any) -> Any:
        routed = blueprint.route(
            route=path, methods=methods or ("GET", "HEAD"), auth_level=level, trigger_extra_fields=bound
        )
        return blueprint.function_name(name)(routed(handler))

    return register


def _settings(roles: frozenset[str]) -> Settings | None:
    """None where they are at fault, and the route is open."""
    try:
        return settings()
    except SettingsError:
        if roles is OPEN:
            return None
        raise


def _with_headers(req: func.HttpRequest, response: func.HttpResponse) -> func.HttpResponse:
    """What every answer has: who may keep it, whether search engines may list it, and TLS for later."""
    headers, caller = response.headers, current_caller()
    if caller != ANYBODY and headers.get("Cache-Control", REVALIDATE) == REVALIDATE:
        headers["Cache-Control"] = f"private, {REVALIDATE}"
    if not _is_listed():
        headers["X-Robots-Tag"] = "noindex"
    if is_secure(req):
        headers["Strict-Transport-Security"] = "max-age=31536000"
    return response


def _is_listed() -> bool:
    try:
        return settings().SEARCH_ENGINES
    except SettingsError:
        return False
