"""Ingestion: fetch a source that a user or the housekeeping requested.

A fetch that fails is recorded and announced but not repeated, because the schedule has a next fetch.
"""

import logging

import azure.functions as func

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import PipelineSpan
from shared.ingestion.fetch_runs import run_operation
from shared.pipeline.topology import INGESTION
from stages.registration import read_request, register_request

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


async def fetch(body: bytes, clients: Clients, fetching: PipelineSpan) -> None:
    request = read_request(body, "operation_id")
    fetching.set_attribute("pipeline.operation_id", request["operation_id"])
    done = await run_operation(request["operation_id"], clients, Session(request.get("session")))
    fetching.set_attribute("pipeline.source", done.source)
    fetching.set_attribute("pipeline.outcome", done.status)
    log.info("operation %s of %s %s", done.id, done.source, done.status)


register_request(blueprint, INGESTION, fetch, name="fetch")
