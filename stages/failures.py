"""The failure ledger: every *Failed event ends as a failure record, even where its stage could write none."""

from typing import Any

import azure.functions as func
from opentelemetry.trace import SpanKind

from shared.clients.connections import clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.clients.telemetry.tracing import span, trace_context_of
from shared.core.errors import ClassifiedError, ErrorKind
from shared.core.ids import failure_id
from shared.documents.failures import FailureRecord
from shared.pipeline.events.envelope import Event, parse_event
from shared.pipeline.failures import error_hash
from stages.registration import CONNECTION

__all__ = ["blueprint", "record_failure"]

blueprint = func.Blueprint()

STAGES = {
    "ArchiveIngestionFailed": "ingestion",
    "ParsingFailed": "parsing",
    "ChunkingFailed": "chunking",
    "EmbeddingGenerationFailed": "embedding",
    "OrchestrationFailed": "orchestration",
    "SummarizationFailed": "summarization",
    "ReportDeliveryFailed": "reporting",
}


@blueprint.function_name("failures")
@blueprint.service_bus_queue_trigger(arg_name="msg", queue_name="failures", connection=CONNECTION)
async def failures(msg: func.ServiceBusMessage) -> None:
    event, connected = parse_event(msg.get_body()), await clients()
    properties = msg.application_properties or {}
    attributes = {"pipeline.stage": "failures", "pipeline.event_id": event.event_id}
    with span(
        "stage failures", parent=trace_context_of(properties), kind=SpanKind.CONSUMER, attributes=attributes
    ):
        await record_failure(event, connected.store)


async def record_failure(event: Event[Any], store: Store) -> bool:
    """Write the record unless the stage has; whether it was missing."""
    return await store.create(_record(event), Session())


def _record(event: Event[Any]) -> FailureRecord:
    stage, data = STAGES[event.event_type], event.data
    key = event.idempotency_key(stage)
    failure = ClassifiedError(ErrorKind.TRANSIENT, data.error_type, data.error_message)
    return FailureRecord(
        id=failure_id(key, event.attempt),
        stage=stage,
        original_event=event.model_dump(mode="json"),
        idempotency_key=key,
        attempt=event.attempt,
        attempt_count=data.retry_count,
        last_error=f"{data.error_type}: {data.error_message}",
        error_type=data.error_type,
        error_kind=failure.kind.value,
        error_hash=error_hash(stage, failure),
        abandoned_reason="told_by_event",
        service_name=stage,
        timestamp=event.timestamp,
        created_at=event.timestamp,
    )
