"""Operators' requests that run in the background."""

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.telemetry.metrics import consumer_span
from shared.pipeline.runner import run_request
from shared.pipeline.topology import OPERATIONS
from shared.upkeep.background import run_requested
from stages.registration import CONNECTION, delivery_from_functions

blueprint = func.Blueprint()


@blueprint.function_name("operations")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=OPERATIONS.name, connection=CONNECTION)
async def operations(msg: func.ServiceBusMessage) -> None:
    connected, delivery = await clients(), delivery_from_functions(msg)
    with consumer_span("operation", delivery.properties):
        await run_request(OPERATIONS, delivery, connected, lambda: run_requested(delivery.body, connected))
