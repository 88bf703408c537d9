"""The settlement of a delivery (completed, dead-lettered or abandoned), and the record of its failure."""

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest
from azure.servicebus import ServiceBusMessage
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import Metrics
from shared.core.errors import DocumentNotFoundError, PermanentError, TransientError
from shared.core.ids import invalid_key
from shared.core.runtime import Runtime
from shared.models.base import Document
from shared.models.records import FailureRecord
from shared.models.threads import Message
from shared.pipeline.delivery import Delivery, RaiseToAbandon, Settlement
from shared.pipeline.event_types import ChunksPrepared, JSONParsed, SummaryRecheck
from shared.pipeline.events import Event
from shared.pipeline.runner import StageFailedError, StageRunner
from shared.pipeline.stage import ScheduledEvent, Stage, StageContext, StageResult
from shared.pipeline.topology import CHUNKING
from tests.support.cosmos_engine import clients_on_engine, stored_fields
from tests.support.documents import CREATED, new_message
from tests.support.outbox import Outbox, Sent

NOW = "2026-01-02T03:04:05.000000Z"
PARSED = JSONParsed(
    archive_id="a1", message_count=1, message_keys=["m1"], thread_count=1, thread_ids=["t1"],
    parsing_duration_seconds=0.1, message_threads=["t1"],
)  # fmt: skip
PREPARED = ChunksPrepared(
    message_keys=["m1"], chunk_count=1, chunk_ids=["c1"], chunks_ready=True, chunking_strategy="toy",
    avg_chunk_size_tokens=1.0, chunk_threads=["t1"],
)  # fmt: skip
KEY = "chunking-m1"


@dataclass
class SettledByStage:
    """The preview extension's actions: the stage settles, and the calls are recorded."""

    journal: list[str]
    dead: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def complete(self) -> None:
        self.journal.append("completed")

    async def dead_letter(self, reason: str, description: str) -> bool:
        self.journal.append("dead-lettered")
        self.dead.append((reason, json.loads(description)))
        return True


@dataclass
class Bench:
    clients: Clients
    outbox: Outbox
    reader: InMemoryMetricReader
    metrics: Metrics
    settlement: SettledByStage
    stage: dict[str, Any] = field(default_factory=dict)
    seen: list[StageContext] = field(default_factory=list)
    result: Callable[[], StageResult] = StageResult

    async def work(self, _event: Event[JSONParsed], context: StageContext) -> StageResult:
        self.seen.append(context)
        self.outbox.journal.append("worked")
        return self.result()

    async def deliver(
        self, *, attempt: int = 1, session: dict[str, str] | None = None, **fields: Any
    ) -> None:
        body = Event.of(PARSED, now=CREATED, attempt=attempt, session=session).to_json()
        values = {"body": body, "message_id": "id1", "settlement": self.settlement, **fields}
        await self._run(Delivery(**values))

    async def deliver_retry(self, **fields: Any) -> None:
        """Deliver the retry that waits in the broker."""
        waiting = self.outbox.sent.pop()
        assert (waiting.entity, self.outbox.journal.pop()) == ("chunking", "completed")
        assert waiting.message is not None
        assert waiting.at is not None
        body, properties = b"".join(cast("Any", waiting.message.body)), waiting.message.application_properties
        values = {"body": body, "message_id": waiting.message.message_id, "settlement": self.settlement}
        assert self.outbox.journal.pop() == "JSONParsed"
        await self._run(Delivery(**{**values, "properties": properties, **fields}))

    async def _run(self, delivery: Delivery) -> None:
        stage = Stage(CHUNKING, self.work, lambda _: ["m1"], **self.stage)
        await StageRunner(stage, self.clients, metrics=self.metrics).run(delivery)

    async def fields(self, document: Document) -> dict[str, Any]:
        return await stored_fields(self.clients.store, document)

    async def record(self, key: str = KEY, attempt: int = 1) -> FailureRecord | None:
        return await self.clients.store.find(
            FailureRecord, f"{key}-{attempt}", Session(), partition="chunking"
        )

    def counted(self, metric: str) -> list[tuple[dict[str, Any], Any]]:
        """Return the labels and values of the metric."""
        data = self.reader.get_metrics_data()
        return [
            (dict(point.attributes or {}), getattr(point, "value", None))
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            for instrument in scope.metrics
            if instrument.name == metric
            for point in instrument.data.data_points
        ]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async def sleep(_seconds: float) -> None:
        """Record the sleep without waiting."""

    outbox, reader = Outbox(), InMemoryMetricReader()
    metrics = Metrics.on(MeterProvider([reader]).get_meter("test"))
    runtime = Runtime(now=lambda: CREATED, monotonic=lambda: 0.0, sleep=sleep)
    async with clients_on_engine(outbox.bus(), runtime) as clients:
        await clients.store.upsert(new_message(), Session())
        yield Bench(clients, outbox, reader, metrics, SettledByStage(outbox.journal))


