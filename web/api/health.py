"""Is the app alive and configured? For probes and for people."""

import azure.functions as func

from shared.settings.app import SettingsError, load_settings
from web.api.ingestion_schemas import Health
from web.api.openapi import documented
from web.problems import answer

blueprint = func.Blueprint()


@blueprint.route(route="api/health", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@documented("GET", "api/health", {200: Health, 503: Health})
def health(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001 - the binding's name
    """200 when the app can work, 503 with what is wrong when its settings do not allow that."""
    try:
        load_settings()
    except SettingsError as error:
        return answer(503, {"status": "misconfigured", "problems": str(error).splitlines()})
    return answer(200, {"status": "ok"})
