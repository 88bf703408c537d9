"""The HTTP routes that the app declares."""

from dataclasses import dataclass

import azure.functions as func

from tests.support.functions import app_functions

__all__ = ["HttpRoute", "http_routes"]


@dataclass(frozen=True)
class HttpRoute:
    function: str
    route: str
    methods: frozenset[str]


def http_routes() -> list[HttpRoute]:
    found = []
    for function in app_functions():
        trigger = function.get_trigger()
        if isinstance(trigger, func.decorators.http.HttpTrigger):
            methods = frozenset(str(getattr(method, "value", method)) for method in trigger.methods or ())
            found.append(HttpRoute(str(function.get_function_name()), str(trigger.route), methods))
    return found