def failing(error: Exception) -> Callable[[], StageResult]:
    def fail() -> StageResult:
        raise error

    return fail


async def test_a_delivery_is_completed_after_all_is_announced_and_marked(bench: Bench) -> None:
    async def mark() -> None:
        bench.outbox.journal.append("marked")

    bench.result = lambda: StageResult([PREPARED], after_announcing=mark)
    await bench.deliver()
    assert bench.outbox.journal == ["worked", "ChunksPrepared", "marked", "completed"]
    assert await bench.record() is None
    assert bench.counted("events_processed_total") == [
        ({"service": "chunking", "event_type": "JSONParsed"}, 1)
    ]


async def test_what_is_announced_carries_the_sessions_tokens(bench: Bench) -> None:
    bench.result = lambda: StageResult([PREPARED])
    await bench.deliver(session={"messages": "0:-1#1"})
    (sent,) = bench.outbox.sent
    assert (sent.entity, sent.event.data, sent.event.timestamp) == ("topic", PREPARED, CREATED)
    assert sent.event.session.keys() == {"messages"}


async def test_an_event_for_later_goes_to_the_stages_own_queue(bench: Bench) -> None:
    recheck = SummaryRecheck(thread_ids=["t1"], versions=["v"], claimed_by="e1")
    bench.result = lambda: StageResult(scheduled=[ScheduledEvent(90, recheck)])
    await bench.deliver(session={"messages": "0:-1#1"})
    (sent,) = bench.outbox.sent
    assert sent == Sent("chunking", sent.event, CREATED + timedelta(seconds=90))
    assert (sent.event.data, set(sent.event.session)) == (recheck, {"messages"})


async def test_the_work_gets_the_events_attempt_and_session(bench: Bench) -> None:
    await bench.deliver(attempt=3, session={"messages": "0:-1#1"})
    (work,) = bench.seen
    assert (work.attempt, set(work.session.tokens()), work.now()) == (3, {"messages"}, CREATED)
    assert work.clients is bench.clients


@pytest.mark.requirement("R-722")
async def test_an_attempt_is_counted_before_the_work(bench: Bench) -> None:
    bench.result = failing(Crash())  # type: ignore[arg-type]
    with pytest.raises(Crash):
        await bench.deliver(attempt=3)
    fields = await bench.fields(new_message())
    assert (fields["attemptCount"], fields["lastAttemptTime"]) == (3, NOW)


class Crash(BaseException):
    """The process ends."""


async def test_the_host_completes_by_the_functions_return(bench: Bench) -> None:
    await bench.deliver(settlement=RaiseToAbandon())
    assert bench.outbox.journal == ["worked"]


@pytest.mark.parametrize(
    ("error", "works", "attempts", "reason"),
    [
        (PermanentError("no"), 1, 1, "PermanentError: non_retryable_error"),
        (TypeError("no"), 1, 1, "TypeError: non_retryable_error"),
        (DocumentNotFoundError("no"), 9, 9, "DocumentNotFoundError: max_attempts_exceeded"),
    ],
)
async def test_what_no_redelivery_can_help_is_dead_lettered_at_once(
    bench: Bench, error: Exception, works: int, attempts: int, reason: str
) -> None:
    bench.result = failing(error)
    await bench.deliver()
    for _ in range(works - 1):
        await bench.deliver_retry()
    kind, _, abandoned = reason.partition(": ")
    description = {
        "idempotency_key": KEY,
        "attempt_count": attempts,
        "last_error": f"{kind}: no",
        "error_type": kind,
        "abandoned_reason": abandoned,
        "service_name": "chunking",
        "timestamp": CREATED.isoformat(),
    }
    assert bench.settlement.dead == [(reason, description)]
    assert bench.outbox.journal == [*["worked"] * works, "ChunkingFailed", "dead-lettered"]
    assert bench.counted("failures_total") == [({"service": "chunking", "error_type": kind}, 1)]


async def test_a_long_error_is_cut_in_the_dead_letters_description(bench: Bench) -> None:
    bench.result = failing(PermanentError("x" * 2000))
    await bench.deliver()
    assert bench.settlement.dead[0][1]["last_error"] == f"PermanentError: {'x' * 1000}"[:1000]


