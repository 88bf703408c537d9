"""The consistency checks' timer: once a night, with repair unless INTEGRITY_REPAIR says no."""

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.telemetry.tracing import span
from shared.upkeep.integrity.run import IntegrityError, VerifyOptions, verify

blueprint = func.Blueprint()


@blueprint.function_name("integrity")
@blueprint.timer_trigger(arg_name="timer", schedule="0 17 3 * * *")
async def integrity(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    connected = await clients()
    with span("integrity"):
        done = await verify(connected, VerifyOptions(repair=connected.settings.INTEGRITY_REPAIR))
    if done.errors:
        raise IntegrityError("; ".join(done.errors))
