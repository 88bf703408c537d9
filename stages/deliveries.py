"""Deliveries: send the reports that are due to their webhooks. A scheduled message triggers it."""

import logging

import azure.functions as func

from shared.azure.connections import Clients
from shared.azure.telemetry.metrics import PipelineSpan
from shared.pipeline.topology import DELIVERIES
from shared.publishing.webhooks import deliver_and_wake
from stages.registration import register_request

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


async def deliver(_body: bytes, clients: Clients, _delivering: PipelineSpan) -> None:
    delivered = await deliver_and_wake(clients)
    if delivered:
        log.info("%d reports arrived at webhooks", delivered)


register_request(blueprint, DELIVERIES, deliver)
