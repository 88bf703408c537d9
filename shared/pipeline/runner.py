"""Run the work on each message of a queue, and on each event of a stage.

    claim the retry -> count the attempt -> work -> announce -> mark done -> complete

A failure that may pass waits in the broker: a copy of the message comes after the delay, and counts on.
Any other is recorded and announced as *Failed, and its message becomes a dead letter that names the cause.
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
MAX_OVERTAKEN = 3  # attempts that one delivery repeats without waiting
LONGEST_WAIT_HERE = 60.0  # where the broker takes no copy: it may take the next
MAX_WAITS_HERE = 3  # then the broker delivers the message again, when it is back
SHOWN_ERROR = 1000
SET_ASIDE = f"{FAILURE_PREFIX}timestamp"


class StageFailedError(PipelineError):
    """The stage gave the message up. The broker delivers it again, and makes it a dead letter in the end."""


class QueueRunner:
    """Retries the work on a message, and gives it up, whatever the work is."""

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
        """Return None where a copy of the message waits in the broker, or came first."""
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
                self._note_retry(key, retry, failure, delay)
                if await self._waits_in_broker(delivery, retry, delay):
                    return None
                waited += 1
                if failure.is_outage and waited >= MAX_WAITS_HERE:
                    raise StageFailedError(f"{failure.error_type}: the broker takes no copy") from error
            else:
                if retry.number:
                    self._note_success(key, retry)
                return result

    async def _waits_in_broker(self, delivery: Delivery, retry: Retry, delay: float) -> bool:
        """Leave the message to a copy of it that comes later. Where the broker takes none, wait here."""
        try:
            await retry.schedule(self._clients, self._row.name, delivery, delay)
        except (*SDK_ERRORS, OSError):
            log.exception("%s could not schedule a retry, and waits itself", self._row.name)
            await self._runtime.sleep(min(delay, LONGEST_WAIT_HERE))
            return False
        await delivery.settlement.complete()
        return True

    # counting and logging

    def _note_retry(self, key: str, retry: Retry, failure: ClassifiedError, delay: float) -> None:
        """A race is normal work until it nears a limit. Every other failure is a warning."""
        race = self._policy.race
        if retry.number == 1:  # once an event: what share of them needs a retry is the question
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

    def _note_success(self, key: str, retry: Retry) -> None:
        seconds = retry.age(self._runtime)
        log.info(
            "Event %s processed successfully after %d retry attempts (total latency: %.2fs)",
            key, retry.number, seconds,
        )  # fmt: skip
        if retry.races:
            self._metrics.retry_success.add(1, {**self._labels, "attempt": str(retry.races)})
            self._metrics.retry_latency.record(seconds, self._labels)
            self._metrics.retry_attempts.record(retry.races, self._labels)

    # giving up

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
        is_new = delivery.delivery_count == 1  # unless the record says otherwise

        async def record_it() -> None:
            nonlocal is_new
            is_new = await self._clients.store.create(record, Session())
            if not is_new:
                await self._clients.store.upsert(record, Session())

        recorded = await self._best_effort("failure record", record_it())
        if event is not None:
            await self._tell(event, error, record)
        if is_new:
            self._metrics.failures.add(1, {**self._labels, "error_type": failure.error_type})
        if (recorded or failure.kind is ErrorKind.PERMANENT) and await self._best_effort(
            "dead letter", self._set_aside(delivery, record)
        ):
            return
        raise StageFailedError(f"{failure.error_type}: {error.reason}") from error

    async def _tell(self, event: Event[Any], error: GaveUpError, record: FailureRecord) -> None:
        """Tell other parts of the app. Only its sender looks at the outcome of a request."""

    async def _set_aside(self, delivery: Delivery, record: FailureRecord) -> None:
        """Make it a dead letter, at once or by a copy that is refused until the broker makes it one."""
        cause: dict[str, str | int] = {
            "idempotency_key": record.idempotency_key,
            "attempt_count": record.attempt_count,
            "last_error": record.last_error[:SHOWN_ERROR],
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

    async def _best_effort(self, what: str, work: Awaitable[None]) -> bool:
        """Reporting must not hide the failure that it reports: its own is logged and counted."""
        try:
            await work
        except Exception:
            log.exception("%s could not store the %s", self._row.name, what)
            self._metrics.failures.add(1, {**self._labels, "error_type": "ReportingError"})
            return False
        return True


def refuse_set_aside(delivery: Delivery) -> None:
    """Raise for a message with a cause, unless an operator sent it again from the dead letters."""
    known: Mapping[str, Any] = delivery.properties
    if SET_ASIDE in known and not was_dead_letter(known):
        cause = [str(known.get(f"{FAILURE_PREFIX}{name}")) for name in ("error_type", "abandoned_reason")]
        raise StageFailedError(": ".join(cause))


async def run_request(
    row: QueueRow, delivery: Delivery, clients: Clients, work: Callable[[], Awaitable[Any]]
) -> None:
    """Do the work of a queue that is no stage's: fetches, operations, deletions, deliveries, the ledger."""
    refuse_set_aside(delivery)
    runner = QueueRunner(row, clients, REQUESTS)
    try:
        await runner.handle_event_with_retry(delivery, lambda _retry: work(), str(delivery.message_id))
    except GaveUpError as error:
        await runner.give_up(delivery, None, error)


class StageRunner(QueueRunner, Generic[Data]):
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
        """Process one delivery. Returns when it is done; raises to have it delivered again."""
        refuse_set_aside(delivery)
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
            return await self._attempts(event, session)

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
        """What the event is about, as far as it says."""
        span.set_attribute("pipeline.event_id", event.event_id)
        span.set_attribute("pipeline.event_type", event.event_type)
        span.set_attribute("pipeline.attempt", event.attempt)
        span.set_attribute("pipeline.idempotency_key", event.idempotency_key(self._stage.name))
        for name, ids in event.data.trace_ids().items():
            set_ids(span, name, ids)

    async def _attempts(self, event: Event[Data], session: Session) -> StageResult:
        """One, and more at once where others overtook it. The session keeps what the last one has seen."""
        for _ in range(MAX_OVERTAKEN):
            try:
                return await self._attempt(event, session)
            except ConflictError as error:
                log.info("%s was overtaken: %s", self._stage.name, error)
        return await self._attempt(event, session)

    async def _attempt(self, event: Event[Data], session: Session) -> StageResult:
        work = StageContext(self._clients, session, event.attempt, self._runtime)
        if self._stage.row.max_attempts is not None:
            subjects, store = self._stage.subjects(event.data), self._clients.store
            await count_attempt(store, subjects, attempt=event.attempt, now=work.now(), session=session)
        outcome = await self._stage.handler_of(event)(event, work)
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

    async def _tell(self, event: Event[Data], error: GaveUpError, record: FailureRecord) -> None:
        """Keep the error on the documents that the event is about, and announce it."""
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
