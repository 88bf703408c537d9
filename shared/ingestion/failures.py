"""An archive that could not be brought in: recorded, and announced as ArchiveIngestionFailed."""

from dataclasses import dataclass
from datetime import datetime

from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import ClassifiedError
from shared.pipeline.events.builders import archive_ingestion_failed
from shared.pipeline.events.envelope import Event
from shared.pipeline.failures import failure_record
from shared.pipeline.retry.loops import AbandonedError
from shared.pipeline.retry.policies import NON_RETRYABLE
from shared.pipeline.topology import INGESTION


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
    data = archive_ingestion_failed(
        failure,
        source=given.source,
        source_type=given.source_type,
        source_url=given.source_url,
        attempts=attempts,
        started_at=given.started_at,
        now=now,
    )
    event = Event.of(data, now=now)
    record = failure_record(
        INGESTION.name,
        failure,
        event=event,
        message_id=event.message_id,
        reason=reason,
        attempt_count=attempts,
        now=now,
    )
    await clients.store.upsert(record, Session())
    await clients.bus.publish([event])
    return failure
