"""Ingestion: fetches the sources that a user or the housekeeping asked for.

A fetch that fails is recorded and announced, and not repeated: the schedule has the next one.
"""

import json
import logging
from typing import Any

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.cosmos.session import Session
from shared.clients.telemetry.metrics import PipelineSpan, consumer_span
from shared.core.errors import InvalidEventError
from shared.ingestion.fetch_runs import run_operation
from shared.pipeline.runner import run_request
from shared.pipeline.topology import INGESTION
from stages.registration import CONNECTION, delivery_from_functions

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("ingestion")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=INGESTION.name, connection=CONNECTION)
async def ingestion(msg: func.ServiceBusMessage) -> None:
    connected, delivery = await clients(), delivery_from_functions(msg)
    with consumer_span("fetch", delivery.properties) as fetching:
        await run_request(INGESTION, delivery, connected, lambda: _fetch(delivery.body, connected, fetching))


async def _fetch(body: bytes, connected: Clients, fetching: PipelineSpan) -> None:
    request = _request(body)
    fetching.set_attribute("pipeline.operation_id", request["operation_id"])
    done = await run_operation(request["operation_id"], connected, Session(request.get("session")))
    fetching.set_attribute("pipeline.source", done.source)
    fetching.set_attribute("pipeline.outcome", done.status)
    log.info("operation %s of %s %s", done.id, done.source, done.status)


def _request(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except ValueError as error:
        raise InvalidEventError(f"the message is not JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("operation_id"), str):
        raise InvalidEventError("operation_id: missing or not a string")
    return request
