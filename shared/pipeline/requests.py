"""The runner of queues that are no stage's: fetches, operations, deletions, deliveries, the failure ledger.

    work -> done
    a failure that may pass -> a copy of the message comes again after the delay, and counts on
    any other               -> recorded, then raised: the broker delivers it again, and then sets it aside

The record is found again by what the message says (`invalid_key`), so that its dead letter has a cause.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from shared.clients.classify import SDK_ERRORS, classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.telemetry.metrics import pipeline_metrics
from shared.core.errors import ClassifiedError, ErrorKind
from shared.pipeline.delivery import Delivery, EventRetries, schedule_unread_retry
from shared.pipeline.failures import failure_record
from shared.pipeline.retry import NON_RETRYABLE, Abandon, Backoff, Decision
from shared.pipeline.topology import QueueRow

log = logging.getLogger(__name__)
BACKOFF = Backoff(max_retries=40, base_seconds=5.0, cap_seconds=300.0)  # some three hours
RACES = Backoff(
    max_retries=8, base_seconds=5.0, cap_seconds=300.0
)  # what is not there yet: a quarter of an hour


async def run_request(
    row: QueueRow, delivery: Delivery, clients: Clients, work: Callable[[], Awaitable[Any]]
) -> None:
    """Do the work of one delivery, or leave it to a copy of the message; raises where it is given up."""
    try:
        await work()
    except Exception as error:
        failure, retries = classify(error), EventRetries.of(delivery, clients.runtime.now())
        decision = _decide(failure, retries.backoffs)
        if isinstance(decision, Abandon):
            await _record(row, delivery, clients, failure, retries, decision.reason)
            raise
        log.warning(
            "%s failed (attempt %d): %s; again in %.0f seconds",
            row.name, retries.attempts, failure.for_logs, decision.delay,
        )  # fmt: skip
        again = retries.after(ErrorKind.TRANSIENT)
        try:
            await schedule_unread_retry(clients, row.name, delivery, again, decision.delay)
        except (*SDK_ERRORS, OSError):
            await _record(row, delivery, clients, failure, retries, NON_RETRYABLE)
            raise


def _decide(failure: ClassifiedError, retries: int) -> Decision:
    """A document that a replica does not show yet comes soon; one that is not there at all is given up."""
    if failure.kind is ErrorKind.RACE:
        return RACES.decide(replace(failure, kind=ErrorKind.TRANSIENT), retries)
    return BACKOFF.decide(failure, retries)


async def _record(
    row: QueueRow,
    delivery: Delivery,
    clients: Clients,
    failure: ClassifiedError,
    retries: EventRetries,
    reason: str,
) -> None:
    """Best effort: what the caller raises must not be hidden. One record, and one count, for one message."""
    log.error("%s gave up on %s (%s): %s", row.name, delivery.message_id, reason, failure.for_logs)
    record = failure_record(
        row.name,
        failure,
        event=None,
        delivery=delivery,
        reason=reason,
        attempt_count=retries.attempts,
        now=clients.runtime.now(),
    )
    is_new = delivery.delivery_count == 1
    try:
        is_new = await clients.store.create(record, Session())
        if not is_new:
            await clients.store.upsert(record, Session())
    except (*SDK_ERRORS, OSError):
        log.exception("%s could not record its failure", row.name)
    if is_new:
        labels = {"service": row.name, "error_type": failure.error_type}
        pipeline_metrics().failures.add(1, labels)
