"""The failure ledger: store a failure record for each *Failed event, in case its stage could not."""

from typing import Any

import azure.functions as func

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.telemetry.metrics import PipelineSpan
from shared.core.errors import ClassifiedError, ErrorKind
from shared.core.ids import failed_event_of
from shared.models.records import FailureRecord
from shared.pipeline.events import Event, parse_event
from shared.pipeline.failures import failure_record
from shared.pipeline.topology import FAILURES, STAGE_OF_FAILURE
from stages.registration import register_request

blueprint = func.Blueprint()


async def keep(body: bytes, clients: Clients, recording: PipelineSpan) -> None:
    recording.set_attribute("pipeline.stage", FAILURES.name)
    event = parse_event(body)
    recording.set_attribute("pipeline.event_id", event.event_id)
    await record_failure(event, clients.store)


async def record_failure(event: Event[Any], store: Store) -> bool:
    """Store the record if it is missing. Return whether it was missing."""
    return await store.create(ledger_record(event), Session())


def ledger_record(event: Event[Any]) -> FailureRecord:
    """Return the record of a *Failed event. The event names no kind of error, so the kind is transient."""
    failure = ClassifiedError(ErrorKind.TRANSIENT, event.data.error_type, event.data.error_message)
    record = failure_record(
        STAGE_OF_FAILURE[event.event_type],
        failure,
        event=event,
        reason="told_by_event",
        attempt_count=event.data.retry_count,
        now=event.timestamp,
    )
    if (id_ := event.data.record_id) is None:
        return record
    key, attempt = failed_event_of(id_)
    return record.model_copy(update={"id": id_, "idempotency_key": key, "attempt": attempt})


register_request(blueprint, FAILURES, keep, name="stage failures")
