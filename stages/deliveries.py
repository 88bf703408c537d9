"""Deliveries: a scheduled message has the reports that are due brought to their webhooks."""

import logging

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.telemetry.tracing import consumer_span
from shared.pipeline.topology import DELIVERIES
from shared.publishing.webhooks.wake_up import deliver_and_wake
from stages.registration import CONNECTION

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("deliveries")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=DELIVERIES.name, connection=CONNECTION)
async def deliveries(msg: func.ServiceBusMessage) -> None:
    connected = await clients()
    with consumer_span("deliveries", msg.application_properties or {}):
        delivered = await deliver_and_wake(connected)
    if delivered:
        log.info("%d reports arrived at webhooks", delivered)
