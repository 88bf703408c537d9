"""The failure ledger names the failed event, not the event that reports the failure."""

from datetime import UTC, datetime

from shared.core.errors import ClassifiedError, ErrorKind
from shared.pipeline.event_types import ChunksPrepared, EmbeddingGenerationFailed
from shared.pipeline.events import Event
from shared.pipeline.failures import failure_record
from stages.failures import ledger_record
from tests.pipeline.events.test_golden import SAMPLE

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FAILURE = ClassifiedError(ErrorKind.TRANSIENT, "ServiceSilentError", "Cosmos DB did not answer")


def test_a_record_told_by_event_is_found_by_the_key_and_attempt_of_the_event_that_failed() -> None:
    failed = Event.of(SAMPLE[ChunksPrepared.__name__], attempt=3, now=NOW)
    written = failure_record(
        "embedding", FAILURE, event=failed, reason="max_attempts_exceeded", attempt_count=8, now=NOW
    )
    sample = SAMPLE[EmbeddingGenerationFailed.__name__]
    told = Event.of(sample.model_copy(update={"record_id": written.id}), now=NOW)
    kept = ledger_record(told)
    assert told.idempotency_key("embedding") != failed.idempotency_key("embedding")
    assert (kept.id, kept.stage) == (written.id, written.stage)
    assert (kept.idempotency_key, kept.attempt) == (written.idempotency_key, written.attempt)
