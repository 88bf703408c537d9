"""The runner: everything that happens around the handler of a queue or stage.

    claim the retry -> count the attempt -> handle -> publish -> mark done -> complete

After a transient failure, the broker delivers a copy of the message after a delay, and the copy continues the
count. Any other failure is recorded and announced as *Failed, and the message becomes a dead letter.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Generic, TypeVar

from shared.azure.classify import SDK_ERRORS
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.azure.servicebus.dead_letters import (
    DEAD_LETTER_PREFIX,
    FAILURE_PREFIX,
    was_dead_letter,
    without_earlier,
)
from shared.azure.telemetry.metrics import (
    Metrics,
    PipelineSpan,
    consumer_span,
    mark_failed,
    pipeline_metrics,
    set_ids,
)
from shared.core.errors import (
    ClassifiedError,
    ConflictError,
    ErrorKind,
    InvalidEventError,
    NewerVersionError,
    PipelineError,
)
from shared.core.runtime import Runtime
from shared.models.records import FailureRecord
from shared.pipeline.bare_events import fill_in
from shared.pipeline.delivery import Delivery
from shared.pipeline.event_builders import failed_event
from shared.pipeline.event_types import EventData
from shared.pipeline.events import Event, parse_event, split_to_fit
from shared.pipeline.failures import failure_record
from shared.pipeline.retry import (
    MAX_ATTEMPTS_EXCEEDED,
    REQUESTS,
    GaveUpError,
    Retry,
    RetryPolicy,
)
from shared.pipeline.stage import Stage, StageContext, StageResult
from shared.pipeline.state.attempts import count_attempt, record_failed_attempt
from shared.pipeline.topology import QueueRow

log = logging.getLogger(__name__)
Data = TypeVar("Data", bound=EventData)
Result = TypeVar("Result")
MAX_CONFLICTS = 3  # attempts that are repeated at once in one delivery
MAX_LOCAL_WAIT_SECONDS = 60.0  # if the broker does not accept a copy
MAX_LOCAL_WAITS = 3  # in an outage. Then the broker delivers the message again.
MAX_ERROR_LENGTH = 1000
FAILURE_TIMESTAMP = f"{FAILURE_PREFIX}timestamp"


class StageFailedError(PipelineError):
    """The stage gave up. The broker redelivers the message and finally makes it a dead letter."""


class QueueRunner:
    """Retry the work on a message, or give up. The work may be of any kind."""

    def __init__(
        self,
        row: QueueRow,
        clients: Clients,
        policy: RetryPolicy,
        runtime: Runtime | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._row = row
        self._clients = clients
        self._policy = policy
        self._runtime = runtime or clients.runtime
        self._metrics = metrics or pipeline_metrics()
        self._labels = {"service": row.name}

    async def handle_event_with_retry(
        self, delivery: Delivery, work: Callable[[Retry], Awaitable[Result]], key: str
    ) -> Result | None:
        """Return the result of the work, or None if a copy of the message waits or was handled first."""
        retry, waited = Retry.of(delivery, self._runtime.now()), 0
        while True:
            try:
                if not await retry.claim(self._clients, delivery):
                    log.info("%s: another copy of %s came first", self._row.name, key)
                    self._metrics.duplicates.add(1, {**self._labels, "kind": "event"})
                    await delivery.settlement.complete()
                    return None
                result = await work(retry)
            except Exception as error:
                retry, failure, delay = retry.after(error, self._policy, self._runtime)
                self._log_retry(key, retry, failure, delay)
                if await self._schedule_copy(delivery, retry, delay):
                    return None
                waited += 1
                if failure.is_outage and waited >= MAX_LOCAL_WAITS:
                    raise StageFailedError(f"{failure.error_type}: the broker accepts no copy") from error
            else:
                if retry.number:
                    self._log_success(key, retry)
                return result

    async def _schedule_copy(self, delivery: Delivery, retry: Retry, delay: float) -> bool:
        """Schedule a copy and complete the message. If the broker accepts no copy, wait and return False."""
        try:
            await retry.schedule(self._clients, self._row.name, delivery, delay)
        except (*SDK_ERRORS, OSError):
            log.exception("%s could not schedule a retry and waits in the process", self._row.name)
            await self._runtime.sleep(min(delay, MAX_LOCAL_WAIT_SECONDS))
            return False
        await delivery.settlement.complete()
        return True

    def _log_retry(self, key: str, retry: Retry, failure: ClassifiedError, delay: float) -> None:
        """Count and log a retry. A race is normal until it is near a limit. Other failures are warnings."""
        race = self._policy.race
        if retry.number == 1:  # once for each event: the metric is the share of events with a retry
            self._metrics.events_retried.add(1, {**self._labels, "error_type": failure.error_type})
        if failure.kind is not ErrorKind.RACE or race is None:
            log.warning(
                "%s failed (attempt %d): %s; retrying in %.1f seconds",
                key, retry.number, failure.for_logs, delay,
            )  # fmt: skip
            return
        log.info(
            "Retry attempt %d/%d for event with idempotency key: %s (in %.3f s)",
            retry.races, race.max_retries, key, delay,
        )  # fmt: skip
        if limit := race.near_limit(retry.races, retry.age(self._runtime)):
            log.warning("Event %s is at %s", key, limit)

    def _log_success(self, key: str, retry: Retry) -> None:
        seconds = retry.age(self._runtime)
        log.info(
            "Event %s processed successfully after %d retry attempts (total latency: %.2fs)",
            key, retry.number, seconds,
        )  # fmt: skip
        if retry.races:
            self._metrics.retry_success.add(1, {**self._labels, "attempt": str(retry.races)})
            self._metrics.retry_latency.record(seconds, self._labels)
            self._metrics.retry_attempts.record(retry.races, self._labels)

    async def give_up(self, delivery: Delivery, event: Event[Any] | None, error: GaveUpError) -> None:
        failure = error.failure
        mark_failed(failure.error_type)
        log.error(
            "%s gave up on %s after %d attempts (reason: %s): %s: %s",
            self._row.name, delivery.message_id, error.attempts, error.reason,
            failure.error_type, failure.for_logs,
            exc_info=error,
        )  # fmt: skip
        if failure.kind is ErrorKind.RACE:
            reason = "max_attempts" if error.reason == MAX_ATTEMPTS_EXCEEDED else error.reason
            self._metrics.retry_dlq.add(1, {**self._labels, "reason": reason})
            self._metrics.retry_attempts.record(error.attempts - 1, self._labels)
        record = failure_record(
            self._row.name,
            failure,
            event=event,
            delivery=delivery,
            reason=error.reason,
            attempt_count=error.attempts,
            now=self._runtime.now(),
        )
        is_new = delivery.delivery_count == 1  # the best guess if the record cannot be stored

        async def store_record() -> None:
            nonlocal is_new
            is_new = await self._clients.store.create(record, Session())
            if not is_new:
                await self._clients.store.upsert(record, Session())

        recorded = await self._best_effort("failure record", store_record())
        if event is not None:
            await self._announce_failure(event, error, record)
        if is_new:
            self._metrics.failures.add(1, {**self._labels, "error_type": failure.error_type})
        if (recorded or failure.kind is ErrorKind.PERMANENT) and await self._best_effort(
            "dead letter", self._dead_letter(delivery, record)
        ):
            return
        raise StageFailedError(f"{failure.error_type}: {error.reason}") from error

    async def _announce_failure(self, event: Event[Any], error: GaveUpError, record: FailureRecord) -> None:
        """Do nothing for a request: only its sender reads the outcome. A stage overrides this."""

    async def _dead_letter(self, delivery: Delivery, record: FailureRecord) -> None:
        """Dead-letter the message, or send a copy that is refused until the broker dead-letters it."""
        cause: dict[str, str | int] = {
            "idempotency_key": record.idempotency_key,
            "attempt_count": record.attempt_count,
            "last_error": record.last_error[:MAX_ERROR_LENGTH],
            "error_type": record.error_type,
            "abandoned_reason": record.abandoned_reason,
            "service_name": record.service_name,
            "timestamp": record.timestamp.isoformat(),
        }
        reason = f"{record.error_type}: {record.abandoned_reason}"
        if await delivery.settlement.dead_letter(reason, json.dumps(cause)):
            return
        known = without_earlier(delivery.properties, (DEAD_LETTER_PREFIX,))
        named = {f"{FAILURE_PREFIX}{name}": value for name, value in cause.items()}
        await self._clients.bus.send_to_queue(
            self._row.name, [delivery.copy(self._clients, {**known, **named})]
        )

    async def _best_effort(self, name: str, work: Awaitable[None]) -> bool:
        """Return whether the report succeeded. An error in it must not hide the error that it reports."""
        try:
            await work
        except Exception:
            log.exception("%s could not store the %s", self._row.name, name)
            self._metrics.failures.add(1, {**self._labels, "error_type": "ReportingError"})
            return False
        return True


def refuse_dead_letter(delivery: Delivery) -> None:
    """Raise for a message that was given up, unless an operator resent it from the dead-letter queue."""
    known: Mapping[str, Any] = delivery.properties
    if FAILURE_TIMESTAMP in known and not was_dead_letter(known):
        cause = [str(known.get(f"{FAILURE_PREFIX}{name}")) for name in ("error_type", "abandoned_reason")]
        raise StageFailedError(": ".join(cause))


async def run_request(
    row: QueueRow, delivery: Delivery, clients: Clients, work: Callable[[], Awaitable[Any]]
) -> None:
    """Run the work of a queue without a stage: fetches, operations, deletions, deliveries, the ledger."""
    refuse_dead_letter(delivery)
    runner = QueueRunner(row, clients, REQUESTS)
    try:
        await runner.handle_event_with_retry(delivery, lambda _retry: work(), str(delivery.message_id))
    except GaveUpError as error:
        await runner.give_up(delivery, None, error)


class StageRunner(QueueRunner, Generic[Data]):
    """Run the handler of a stage on each event of its queue."""

    def __init__(
        self,
        stage: Stage[Data],
        clients: Clients,
        runtime: Runtime | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(stage.row, clients, RetryPolicy.of_events(clients.settings), runtime, metrics)
        self._stage = stage

    async def run(self, delivery: Delivery) -> None:
        """Process one delivery. An exception makes the broker deliver the message again."""
        refuse_dead_letter(delivery)
        attributes: dict[str, str | int] = {
            "pipeline.stage": self._stage.name,
            "pipeline.delivery_count": delivery.delivery_count,
        }
        name = f"stage {self._stage.name}"
        with consumer_span(name, delivery.properties, attributes=attributes) as started:
            await self._run(delivery, started)

    async def _run(self, delivery: Delivery, span: PipelineSpan) -> None:
        started = self._runtime.monotonic()
        read = self._read(delivery.body)
        event = None if isinstance(read, PipelineError) else read
        if event is not None:
            self._describe(event, span)

        async def work(_retry: Retry) -> StageResult:
            nonlocal event
            if isinstance(read, PipelineError):
                raise read
            session = Session(read.session)
            data = await fill_in(read.data, self._clients, session)
            event = read.model_copy(update={"data": data})
            return await self._repeat_on_conflict(event, session)

        key = str(delivery.message_id) if event is None else event.idempotency_key(self._stage.name)
        try:
            outcome = await self.handle_event_with_retry(delivery, work, key)
        except GaveUpError as error:
            await self.give_up(delivery, event, error)
            return
        if event is None or outcome is None:
            return
        await delivery.settlement.complete()
        span.set_attributes({f"pipeline.count.{name}": n for name, n in outcome.counts.items()})
        self._report_success(event, outcome, self._runtime.monotonic() - started)

    def _read(self, body: bytes) -> Event[Data] | InvalidEventError | NewerVersionError:
        try:
            event = parse_event(body)
            self._stage.handler_of(event)
        except (InvalidEventError, NewerVersionError) as error:
            return error
        return event

    def _describe(self, event: Event[Data], span: PipelineSpan) -> None:
        """Set the ids of the event and of its documents on the span."""
        span.set_attribute("pipeline.event_id", event.event_id)
        span.set_attribute("pipeline.event_type", event.event_type)
        span.set_attribute("pipeline.attempt", event.attempt)
        span.set_attribute("pipeline.idempotency_key", event.idempotency_key(self._stage.name))
        for name, ids in event.data.trace_ids().items():
            set_ids(span, name, ids)

    async def _repeat_on_conflict(self, event: Event[Data], session: Session) -> StageResult:
        """Repeat the attempt at once after a conflict. The session keeps what the last attempt has seen."""
        for _ in range(MAX_CONFLICTS):
            try:
                return await self._attempt(event, session)
            except ConflictError as error:
                log.info("%s met a conflict: %s", self._stage.name, error)
        return await self._attempt(event, session)

    async def _attempt(self, event: Event[Data], session: Session) -> StageResult:
        context = StageContext(self._clients, session, event.attempt, self._runtime)
        if self._stage.row.max_attempts is not None:
            subjects, store = self._stage.subjects(event.data), self._clients.store
            await count_attempt(store, subjects, attempt=event.attempt, now=context.now(), session=session)
        outcome = await self._stage.handler_of(event)(event, context)
        await self._announce(outcome, event.life, session)
        if outcome.after_announcing is not None:
            await outcome.after_announcing()
        return outcome

    async def _announce(self, outcome: StageResult, life: str, session: Session) -> None:
        await self._clients.bus.publish(self._events(outcome.announce, life, session))
        for scheduled in outcome.scheduled:
            due = self._runtime.now() + timedelta(seconds=scheduled.seconds)
            messages = [to_message(event) for event in self._events([scheduled.data], life, session)]
            await self._clients.bus.send_to_queue(self._stage.name, messages, at=due)

    def _events(self, announced: Iterable[EventData], life: str, session: Session) -> list[Event[Any]]:
        return [
            Event.of(part, session=session.tokens(), life=life, now=self._runtime.now())
            for data in announced
            for part in split_to_fit(data)
        ]

    async def _announce_failure(self, event: Event[Data], error: GaveUpError, record: FailureRecord) -> None:
        """Store the error on the documents of the event and publish the *Failed event."""
        session, now = Session(event.session), self._runtime.now()
        marked = record_failed_attempt(
            self._clients.store,
            self._stage.subjects(event.data),
            attempt=event.attempt,
            failure=error.failure,
            now=now,
            session=session,
            failed_status=self._stage.failed_status,
        )
        await self._best_effort("last error", marked)
        data = failed_event(
            self._stage.row, event, error.failure, attempts=error.attempts, record_id=record.id, now=now
        )
        failed = Event.of(data, session=session.tokens(), attempt=event.attempt, life=event.life, now=now)
        await self._best_effort(failed.event_type, self._clients.bus.publish([failed]))

    def _report_success(self, event: Event[Data], outcome: StageResult, seconds: float) -> None:
        metrics = self._metrics
        metrics.events_processed.add(1, {**self._labels, "event_type": event.event_type})
        metrics.processing_duration.record(seconds, self._labels)
        log.info(
            "%s processed %s in %.2fs %s",
            self._stage.name, event.idempotency_key(self._stage.name), seconds, outcome.counts or "",
        )  # fmt: skip
