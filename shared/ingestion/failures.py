"""An archive that could not be brought in: recorded, and announced as ArchiveIngestionFailed."""

from dataclasses import dataclass
from datetime import datetime

from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import ClassifiedError
from shared.core.ids import failure_id
from shared.documents.failures import FailureRecord
from shared.pipeline.events.data import ArchiveIngestionFailed
from shared.pipeline.events.envelope import Event
from shared.pipeline.failures import error_hash
from shared.pipeline.retry.loops import AbandonedError
from shared.pipeline.retry.policies import NON_RETRYABLE

__all__ = ["IngestionAttempt", "record_ingestion_failure"]

STAGE = "ingestion"


@dataclass(frozen=True)
class IngestionAttempt:
    """What was to be brought in, and since when."""

    source: str
    source_type: str
    source_url: str
    started_at: datetime


async def record_ingestion_failure(
    error: Exception, given: IngestionAttempt, clients: Clients, *, now: datetime
) -> ClassifiedError:
    """Write the failure record and publish the event; the same failure again changes nothing."""
    abandoned = error if isinstance(error, AbandonedError) else None
    failure = abandoned.failure if abandoned else classify(error)
    attempts = abandoned.attempt_count if abandoned else 1
    reason = abandoned.reason if abandoned else NON_RETRYABLE
    data = ArchiveIngestionFailed(
        source_name=given.source,
        source_type=given.source_type,
        source_url=given.source_url,
        error_message=failure.message,
        error_type=failure.error_type,
        retry_count=attempts,
        ingestion_started_at=given.started_at,
        failed_at=now,
    )
    event = Event.of(data, now=now)
    await clients.store.upsert(_record(event, failure, attempts, reason, now), Session())
    await clients.bus.publish([event])
    return failure


def _record(
    event: Event[ArchiveIngestionFailed], failure: ClassifiedError, attempts: int, reason: str, now: datetime
) -> FailureRecord:
    key = event.idempotency_key(STAGE)
    return FailureRecord(
        id=failure_id(key, event.attempt),
        stage=STAGE,
        original_event=event.model_dump(mode="json"),
        idempotency_key=key,
        attempt=event.attempt,
        attempt_count=attempts,
        last_error=f"{failure.error_type}: {failure.message}",
        error_type=failure.error_type,
        error_kind=failure.kind.value,
        error_hash=error_hash(STAGE, failure),
        abandoned_reason=reason,
        service_name=STAGE,
        timestamp=now,
        created_at=now,
        message_id=event.message_id,
    )
