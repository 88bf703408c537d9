"""The sweep's timer: RETRY_JOB_INTERVAL_SECONDS says how often.

The schedule is fixed when the app is indexed, so a change of the setting takes a restart, which changing an
app setting brings with it.
"""

import os

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.telemetry.tracing import span
from shared.core.schedule import interval_schedule
from shared.documents.runs import RunStatus
from shared.settings.app import Settings
from shared.upkeep.sweep.run import SweepFailedError, sweep

blueprint = func.Blueprint()
INTERVAL = "RETRY_JOB_INTERVAL_SECONDS"


def schedule() -> str:
    """By the setting; where that is malformed by the default, and who reads the settings complains."""
    given = os.environ.get(INTERVAL, "")
    seconds = int(given) if given.isdecimal() and int(given) else Settings.model_fields[INTERVAL].default
    return interval_schedule(seconds)


@blueprint.function_name("sweep")
@blueprint.timer_trigger(arg_name="timer", schedule=schedule())
async def sweep_timer(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    connected = await clients()
    with span("sweep"):
        done = await sweep(connected)
    if done is not None and done.status is RunStatus.FAILED:
        raise SweepFailedError("; ".join(done.errors))
