"""Is the app alive and configured? For probes and for people."""

import json

import azure.functions as func

from shared.settings.app import SettingsError, load_settings
from web.api.ingestion_schemas import Health
from web.api.openapi import documented

blueprint = func.Blueprint()


@blueprint.route(route="api/health", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@documented("GET", "api/health", {200: Health, 503: Health})
def health(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001 - the binding's name
    """200 when the app can work, 503 with what is wrong when its settings do not allow that."""
    try:
        load_settings()
    except SettingsError as error:
        return _answer(503, {"status": "misconfigured", "problems": str(error).splitlines()})
    return _answer(200, {"status": "ok"})


def _answer(status: int, body: dict[str, object]) -> func.HttpResponse:
    return func.HttpResponse(json.dumps(body), status_code=status, mimetype="application/json")
