import random

import pytest

from shared.core.errors import ClassifiedError, ErrorKind
from shared.pipeline.retry import Abandon, Backoff, Retry, RetryConfig, RetryPolicy
from shared.settings.app import Settings

TRANSIENT = ClassifiedError(ErrorKind.TRANSIENT, "HttpResponseError", "503")


class Highest(random.Random):
    """A generator that always draws the upper end, so that the ceiling is seen."""

    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.mark.parametrize(
    ("retries", "seconds"),
    [(0, 0.25), (1, 0.5), (2, 1), (3, 2), (4, 4), (5, 8), (6, 16), (7, 32)],
)
def test_the_schedule_of_races_is_that_of_the_specification(retries: int, seconds: float) -> None:
    assert RetryPolicy(RetryConfig(), Highest()).decide(retries, 0) == Retry(seconds)


def test_a_delay_is_drawn_between_zero_and_its_ceiling() -> None:
    policy = RetryPolicy(RetryConfig(), random.Random(1))
    delays = [decision.delay for _ in range(2000) if isinstance(decision := policy.decide(3, 0), Retry)]
    assert len(delays) == 2000
    assert 0 <= min(delays) < 0.1
    assert 1.9 < max(delays) <= 2
    assert 0.9 < sum(delays) / len(delays) < 1.1


@pytest.mark.parametrize(
    ("config", "retries", "elapsed", "decision"),
    [
        (RetryConfig(), 8, 0, Abandon("max_attempts_exceeded")),
        (RetryConfig(), 7, 1800, Abandon("ttl_exceeded")),
        (RetryConfig(), 8, 1800, Abandon("max_attempts_exceeded")),
        (RetryConfig(), 7, 1799.9, Retry(32)),
        (RetryConfig(max_attempts=1), 0, 0, Retry(0.25)),
        (RetryConfig(max_attempts=1), 1, 0, Abandon("max_attempts_exceeded")),
        (RetryConfig(max_attempts=100), 20, 0, Retry(60)),
        (RetryConfig(max_attempts=10**6), 10**5, 0, Retry(60)),
        (RetryConfig(max_delay_seconds=3), 7, 0, Retry(3)),
        (RetryConfig(base_delay_ms=1000, backoff_factor=3), 2, 0, Retry(9)),
        (RetryConfig(backoff_factor=1), 7, 0, Retry(0.25)),
        (RetryConfig(ttl_minutes=0.5), 0, 30, Abandon("ttl_exceeded")),
    ],
)
def test_what_is_decided_about_a_race(
    config: RetryConfig, retries: int, elapsed: float, decision: Retry | Abandon
) -> None:
    assert RetryPolicy(config, Highest()).decide(retries, elapsed) == decision


@pytest.mark.parametrize(
    ("retries", "elapsed", "limit"),
    [
        (7, 1440, None),  # exactly four fifths of its time
        (7, 1440.5, "1440 s of its 30 minutes"),
        (8, 0, "its last retry of 8"),
        (8, 1700, "its last retry of 8"),
    ],
)
def test_a_limit_is_near_before_the_last_retry_and_late_in_its_time(
    retries: int, elapsed: float, limit: str | None
) -> None:
    assert RetryPolicy(RetryConfig(), Highest()).near_limit(retries, elapsed) == limit


@pytest.mark.parametrize(
    ("backoff", "failure", "retries", "decision"),
    [
        (Backoff(), TRANSIENT, 0, Retry(5)),
        (Backoff(), TRANSIENT, 1, Retry(10)),
        (Backoff(), TRANSIENT, 2, Retry(20)),
        (Backoff(), TRANSIENT, 3, Abandon("max_attempts_exceeded")),
        (Backoff(max_retries=6), TRANSIENT, 4, Retry(60)),
        (Backoff(max_retries=10**6), TRANSIENT, 10**5, Retry(60)),
        (Backoff(max_retries=0), TRANSIENT, 0, Abandon("max_attempts_exceeded")),
        (Backoff(), ClassifiedError(ErrorKind.TRANSIENT, "E", "m", retry_after=12), 0, Retry(12)),
        (Backoff(), ClassifiedError(ErrorKind.TRANSIENT, "E", "m", retry_after=2), 0, Retry(5)),
        (Backoff(), ClassifiedError(ErrorKind.TRANSIENT, "E", "m", retry_after=9999), 0, Retry(60)),
        (Backoff(), ClassifiedError(ErrorKind.PERMANENT, "E", "m"), 0, Abandon("non_retryable_error")),
        (Backoff(), ClassifiedError(ErrorKind.RACE, "E", "m"), 0, Abandon("non_retryable_error")),
    ],
)
def test_what_is_decided_about_a_failure(
    backoff: Backoff, failure: ClassifiedError, retries: int, decision: Retry | Abandon
) -> None:
    assert backoff.decide(failure, retries) == decision


def test_a_failure_that_asks_for_no_time_is_retried_at_once_where_the_backoff_is_zero() -> None:
    assert Backoff(base_seconds=0).decide(TRANSIENT, 0) == Retry(0)


def test_the_settings_give_each_bound_its_own_value() -> None:
    settings = Settings(
        COSMOS_ENDPOINT="x", SEARCH_ENDPOINT="x", RETRY_MAX_ATTEMPTS=2, RETRY_BASE_DELAY_MS=3,
        RETRY_BACKOFF_FACTOR=4, RETRY_MAX_DELAY_SECONDS=5, RETRY_TTL_MINUTES=6,
    )  # fmt: skip
    assert RetryConfig.from_settings(settings) == RetryConfig(2, 3, 4, 5, 6)
    assert Backoff.from_settings(settings) == Backoff(3, 0.06, 5)
