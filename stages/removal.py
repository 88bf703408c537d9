"""Deletions: a queue's function does what was asked for, run by run until it is done."""

import json
import logging

import azure.functions as func

from shared.clients.classify import classify
from shared.clients.connections import Clients, clients
from shared.clients.telemetry.tracing import consumer_span
from shared.core.errors import InvalidEventError
from shared.pipeline.retry.policies import Abandon, Backoff
from shared.pipeline.tombstones import DONE
from shared.pipeline.topology import REMOVAL
from shared.upkeep.removal.requests import ask_again, ask_later
from shared.upkeep.removal.run import run_removal
from stages.registration import CONNECTION

blueprint = func.Blueprint()
BACKOFF = Backoff(max_retries=40, base_seconds=5.0, cap_seconds=300.0)  # some three hours
log = logging.getLogger(__name__)


@blueprint.function_name("removal")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=REMOVAL.name, connection=CONNECTION)
async def removal(msg: func.ServiceBusMessage) -> None:
    connected, (id_, retries) = await clients(), _request(msg.get_body())
    with consumer_span("removal", msg.application_properties or {}) as removing:
        removing.set_attribute("pipeline.operation_id", id_)
        try:
            done = await run_removal(id_, connected)
        except Exception as error:  # noqa: BLE001 - it is classified there, and raised again where it is for good
            await _run_later(connected, id_, retries, error)
            return
        removing.set_attribute("pipeline.outcome", done.status)
        if done.status not in DONE:
            await ask_again(connected, done, connected.runtime.now())


async def _run_later(connected: Clients, id_: str, retries: int, error: Exception) -> None:
    """A failure that may pass waits in the broker: ten deliveries at once would make a dead letter of it."""
    decision = BACKOFF.decide(classify(error), retries)
    if isinstance(decision, Abandon):
        raise error
    log.warning("the deletion %s failed (%s): again in %.0f s", id_, type(error).__name__, decision.delay)
    await ask_later(connected, id_, retries=retries + 1, seconds=decision.delay)


def _request(body: bytes) -> tuple[str, int]:
    """The id of the removal, and how often it was retried."""
    try:
        request = json.loads(body)
        return str(request["removal_id"]), int(request.get("retries", 0))
    except (ValueError, TypeError, KeyError):
        raise InvalidEventError("removal_id: missing; the message is not a request for a deletion") from None
