"""The housekeeping's timer: all that has to be done from time to time, except the sweep."""

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.telemetry.metrics import span
from shared.upkeep.housekeeping import keep_house

blueprint = func.Blueprint()


@blueprint.function_name("housekeeping")
@blueprint.timer_trigger(arg_name="timer", schedule="30 */5 * * * *")
async def housekeeping(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    connected = await clients()
    with span("housekeeping"):
        await keep_house(connected)
