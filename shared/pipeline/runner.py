"""The one runner around every stage.

    validate -> count the attempt -> the stage's own work -> announce -> mark done -> complete

A race and a transient failure wait in the broker: a copy of the message comes again after the delay, and
counts on. What is left after that is recorded, announced as *Failed, and given back to the broker, which
delivers it until its max delivery count and then sets it aside.
"""

import hashlib
import json
import logging
from collections.abc import Awaitable, Iterable
from datetime import timedelta
from typing import Any, Generic, TypeVar

from shared.clients.classify import SDK_ERRORS, classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.bus import to_message
from shared.clients.telemetry.metrics import Metrics, PipelineSpan, consumer_span, pipeline_metrics, set_ids
from shared.core.errors import (
    ClassifiedError,
    ErrorKind,
    InvalidEventError,
    NewerVersionError,
    OvertakenError,
    PermanentError,
    PipelineError,
)
from shared.core.ids import failure_id
from shared.core.runtime import Runtime
from shared.documents.records import FailureRecord
from shared.pipeline.delivery import (
    Delivery,
    EventRetries,
    claim_number,
    schedule_retry,
    schedule_unread_retry,
)
from shared.pipeline.event_builders import failed_event
from shared.pipeline.event_types import EventData
from shared.pipeline.events import Event, parse_event, split_to_fit
from shared.pipeline.failures import failure_record
from shared.pipeline.lifecycle.attempts import attempt_counted, attempt_failed
from shared.pipeline.retry import (
    MAX_ATTEMPTS_EXCEEDED,
    NON_RETRYABLE,
    Abandon,
    AbandonedError,
    Backoff,
    Decision,
    NewerVersionPatience,
    RetryConfig,
    RetryPolicy,
)
from shared.pipeline.stage import Stage, StageResult, Work

log = logging.getLogger(__name__)
Data = TypeVar("Data", bound=EventData)
MAX_OVERTAKEN = 3  # attempts that one delivery repeats without waiting
CLOCK_SKEW = timedelta(seconds=30)  # between ours and the broker's


class StageFailedError(PipelineError):
    """A stage gave this delivery up; the broker decides what comes next."""


class KnownFailureError(PermanentError):
    """The message was given up before; no work was done again."""


