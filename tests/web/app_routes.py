"""The HTTP routes that the app declares. The app's own list can be asked for only once in a process."""

from dataclasses import dataclass

import azure.functions as func

import function_app

__all__ = ["HttpRoute", "http_routes"]


@dataclass(frozen=True)
class HttpRoute:
    function: str
    route: str
    methods: frozenset[str]


def http_routes() -> list[HttpRoute]:
    found = []
    for builder in function_app.app._function_builders:
        function = builder.build(func.AuthLevel.ANONYMOUS)
        trigger = function.get_trigger()
        if isinstance(trigger, func.decorators.http.HttpTrigger):
            methods = frozenset(str(getattr(each, "value", each)) for each in trigger.methods or ())
            found.append(HttpRoute(str(function.get_function_name()), str(trigger.route), methods))
    return found
