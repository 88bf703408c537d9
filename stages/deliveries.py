"""Deliveries: a scheduled message has the reports that are due brought to their webhooks."""

import logging

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.telemetry.metrics import consumer_span
from shared.pipeline.runner import run_request
from shared.pipeline.topology import DELIVERIES
from shared.publishing.webhooks import deliver_and_wake
from stages.registration import CONNECTION, delivery_from_functions

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("deliveries")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=DELIVERIES.name, connection=CONNECTION)
async def deliveries(msg: func.ServiceBusMessage) -> None:
    connected, delivery = await clients(), delivery_from_functions(msg)
    with consumer_span("deliveries", delivery.properties):
        await run_request(DELIVERIES, delivery, connected, lambda: _deliver(connected))


async def _deliver(connected: Clients) -> None:
    delivered = await deliver_and_wake(connected)
    if delivered:
        log.info("%d reports arrived at webhooks", delivered)
