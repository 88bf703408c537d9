"""Deletions: a queue's function does what was asked for, run by run until it is done."""

import json
import logging

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.telemetry.metrics import PipelineSpan, consumer_span
from shared.core.errors import InvalidEventError
from shared.pipeline.lifecycle.archives import DONE
from shared.pipeline.runner import run_request
from shared.pipeline.topology import REMOVAL
from shared.upkeep.removal.requests import ask_again
from shared.upkeep.removal.run import AnotherRunError, run_removal
from stages.registration import CONNECTION, delivery_from_functions

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("removal")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=REMOVAL.name, connection=CONNECTION)
async def removal(msg: func.ServiceBusMessage) -> None:
    connected, delivery = await clients(), delivery_from_functions(msg)
    with consumer_span("removal", delivery.properties) as removing:
        await run_request(REMOVAL, delivery, connected, lambda: _remove(delivery.body, connected, removing))


async def _remove(body: bytes, connected: Clients, removing: PipelineSpan) -> None:
    try:
        id_ = str(json.loads(body)["removal_id"])
    except (ValueError, TypeError, KeyError):
        raise InvalidEventError("removal_id: missing; the message is not a request for a deletion") from None
    removing.set_attribute("pipeline.operation_id", id_)
    try:
        done = await run_removal(id_, connected)
    except AnotherRunError as error:
        log.info("%s", error)
        removing.set_attribute("pipeline.outcome", "overtaken")
        return
    removing.set_attribute("pipeline.outcome", done.status)
    if done.status not in DONE:
        await ask_again(connected, done, connected.runtime.now())
