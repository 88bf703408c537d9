"""Health of the process and of its dependencies."""

import asyncio
import time
from typing import Any

import azure.functions as func

from shared.azure.connections import clients
from shared.operations.oversight.dependencies import Check, check_dependencies
from shared.settings.app import SettingsError, load_settings
from web.access import OPEN
from web.api.ingestion_schemas import Alive, Health
from web.api.openapi import documented, endpoint
from web.problems import answer
from web.routes import unguarded

FRESH_SECONDS = 2.0
_last: tuple[float, "asyncio.Task[dict[str, Check]]"] | None = None


@unguarded("health_live", "api/health/live")
@documented("GET", "api/health/live", {200: Alive})
def health_live(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001 - the binding's name
    """200 if the process is alive, whatever the state of its dependencies. On failure, restart it."""
    return answer(200, {"status": "alive"})


@endpoint("health", "GET", "api/health", {200: Health, 503: Health}, roles=OPEN)
async def health(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001 - the binding's name
    """200 if the app is ready, else 503 with the state of each dependency."""
    try:
        load_settings()
    except SettingsError as error:
        problems = str(error).splitlines()
        settings = {"ok": False, "seconds": 0.0, "says": "; ".join(problems)}
        return answer(
            503, {"status": "misconfigured", "problems": problems, "dependencies": {"settings": settings}}
        )
    checks = {"settings": Check(ok=True, seconds=0.0), **await _checks()}
    problems = [f"{name}: {check.says}" for name, check in checks.items() if not check.ok]
    body: dict[str, Any] = {
        "status": "unready" if problems else "ok",
        "dependencies": {name: _shown(check) for name, check in checks.items()},
    }
    return answer(503, {**body, "problems": problems}) if problems else answer(200, body)


async def _checks() -> dict[str, Check]:
    """Return recent results, so that frequent requests do not multiply the calls to services."""
    global _last  # noqa: PLW0603 - one for the process, like the connections
    loop = asyncio.get_running_loop()
    if _last is None or time.monotonic() - _last[0] > FRESH_SECONDS or _last[1].get_loop() is not loop:
        _last = (time.monotonic(), asyncio.create_task(check_dependencies(await clients())))
    return await asyncio.shield(_last[1])


def _shown(check: Check) -> dict[str, Any]:
    fields: dict[str, Any] = {"ok": check.ok, "seconds": check.seconds}
    return fields if check.says is None else {**fields, "says": check.says}
