"""Retries inside one call, where no broker can wait: uploads, fetches and encoders."""

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self, TypeVar

from shared.clients.classify import classify
from shared.core.errors import ClassifiedError, ErrorKind, PipelineError
from shared.settings.app import Settings

# Past this exponent every factor above 1 has reached any real cap, and a float power would overflow.
_MAX_EXPONENT = 64


def exponential(base: float, attempt: int, cap: float, *, factor: float = 2.0) -> float:
    """Exponential backoff: base * factor^(attempt - 1), at most `cap`. Attempts count from 1."""
    exponent = min(max(attempt - 1, 0), _MAX_EXPONENT)
    return float(min(base * factor**exponent, cap))


def full_jitter(ceiling: float, source: random.Random) -> float:
    """U(0, ceiling): callers that failed together do not come back together."""
    return source.uniform(0, ceiling)


MAX_ATTEMPTS_EXCEEDED = "max_attempts_exceeded"
TTL_EXCEEDED = "ttl_exceeded"
NON_RETRYABLE = "non_retryable_error"
NEAR_END = 0.8  # the share of its time after which a waiting event is warned about
BACKOFF_IN_RACE_DELAYS = 20  # 5 s where a race waits 250 ms


@dataclass(frozen=True)
class Retry:
    delay: float


@dataclass(frozen=True)
class Abandon:
    reason: str


Decision = Retry | Abandon


@dataclass(frozen=True)
class RetryConfig:
    """How often and how long an event waits for its documents."""

    max_attempts: int = 8
    base_delay_ms: int = 250
    backoff_factor: float = 2.0
    max_delay_seconds: float = 60.0
    ttl_minutes: float = 30.0

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            max_attempts=settings.RETRY_MAX_ATTEMPTS,
            base_delay_ms=settings.RETRY_BASE_DELAY_MS,
            backoff_factor=settings.RETRY_BACKOFF_FACTOR,
            max_delay_seconds=settings.RETRY_MAX_DELAY_SECONDS,
            ttl_minutes=settings.RETRY_TTL_MINUTES,
        )


class RetryPolicy:
    """Decides about races. `retries` counts the retries already made for this event, from 0."""

    def __init__(self, config: RetryConfig, rng: random.Random) -> None:
        self.config = config
        self._rng = rng

    def ceiling(self, retries: int) -> float:
        """The longest that the next retry may wait, in seconds."""
        config = self.config
        base, cap = config.base_delay_ms / 1000, config.max_delay_seconds
        return exponential(base, retries + 1, cap, factor=config.backoff_factor)

    def decide(self, retries: int, elapsed_seconds: float) -> Decision:
        if retries >= self.config.max_attempts:
            return Abandon(MAX_ATTEMPTS_EXCEEDED)
        if elapsed_seconds >= self.config.ttl_minutes * 60:
            return Abandon(TTL_EXCEEDED)
        return Retry(full_jitter(self.ceiling(retries), self._rng))

    def near_limit(self, retries: int, elapsed_seconds: float) -> str | None:
        """Return which limit is near after so many retries, for a warning."""
        most, minutes = self.config.max_attempts, self.config.ttl_minutes
        if retries >= most:
            return f"its last retry of {most}"
        if elapsed_seconds > NEAR_END * minutes * 60:
            return f"{elapsed_seconds:.0f} s of its {minutes:g} minutes"
        return None


@dataclass(frozen=True)
class NewerVersionPatience:
    """Decides about what a later version of the app wrote, while both run: it waits for the other."""

    delay_seconds: float = 60.0
    patience_seconds: float = 24 * 3600.0

    def decide(self, elapsed_seconds: float) -> Decision:
        if elapsed_seconds >= self.patience_seconds:
            return Abandon(TTL_EXCEEDED)
        return Retry(self.delay_seconds)


@dataclass(frozen=True)
class Backoff:
    """Decides about transient failures."""

    max_retries: int = 3
    base_seconds: float = 5.0
    cap_seconds: float = 60.0

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """From the settings of races: a service takes longer to recover than a document to arrive."""
        base = BACKOFF_IN_RACE_DELAYS * settings.RETRY_BASE_DELAY_MS / 1000
        return cls(base_seconds=base, cap_seconds=settings.RETRY_MAX_DELAY_SECONDS)

    def decide(self, failure: ClassifiedError, retries: int) -> Decision:
        """What to do after a failure, when `retries` retries were already made."""
        if failure.kind is not ErrorKind.TRANSIENT:
            return Abandon(NON_RETRYABLE)
        if retries >= self.max_retries:
            return Abandon(MAX_ATTEMPTS_EXCEEDED)
        delay = exponential(self.base_seconds, retries + 1, self.cap_seconds)
        return Retry(max(delay, min(failure.retry_after or 0.0, self.cap_seconds)))


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


async def with_backoff(
    work: Work[Result],
    backoff: Backoff,
    *,
    what: str,
    sleep: Callable[[float], Awaitable[None]],
) -> Result:
    """Do the work, and do it again after transient failures, up to the bound.

    Raises AbandonedError when the bound is reached or the failure is not transient.
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
