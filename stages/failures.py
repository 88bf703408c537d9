"""The failure ledger: every *Failed event ends as a failure record, even where its stage could write none."""

from typing import Any

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.clients.telemetry.tracing import consumer_span
from shared.core.errors import ClassifiedError, ErrorKind
from shared.documents.failures import FailureRecord
from shared.pipeline.events.envelope import Event, parse_event
from shared.pipeline.failures import failure_record
from shared.pipeline.topology import FAILURES, STAGE_OF_FAILURE
from stages.registration import CONNECTION

blueprint = func.Blueprint()


@blueprint.function_name("failures")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name=FAILURES.name, connection=CONNECTION)
async def failures(msg: func.ServiceBusMessage) -> None:
    event, connected = parse_event(msg.get_body()), await clients()
    properties = msg.application_properties or {}
    attributes = {"pipeline.stage": "failures", "pipeline.event_id": event.event_id}
    with consumer_span("stage failures", properties, attributes=attributes):
        await record_failure(event, connected.store)


async def record_failure(event: Event[Any], store: Store) -> bool:
    """Write the record unless the stage has; whether it was missing."""
    return await store.create(ledger_record(event), Session())


def ledger_record(event: Event[Any]) -> FailureRecord:
    """The event does not say of which kind its error was: as a transient one, it has no delivery refused."""
    failure = ClassifiedError(ErrorKind.TRANSIENT, event.data.error_type, event.data.error_message)
    return failure_record(
        STAGE_OF_FAILURE[event.event_type],
        failure,
        event=event,
        reason="told_by_event",
        attempt_count=event.data.retry_count,
        now=event.timestamp,
    )
