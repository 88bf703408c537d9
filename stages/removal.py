"""Removal: run a requested deletion of an archive or source until it is done."""

import logging

import azure.functions as func

from shared.azure.connections import Clients
from shared.azure.telemetry.metrics import PipelineSpan
from shared.operations.removal.requests import ask_again
from shared.operations.removal.run import AnotherRunError, run_removal
from shared.pipeline.state.archives import DONE
from shared.pipeline.topology import REMOVAL
from stages.registration import read_request, register_request

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


async def remove(body: bytes, clients: Clients, removing: PipelineSpan) -> None:
    id_ = read_request(body, "removal_id")["removal_id"]
    removing.set_attribute("pipeline.operation_id", id_)
    try:
        done = await run_removal(id_, clients)
    except AnotherRunError as error:
        log.info("%s", error)
        removing.set_attribute("pipeline.outcome", "overtaken")
        return
    removing.set_attribute("pipeline.outcome", done.status)
    if done.status not in DONE:
        await ask_again(clients, done, clients.runtime.now())


register_request(blueprint, REMOVAL, remove)
