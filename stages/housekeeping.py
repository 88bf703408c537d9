"""The timer of all periodic work except the sweep."""

import azure.functions as func

from shared.azure.connections import clients
from shared.azure.telemetry.metrics import span
from shared.operations.housekeeping import run_housekeeping

blueprint = func.Blueprint()


@blueprint.function_name("housekeeping")
@blueprint.timer_trigger(arg_name="timer", schedule="30 */5 * * * *")
async def housekeeping(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    connected = await clients()
    with span("housekeeping"):
        await run_housekeeping(connected)
