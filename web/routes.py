"""Registration of HTTP functions with their roles, rate limits and body sizes.

Every request is checked here before its handler runs. By default a route is for readers.
"""

import functools
import os
from collections.abc import Awaitable, Callable
from typing import Any

import azure.functions as func

from shared.azure.calls import as_request
from shared.settings.app import Settings, SettingsError, settings
from web.access import OPEN, READERS, ROLE, caller_of, check_admitted, client_of, is_secure
from web.caching import REVALIDATE
from web.connected import ANYBODY, current_caller, set_caller
from web.limits import RATES, Limited, check_body
from web.problems import Problem, as_problem

Handler = Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]
Answered = Callable[[func.HttpRequest, Problem], func.HttpResponse]
blueprint = func.Blueprint()
LARGEST_BODY = 64 * 1024
WHOLE_FILES = 100 * 1024 * 1024  # the limit of the host: larger files are sent in parts
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
    """Register a handler for the methods (default: GET and HEAD). Errors become problem responses.

    With `by_key`, the host of a public site requires a function key.
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
                except Exception as error:  # noqa: BLE001 - as_problem logs unexpected errors
                    response = answered(req, as_problem(error))
            return _with_headers(req, response)

        async def _admit(req: func.HttpRequest, known: Settings) -> None:
            caller = await caller_of(req, known, by_key=by_key)
            set_caller(caller)
            if roles is not OPEN:
                check_admitted(caller, known, roles)
            if limited is not None and ROLE not in caller.roles:
                RATES.take(limited, client_of(req, caller), known)

        return unguarded(name, path, *methods, by_key=by_key, largest=largest)(guarded)

    return register


def unguarded(
    name: str, path: str, *methods: str, by_key: bool = False, largest: int = 0
) -> Callable[[Any], Any]:
    """Register a public function without settings, roles and limits."""
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
    try:
        return settings()
    except SettingsError:
        if roles is OPEN:
            return None
        raise


def _with_headers(req: func.HttpRequest, response: func.HttpResponse) -> func.HttpResponse:
    """Add headers for caching, search engines and TLS to the response."""
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
