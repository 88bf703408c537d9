"""The functions of the API and the pages, each registered by its name and route."""

from collections.abc import Awaitable, Callable
from typing import Any

import azure.functions as func

Handler = Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]
blueprint = func.Blueprint()


def route(
    name: str, path: str, *methods: str, level: func.AuthLevel = func.AuthLevel.ANONYMOUS
) -> Callable[[Any], Any]:
    """Without methods: GET and HEAD."""

    def register(handler: Any) -> Any:
        routed = blueprint.route(route=path, methods=methods or ("GET", "HEAD"), auth_level=level)
        return blueprint.function_name(name)(routed(handler))

    return register
