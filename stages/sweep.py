"""The timer of the sweep. Its interval is the value of RETRY_JOB_INTERVAL_SECONDS when the app starts."""

import logging
import os

import azure.functions as func

from shared.azure.classify import SDK_ERRORS
from shared.azure.connections import Clients, clients
from shared.azure.telemetry.metrics import span
from shared.core.schedule import interval_schedule
from shared.models.records import RunStatus
from shared.operations.audit import Operator
from shared.operations.deadletters.operations import resolve_satisfied
from shared.operations.sweep import SweepFailedError, sweep
from shared.settings.app import Settings

blueprint = func.Blueprint()
log = logging.getLogger(__name__)
INTERVAL = "RETRY_JOB_INTERVAL_SECONDS"


def schedule() -> str:
    """Return the timer's schedule. A malformed setting gives its default: the settings check reports it."""
    given = os.environ.get(INTERVAL, "")
    seconds = int(given) if given.isdecimal() and int(given) else Settings.model_fields[INTERVAL].default
    return interval_schedule(seconds)


@blueprint.function_name("sweep")
@blueprint.timer_trigger(arg_name="timer", schedule=schedule())
async def sweep_timer(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    connected = await clients()
    with span("sweep"):
        done = await sweep(connected)
        await _resolve_dead_letters(connected)
    if done is not None and done.status is RunStatus.FAILED:
        raise SweepFailedError("; ".join(done.errors))


async def _resolve_dead_letters(connected: Clients) -> None:
    """Resolve the dead letters whose work the sweep has done, so that they raise no alert."""
    try:
        audit = await resolve_satisfied(connected, Operator("sweep", "timer"))
    except SDK_ERRORS:
        log.exception("could not resolve the dead letters whose work is done: the next run tries again")
        return
    if audit is not None:
        log.info("resolved the dead letters whose work is done: %s (operation %s)", audit.counts, audit.id)
