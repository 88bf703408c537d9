"""Every minute: how long the queues are, and how many messages were set aside."""

import logging

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.servicebus.administration import queue_counts
from shared.clients.telemetry.metrics import pipeline_metrics
from shared.pipeline.topology import QUEUES

blueprint = func.Blueprint()
log = logging.getLogger(__name__)


@blueprint.function_name("queue_depths")
@blueprint.timer_trigger(arg_name="timer", schedule="30 * * * * *")
async def queue_depths(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the binding's name
    await measure_queues()


async def measure_queues() -> None:
    counts = await queue_counts((await clients()).settings, QUEUES)
    if counts is None:
        log.debug("the app may not ask for the queues' lengths: see docs/telemetry.md")
        return
    metrics = pipeline_metrics()
    for queue, found in counts.items():
        metrics.queue_depth.set(found.active, {"service": queue})
        metrics.dead_letters.set(found.dead_lettered, {"service": queue})
