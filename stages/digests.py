"""Digests: a timer makes those whose threads have news."""

import logging

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.telemetry.tracing import span
from shared.summarization.digests.refreshing import refresh_due

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("digests_due")
@blueprint.timer_trigger(arg_name="timer", schedule="30 */5 * * * *")
async def digests_due(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    """Every five minutes, so that a thousand threads of one week make one digest and not a thousand."""
    connected = await clients()
    with span("digests due"):
        made = await refresh_due(connected, connected.runtime.now())
    if made:
        log.info("%d digests were touched and made again", len(made))