class StageRunner(Generic[Data]):
    def __init__(
        self,
        stage: Stage[Data],
        clients: Clients,
        runtime: Runtime | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._stage = stage
        self._clients = clients
        self._runtime = runtime or clients.runtime
        self._metrics = metrics or pipeline_metrics()
        self._policy = RetryPolicy(RetryConfig.from_settings(clients.settings), self._runtime.random)
        self._backoff = Backoff.from_settings(clients.settings)
        self._newer = NewerVersionPatience()
        self._labels = {"service": stage.name}

    async def run(self, delivery: Delivery) -> None:
        """Process one delivery. Returns when it is done; raises to have it delivered again."""
        attributes: dict[str, str | int] = {
            "pipeline.stage": self._stage.name,
            "pipeline.delivery_count": delivery.delivery_count,
        }
        name = f"stage {self._stage.name}"
        with consumer_span(name, delivery.properties, attributes=attributes) as started:
            await self._run(delivery, started)

    async def _run(self, delivery: Delivery, span: PipelineSpan) -> None:
        started = self._runtime.monotonic()
        try:
            event = self._validated(delivery.body)
        except InvalidEventError as error:
            await self._give_up(delivery, None, AbandonedError(NON_RETRYABLE, 1, classify(error)))
            return
        except NewerVersionError as error:
            await self._leave_to_newer_version(delivery, error)
            return
        self._describe(event, span)
        retries = EventRetries.of(delivery, self._runtime.now())
        outcome = await self.handle_event_with_retry(event, delivery, retries)
        if outcome is None:  # given up with a settlement of its own, or left to a copy of the message
            return
        await delivery.settlement.complete()
        span.set_attributes({f"pipeline.count.{name}": n for name, n in outcome.counts.items()})
        self._report_success(event, outcome, self._runtime.monotonic() - started)

    def _describe(self, event: Event[Data], span: PipelineSpan) -> None:
        """What the event is about, as far as it says."""
        span.set_attribute("pipeline.event_id", event.event_id)
        span.set_attribute("pipeline.event_type", event.event_type)
        span.set_attribute("pipeline.attempt", event.attempt)
        span.set_attribute("pipeline.idempotency_key", event.idempotency_key(self._stage.name))
        for name, ids in event.data.trace_ids().items():
            set_ids(span, name, ids)

    def _validated(self, body: bytes) -> Event[Data]:
        event = parse_event(body)
        self._stage.handler_of(event)
        return event

    async def _leave_to_newer_version(self, delivery: Delivery, error: NewerVersionError) -> None:
        """While two versions run side by side: a copy comes again later, to this one or the other."""
        retries, failure = EventRetries.of(delivery, self._runtime.now()), classify(error)
        decision = self._decide(failure, retries)
        if isinstance(decision, Abandon):
            await self._give_up(delivery, None, AbandonedError(decision.reason, retries.attempts, failure))
            return
        log.warning("%s leaves %s to a later version: %s", self._stage.name, delivery.message_id, error)
        later = retries.after(failure.kind)
        await schedule_unread_retry(self._clients, self._stage.name, delivery, later, decision.delay)
        await delivery.settlement.complete()

    async def handle_event_with_retry(
        self, event: Event[Data], delivery: Delivery, retries: EventRetries
    ) -> StageResult | None:
        """What the work gave; None where the event waits in the broker, or was given up and settled."""
        while True:
            try:
                if not await claim_number(self._clients, delivery, retries):
                    await self._left_to_another_copy(delivery, event)
                    return None
                outcome = await self._attempts(event, delivery)
            except Exception as error:  # noqa: BLE001 - it is classified, and recorded or retried
                failure = classify(error)
                decision = self._decide(failure, retries)
                if isinstance(decision, Abandon):
                    await self._abandon(delivery, event, retries, decision, error)
                    return None
                retries = retries.after(failure.kind)
                self._count_retry(retries, failure)
                if await self._waits_in_broker(event, delivery, retries, failure, decision.delay):
                    return None
            else:
                if retries.races:
                    self._race_won(event, retries.races, self._seconds_since(retries))
                return outcome

    async def _left_to_another_copy(self, delivery: Delivery, event: Event[Data]) -> None:
        log.info("%s: another copy of %s came first", self._stage.name, event.idempotency_key())
        self._metrics.duplicates.add(1, {**self._labels, "kind": "event"})
        await delivery.settlement.complete()

    def _decide(self, failure: ClassifiedError, retries: EventRetries) -> Decision:
        elapsed = self._seconds_since(retries)
        if failure.error_type == NewerVersionError.__name__:
            return self._newer.decide(elapsed)
        if failure.kind is ErrorKind.RACE:
            return self._policy.decide(retries.races, elapsed)
        return self._backoff.decide(failure, retries.backoffs)

    async def _waits_in_broker(
        self,
        event: Event[Data],
        delivery: Delivery,
        retries: EventRetries,
        failure: ClassifiedError,
        delay: float,
    ) -> bool:
        """Schedule a copy of the message and complete it; where the broker does not take it, wait here."""
        self._log_retry(event, retries, failure, delay)
        try:
            await schedule_retry(self._clients, self._stage.name, event, delivery, retries, delay)
        except (*SDK_ERRORS, OSError):
            log.exception("%s could not schedule a retry, and waits itself", self._stage.name)
            await self._runtime.sleep(delay)
            return False
        await delivery.settlement.complete()
        return True

    def _log_retry(
        self, event: Event[Data], retries: EventRetries, failure: ClassifiedError, delay: float
    ) -> None:
        """A race is normal work until it nears a limit. Every other failure is a warning."""
        key = event.idempotency_key(self._stage.name)
        if failure.kind is not ErrorKind.RACE:
            log.warning(
                "%s failed (attempt %d): %s; retrying in %.1f seconds",
                key, retries.number, failure.for_logs, delay,
            )  # fmt: skip
            return
        most = self._policy.config.max_attempts
        log.info(
            "Retry attempt %d/%d for event with idempotency key: %s (in %.3f s)",
            retries.races, most, key, delay,
        )  # fmt: skip
        if limit := self._policy.near_limit(retries.races, self._seconds_since(retries)):
            log.warning("Event %s is at %s", key, limit)

    async def _abandon(
        self,
        delivery: Delivery,
        event: Event[Data],
        retries: EventRetries,
        decision: Abandon,
        error: Exception,
    ) -> None:
        failure = classify(error)
        if failure.kind is ErrorKind.RACE:
            self._race_lost(retries.races, decision.reason)
        abandoned = AbandonedError(decision.reason, retries.attempts, failure)
        abandoned.__cause__ = error
        await self._give_up(delivery, event, abandoned)

    def _seconds_since(self, retries: EventRetries) -> float:
        return (self._runtime.now() - retries.since).total_seconds()

    async def _attempts(self, event: Event[Data], delivery: Delivery) -> StageResult:
        """One, and more at once where others overtook it. The session keeps what the last one has seen."""
        session = Session(event.session)
        for _ in range(MAX_OVERTAKEN):
            try:
                return await self._attempt(event, delivery, session)
            except OvertakenError as error:
                log.info("%s was overtaken: %s", self._stage.name, error)
        return await self._attempt(event, delivery, session)

    async def _attempt(self, event: Event[Data], delivery: Delivery, session: Session) -> StageResult:
        work = Work(self._clients, session, event.attempt, self._runtime)
        if delivery.delivery_count > 1:
            await self._refuse_known_failure(event, delivery)
        if self._stage.counts_attempt_first:
            await self._count_attempt(event, work)
        outcome = await self._stage.handler_of(event)(event, work)
        await self._announce(outcome, work.session)
        if outcome.after_announcing is not None:
            await outcome.after_announcing()
        return outcome

    async def _refuse_known_failure(self, event: Event[Data], delivery: Delivery) -> None:
        """What was given up before. An event that was sent again since keeps its id and gets a new try."""
        id_ = failure_id(event.idempotency_key(self._stage.name), event.attempt)
        known = await self._clients.store.find(FailureRecord, id_, self._stage.name, Session())
        if (
            known is not None
            and known.message_id == delivery.message_id
            and (delivery.enqueued_at is None or known.timestamp + CLOCK_SKEW >= delivery.enqueued_at)
        ):
            raise KnownFailureError(known.last_error)

    async def _count_attempt(self, event: Event[Data], work: Work) -> None:
        for subject in self._stage.subjects(event.data):
            await attempt_counted(
                self._clients.store, subject, attempt=event.attempt, now=work.now(), session=work.session
            )

    async def _announce(self, outcome: StageResult, session: Session) -> None:
        await self._clients.bus.publish(self._events(outcome.announce, session))
        for scheduled in outcome.scheduled:
            due = self._runtime.now() + timedelta(seconds=scheduled.seconds)
            messages = [to_message(event) for event in self._events([scheduled.data], session)]
            await self._clients.bus.send_to_queue(self._stage.name, messages, at=due)

    def _events(self, announced: Iterable[EventData], session: Session) -> list[Event[Any]]:
        return [
            Event.of(part, session=session.tokens(), now=self._runtime.now())
            for data in announced
            for part in split_to_fit(data)
        ]

    # giving up

    async def _give_up(
        self, delivery: Delivery, event: Event[Data] | None, abandoned: AbandonedError
    ) -> None:
        failure = abandoned.failure
        known = failure.error_type == KnownFailureError.__name__
        log.error(
            "%s gave up on %s after %d attempts (reason: %s): %s: %s",
            self._stage.name, delivery.message_id, abandoned.attempt_count, abandoned.reason,
            failure.error_type, failure.for_logs,
            exc_info=abandoned,
        )  # fmt: skip
        if not known and await self._record_and_announce_failure(delivery, event, abandoned):
            self._metrics.failures.add(1, {**self._labels, "error_type": failure.error_type})
        reason = f"{failure.error_type}: {abandoned.reason}"
        if failure.kind is not ErrorKind.TRANSIENT and await delivery.settlement.dead_letter(
            reason, json.dumps(self._summary(delivery, event, abandoned))
        ):
            return
        raise StageFailedError(f"{reason}: {failure.message}") from abandoned

    async def _record_and_announce_failure(
        self, delivery: Delivery, event: Event[Data] | None, abandoned: AbandonedError
    ) -> bool:
        """Leave word of the failure wherever that still works: the message itself is safe with the broker.

        Whether it was not recorded before: a delivery whose record was lost comes again, and counts once.
        """
        now = self._runtime.now()
        record = failure_record(
            self._stage.name,
            abandoned.failure,
            event=event,
            delivery=delivery,
            reason=abandoned.reason,
            attempt_count=abandoned.attempt_count,
            now=now,
        )
        store = self._clients.store
        is_new = delivery.delivery_count == 1

        async def recorded() -> None:
            nonlocal is_new
            is_new = await store.create(record, Session())
            if not is_new:
                await store.upsert(record, Session())

        await self._best_effort("failure record", recorded())
        if event is None:
            return is_new
        subjects = self._stage.subjects(event.data)
        session = Session(event.session)
        await self._best_effort(
            "last error",
            attempt_failed(
                store,
                subjects,
                attempt=event.attempt,
                failure=abandoned.failure,
                now=now,
                session=session,
                failed_status=self._stage.failed_status,
            ),
        )
        data = failed_event(
            self._stage.row,
            event,
            abandoned.failure,
            attempts=abandoned.attempt_count,
            record_id=record.id,
            now=now,
        )
        failed = Event.of(data, session=session.tokens(), attempt=event.attempt, now=now)
        await self._best_effort(failed.event_type, self._clients.bus.publish([failed]))
        return is_new

    async def _best_effort(self, what: str, work: Awaitable[None]) -> None:
        """Reporting must not hide the failure that it reports: its own is logged and counted."""
        try:
            await work
        except Exception:
            log.exception("%s could not store the %s", self._stage.name, what)
            self._metrics.failures.add(1, {**self._labels, "error_type": "ReportingError"})

    def _summary(
        self, delivery: Delivery, event: Event[Data] | None, abandoned: AbandonedError
    ) -> dict[str, Any]:
        """The dead-letter payload without the event, which the dead letter itself holds."""
        return {
            "idempotency_key": event.idempotency_key(self._stage.name) if event else None,
            "attempt_count": abandoned.attempt_count,
            "last_error": abandoned.failure.message[:1000],
            "error_type": abandoned.failure.error_type,
            "abandoned_reason": abandoned.reason,
            "service_name": self._stage.name,
            "body_sha256": hashlib.sha256(delivery.body).hexdigest(),
        }

    # counting

    def _report_success(self, event: Event[Data], outcome: StageResult, seconds: float) -> None:
        metrics = self._metrics
        metrics.events_processed.add(1, {**self._labels, "event_type": event.event_type})
        metrics.processing_duration.record(seconds, self._labels)
        log.info(
            "%s processed %s in %.2fs %s",
            self._stage.name, event.idempotency_key(self._stage.name), seconds, outcome.counts or "",
        )  # fmt: skip

    def _count_retry(self, retries: EventRetries, failure: ClassifiedError) -> None:
        """Once an event: what share of them needs a retry is the question."""
        if retries.number == 1:
            self._metrics.events_retried.add(1, {**self._labels, "error_type": failure.error_type})

    def _race_won(self, event: Event[Data], retries: int, seconds: float) -> None:
        metrics = self._metrics
        metrics.retry_success.add(1, {**self._labels, "attempt": str(retries)})
        metrics.retry_latency.record(seconds, self._labels)
        metrics.retry_attempts.record(retries, self._labels)
        log.info(
            "Event %s processed successfully after %d retry attempts (total latency: %.2fs)",
            event.idempotency_key(self._stage.name), retries, seconds,
        )  # fmt: skip

    def _race_lost(self, retries: int, reason: str) -> None:
        metrics = self._metrics
        label = "max_attempts" if reason == MAX_ATTEMPTS_EXCEEDED else reason
        metrics.retry_dlq.add(1, {**self._labels, "reason": label})
        metrics.retry_attempts.record(retries, self._labels)