async def test_a_failure_that_may_pass_waits_in_the_broker_and_counts_on(bench: Bench) -> None:
    bench.result = failing(TransientError("busy"))
    await bench.deliver()
    (sent,) = bench.outbox.sent
    assert (sent.entity, sent.at) == ("chunking", CREATED + timedelta(seconds=5))
    assert bench.outbox.journal == ["worked", "JSONParsed", "completed"]
    assert await bench.record() is None
    assert bench.counted("failures_total") == []
    bench.result = StageResult
    await bench.deliver_retry()
    assert bench.outbox.journal == ["worked", "worked", "completed"]


async def test_where_the_broker_takes_no_copy_the_stage_waits_itself(bench: Bench) -> None:
    bench.result = failing(TransientError("busy"))
    bench.outbox.is_down = True
    with pytest.raises(StageFailedError, match="max_attempts_exceeded"):
        await bench.deliver(settlement=RaiseToAbandon())
    assert bench.outbox.journal == ["worked"] * 4


async def test_a_lasting_transient_failure_is_set_aside_when_its_retries_are_used_up(bench: Bench) -> None:
    bench.result = failing(TransientError("busy"))
    await bench.deliver()
    for _ in range(3):
        await bench.deliver_retry()
    assert bench.outbox.journal == [*["worked"] * 4, "ChunkingFailed", "dead-lettered"]
    assert bench.settlement.dead[0][0] == "TransientError: max_attempts_exceeded"


async def test_a_failure_is_recorded_kept_on_its_documents_and_announced(bench: Bench) -> None:
    bench.result = failing(PermanentError("no"))
    session = {"messages": "0:-1#1"}
    await bench.deliver(attempt=2, delivery_count=5, session=session)
    record = await bench.record(attempt=2)
    assert record is not None
    assert (record.attempt, record.attempt_count, record.delivery_count) == (2, 1, 5)
    assert (record.message_id, record.abandoned_reason) == ("id1", "non_retryable_error")
    assert (record.error_kind, record.last_error) == ("permanent", "PermanentError: no")
    assert (record.timestamp, record.original_event["attempt"]) == (CREATED, 2)  # type: ignore[index]
    fields = await bench.fields(new_message())
    assert (fields["attemptCount"], fields["lastAttemptTime"]) == (2, NOW)
    assert (fields["lastError"], fields["status"]) == ("PermanentError: no", "pending")
    (sent,) = bench.outbox.sent
    assert (sent.entity, sent.event.event_type, sent.event.attempt) == ("topic", "ChunkingFailed", 2)
    assert sent.event.timestamp == CREATED
    assert sent.event.session.keys() == {"messages"}
    assert sent.event.data.model_dump()["error_type"] == "PermanentError"


async def test_the_failed_event_says_how_often_it_was_tried(bench: Bench) -> None:
    bench.result = failing(TransientError("busy"))
    await bench.deliver()
    for _ in range(3):
        await bench.deliver_retry()
    (sent,) = bench.outbox.sent
    assert sent.event.data.model_dump()["retry_count"] == 4


async def test_a_failure_for_good_is_the_documents_state_where_the_stage_says_so(bench: Bench) -> None:
    bench.stage = {"failed_status": "failed_max_retries"}
    bench.result = failing(PermanentError("no"))
    await bench.deliver()
    assert (await bench.fields(new_message()))["status"] == "failed_max_retries"


OTHERS_EVENT = Event.of(PREPARED, now=CREATED).to_json()


@pytest.mark.parametrize("body", [b"not json", OTHERS_EVENT])
async def test_what_is_no_event_of_this_stage_is_recorded_and_dead_lettered(
    bench: Bench, body: bytes
) -> None:
    await bench.deliver(body=body)
    assert bench.outbox.journal == ["dead-lettered"]
    ((reason, description),) = bench.settlement.dead
    assert reason == "InvalidEventError: non_retryable_error"
    assert description["attempt_count"] == 1
    assert description["idempotency_key"] == invalid_key("chunking", body)
    record = await bench.record(invalid_key("chunking", body))
    assert record is not None
    assert (record.error_type, record.attempt_count) == ("InvalidEventError", 1)


async def test_a_failure_that_cannot_be_announced_is_counted_and_hides_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.result = failing(PermanentError("no"))
    bench.outbox.is_down = True
    await bench.deliver()
    assert bench.outbox.journal == ["worked", "dead-lettered"]
    assert await bench.record() is not None
    assert "chunking could not store the ChunkingFailed" in caplog.text
    reporting = ({"service": "chunking", "error_type": "ReportingError"}, 1)
    assert reporting in bench.counted("failures_total")


