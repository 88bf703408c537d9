"""Every minute: how long the queues are, how many messages were set aside, and that they have a consumer."""

import logging

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.servicebus.administration import queue_counts
from shared.clients.telemetry.metrics import pipeline_metrics
from shared.pipeline.topology import QUEUES
from shared.upkeep.oversight.consumers import enabled_queues, say_consumers

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("queue_depths")
@blueprint.timer_trigger(arg_name="timer", schedule="30 * * * * *")
async def queue_depths(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    connected = await clients()
    await measure_queues(connected)
    await say_consumers(connected, enabled_queues())


async def measure_queues(connected: Clients) -> None:
    counts = await queue_counts(connected.settings, QUEUES, connected.calls("servicebus"))
    if counts is None:
        log.debug("the app may not ask for the queues' lengths: see docs/telemetry.md")
        return
    metrics = pipeline_metrics()
    for queue, found in counts.items():
        metrics.queue_depth.set(found.active, {"service": queue})
        metrics.dead_letters.set(found.dead_lettered, {"service": queue})
