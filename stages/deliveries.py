"""Deliveries: a timer brings published reports to their webhooks."""

import logging

import azure.functions as func

from shared.clients.connections import clients

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("deliveries_due")
@blueprint.timer_trigger(arg_name="timer", schedule="*/15 * * * * *")
async def deliveries_due(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    from shared.publishing.webhooks.delivery import deliver_due  # noqa: PLC0415 - its HTTP client is slow to import

    connected = await clients()
    delivered = await deliver_due(connected, connected.runtime.now())
    if delivered:
        log.info("%d reports arrived at webhooks", delivered)