async def given_up(bench: Bench, **fields: Any) -> ServiceBusMessage:
    """Deliver the copy that a failure leaves in the queue if only the broker can dead-letter the message."""
    bench.result = failing(PermanentError("no"))
    await bench.deliver(settlement=RaiseToAbandon(), **fields)
    (copy,) = [sent for sent in bench.outbox.sent if sent.entity == "chunking"]
    bench.outbox.journal.clear()
    bench.result = StageResult
    assert copy.message is not None
    return copy.message


async def test_where_only_the_broker_can_set_it_aside_a_copy_names_the_cause(bench: Bench) -> None:
    copy = await given_up(bench, properties={"mine": 1, "DeadLetterReason": "an earlier one"})
    assert {str(name): value for name, value in (copy.application_properties or {}).items()} == {
        "mine": 1,
        "failure_idempotency_key": KEY,
        "failure_attempt_count": 1,
        "failure_last_error": "PermanentError: no",
        "failure_error_type": "PermanentError",
        "failure_abandoned_reason": "non_retryable_error",
        "failure_service_name": "chunking",
        "failure_timestamp": CREATED.isoformat(),
    }
    assert await bench.record() is not None


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ({}, True),
        ({"attempt": 2, "retry_chain": "x"}, True),
        ({"DeadLetterReason": "MaxDeliveryCountExceeded"}, False),  # an operator resent it
    ],
)
async def test_the_copy_is_refused_without_work_or_words_until_the_broker_sets_it_aside(
    bench: Bench, caplog: pytest.LogCaptureFixture, more: dict[str, Any], refused: bool
) -> None:
    copy = await given_up(bench)
    caplog.clear()
    properties = {str(name): value for name, value in (copy.application_properties or {}).items()}
    for count in range(1, 11) if refused else (1,):
        delivery = bench.deliver(
            properties={**properties, **more}, delivery_count=count, settlement=RaiseToAbandon()
        )
        if not refused:
            await delivery
            break
        with pytest.raises(StageFailedError, match=r"^PermanentError: non_retryable_error$"):
            await delivery
    assert bench.outbox.journal == ([] if refused else ["worked"])
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert (await bench.record() or FailureRecord).delivery_count == 1


@pytest.mark.parametrize("message_id", [None, "new"])
async def test_what_any_tool_sends_again_from_the_dead_letters_starts_its_retries_again(
    bench: Bench, message_id: str | None
) -> None:
    bench.result = failing(TransientError("busy"))
    await bench.deliver()
    await bench.deliver_retry()
    await bench.deliver_retry()
    await bench.deliver_retry(settlement=RaiseToAbandon())
    (letter,) = [sent.message for sent in bench.outbox.sent if sent.entity == "chunking"]
    assert letter is not None
    kept = {str(name): value for name, value in (letter.application_properties or {}).items()}
    properties = {**kept, "DeadLetterReason": "Expired"}
    bench.outbox.sent.clear()
    bench.outbox.journal.clear()
    await bench.deliver(message_id=message_id or letter.message_id, properties=properties)
    assert bench.outbox.journal == ["worked", "JSONParsed", "completed"]
    (again,) = [sent.message for sent in bench.outbox.sent]
    assert again is not None
    told = {str(name): value for name, value in (again.application_properties or {}).items()}
    assert told["retry"] == 1
    assert not [name for name in told if name.lower().startswith(("deadletter", "failure_"))]


async def test_what_could_not_be_set_aside_stays_with_the_broker(bench: Bench) -> None:
    bench.result, bench.outbox.is_down = failing(PermanentError("no")), True
    with pytest.raises(StageFailedError, match=r"^PermanentError: non_retryable_error$") as raised:
        await bench.deliver(settlement=RaiseToAbandon())
    assert type(raised.value.__cause__).__name__ == "GaveUpError"


def test_a_delivery_has_defaults_of_a_first_one_that_the_host_settles() -> None:
    delivery = Delivery(b"")
    assert (delivery.delivery_count, delivery.message_id, delivery.enqueued_at) == (1, None, None)
    assert delivery.properties == {}
    assert isinstance(delivery.settlement, RaiseToAbandon)


async def test_the_host_can_not_dead_letter() -> None:
    settle: Settlement = RaiseToAbandon()
    refusal: Awaitable[bool] = settle.dead_letter("reason", "description")
    assert await refusal is False


async def test_a_document_of_another_partition_is_not_touched(bench: Bench) -> None:
    await bench.clients.store.upsert(new_message("m2"), Session())
    bench.result = failing(PermanentError("no"))
    await bench.deliver()
    other = await bench.clients.store.read(Message, "m2", Session())
    assert other.lastError is None
