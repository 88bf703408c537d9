"""Operators' requests that run in the background."""

import azure.functions as func
from opentelemetry.trace import SpanKind

from shared.clients.connections import clients
from shared.clients.telemetry.tracing import span, trace_context_of
from shared.pipeline.topology import OPERATIONS
from shared.upkeep.deadletters.background import run_requested
from stages.registration import CONNECTION

__all__ = ["blueprint"]

blueprint = func.Blueprint()


@blueprint.function_name("operations")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=OPERATIONS.name, connection=CONNECTION)
async def operations(msg: func.ServiceBusMessage) -> None:
    connected, parent = await clients(), trace_context_of(msg.application_properties or {})
    with span("operation", parent=parent, kind=SpanKind.CONSUMER):
        await run_requested(msg.get_body(), connected)
