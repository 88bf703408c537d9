"""The loops that act on retry decisions. Time is a dependency: tests own the clock and the sleep."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from shared.clients.classify import classify
from shared.core.errors import ClassifiedError, ErrorKind, PipelineError
from shared.pipeline.retry.policies import Abandon, Backoff, RetryPolicy

log = logging.getLogger(__name__)
Result = TypeVar("Result")
Work = Callable[[], Awaitable[Result]]


class AbandonedError(PipelineError):
    """The retries of this delivery are used up."""

    def __init__(self, reason: str, attempt_count: int, failure: ClassifiedError) -> None:
        super().__init__(f"{failure.error_type}: {failure.message}")
        self.reason = reason
        self.attempt_count = attempt_count
        self.failure = failure


@dataclass(frozen=True)
class RetryHooks:
    """What the loops need from outside: time, and somebody who counts."""

    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    succeeded: Callable[[int, float], None] = field(default=lambda _retries, _seconds: None)
    abandoned: Callable[[int, str], None] = field(default=lambda _retries, _reason: None)


async def handle_event_with_retry(
    work: Work[Result], policy: RetryPolicy, *, idempotency_key: str, hooks: RetryHooks
) -> Result:
    """Do the work, and do it again while its documents cannot be found yet.

    Other errors go through at once: they are not races.
    """
    started, retries = hooks.now(), 0
    while True:
        try:
            result = await work()
        except Exception as error:
            failure = classify(error)
            if failure.kind is not ErrorKind.RACE:
                raise
            delay = _next_delay(
                policy, failure, retries, hooks.now() - started, idempotency_key, hooks, error
            )
            retries += 1
            log.info(
                "Retry attempt %d/%d for event with idempotency key: %s (in %.3f s)",
                retries, policy.config.max_attempts, idempotency_key, delay,
            )  # fmt: skip
            await hooks.sleep(delay)
        else:
            _report_success(idempotency_key, retries, hooks.now() - started, hooks)
            return result


def _next_delay(
    policy: RetryPolicy,
    failure: ClassifiedError,
    retries: int,
    elapsed: float,
    key: str,
    hooks: RetryHooks,
    error: Exception,
) -> float:
    decision = policy.decide(retries, elapsed)
    if isinstance(decision, Abandon):
        hooks.abandoned(retries, decision.reason)
        raise AbandonedError(decision.reason, retries, failure) from error
    _warn_when_close(policy, retries, elapsed, key)
    return decision.delay


def _warn_when_close(policy: RetryPolicy, retries: int, elapsed: float, key: str) -> None:
    if retries + 1 >= policy.config.max_attempts:
        log.warning("Event %s is at its last retry of %d", key, policy.config.max_attempts)
    elif elapsed > 0.8 * policy.config.ttl_minutes * 60:
        log.warning("Event %s has used %.0f s of its %g minutes", key, elapsed, policy.config.ttl_minutes)


def _report_success(key: str, retries: int, elapsed: float, hooks: RetryHooks) -> None:
    if retries:
        log.info(
            "Event %s processed successfully after %d retry attempts (total latency: %.2fs)",
            key, retries, elapsed,
        )  # fmt: skip
    hooks.succeeded(retries, elapsed)


async def with_backoff(
    work: Work[Result],
    backoff: Backoff,
    *,
    what: str,
    sleep: Callable[[float], Awaitable[None]],
) -> Result:
    """Do the work, and do it again after transient failures, up to the bound.

    Raises AbandonedError when the bound is reached or the failure is permanent. A race that got here is one
    whose own retries are used up.
    """
    retries = 0
    while True:
        try:
            return await work()
        except AbandonedError:
            raise
        except Exception as error:
            failure = classify(error)
            decision = backoff.decide(failure, retries)
            attempts = retries + 1
            if isinstance(decision, Abandon):
                raise AbandonedError(decision.reason, attempts, failure) from error
            log.exception(
                "%s failed (attempt %d/%d): %s; retrying in %.1f seconds",
                what, attempts, backoff.max_retries + 1, failure.for_logs, decision.delay,
            )  # fmt: skip
            retries += 1
            await sleep(decision.delay)
