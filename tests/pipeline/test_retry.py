"""The decisions after a failure, as a table, and the retries inside one call."""

import logging
import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.errors import ClassifiedError, ErrorKind, PermanentError, TransientError
from shared.core.runtime import Runtime
from shared.pipeline.delivery import Delivery
from shared.pipeline.retry import (
    REQUESTS,
    Backoff,
    GaveUpError,
    Retry,
    RetryDecision,
    RetryPolicy,
    exponential,
    with_backoff,
)
from shared.settings.app import Settings
from tests.support.properties import STEADY

SINCE = datetime(2026, 1, 2, tzinfo=UTC)
RACE = ClassifiedError(ErrorKind.RACE, "DocumentNotFoundError", "not there")
TRANSIENT = ClassifiedError(ErrorKind.TRANSIENT, "HttpResponseError", "503")
PERMANENT = ClassifiedError(ErrorKind.PERMANENT, "TypeError", "a bug")
AWAY = replace(TRANSIENT, is_outage=True)
NEWER = ClassifiedError(ErrorKind.TRANSIENT, "NewerVersionError", "2.0")
GIVEN: dict[str, Any] = {"COSMOS_ENDPOINT": "x", "SEARCH_ENDPOINT": "x"}
EVENTS = RetryPolicy.of_events(Settings(**GIVEN))
MOST, LATE, NEVER = "max_attempts_exceeded", "ttl_exceeded", "non_retryable_error"
DAY = 24 * 3600


def busy(seconds: float) -> ClassifiedError:
    return ClassifiedError(ErrorKind.TRANSIENT, "E", "busy", retry_after=seconds)


class Highest(random.Random):
    """A random generator that always returns the upper end, which shows the ceiling."""

    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.mark.parametrize(
    ("policy", "failure", "races", "backoffs", "age", "outcome"),
    [
        # The specification defines the schedule of races.
        *((EVENTS, RACE, n, 0, 0, seconds) for n, seconds in enumerate((0.25, 0.5, 1, 2, 4, 8, 16, 32))),
        (EVENTS, RACE, 8, 0, 0, MOST),
        (EVENTS, RACE, 7, 0, 1799.9, 32),
        (EVENTS, RACE, 7, 0, 1800, LATE),
        (EVENTS, RACE, 8, 0, 1800, MOST),
        (EVENTS, RACE, 0, 3, 0, 0.25),  # other failures have their own count
        (EVENTS, TRANSIENT, 0, 0, 0, 5),
        (EVENTS, TRANSIENT, 0, 1, 0, 10),
        (EVENTS, TRANSIENT, 8, 2, 1e9, 20),
        (EVENTS, TRANSIENT, 0, 3, 0, MOST),
        (EVENTS, busy(12), 0, 0, 0, 12),
        (EVENTS, busy(2), 0, 0, 0, 5),
        (EVENTS, busy(9999), 0, 0, 0, 60),
        (EVENTS, PERMANENT, 0, 0, 0, NEVER),
        (EVENTS, NEWER, 0, 500, DAY - 1, 60),
        (EVENTS, NEWER, 0, 0, DAY, LATE),
        (REQUESTS, RACE, 7, 0, 1e9, 300),
        (REQUESTS, RACE, 8, 0, 0, MOST),
        (REQUESTS, TRANSIENT, 0, 0, 0, 5),
        (REQUESTS, TRANSIENT, 0, 39, 0, 300),
        (REQUESTS, TRANSIENT, 0, 40, 0, MOST),
        (REQUESTS, PERMANENT, 0, 0, 0, NEVER),
        (RetryPolicy(Backoff()), AWAY, 0, 3, 0, MOST),  # a call does not wait for hours
        (RetryPolicy(Backoff(10**6)), TRANSIENT, 0, 10**5, 0, 60),
        (RetryPolicy(Backoff(base_seconds=0)), TRANSIENT, 0, 0, 0, 0),
        (RetryPolicy(Backoff(factor=1)), TRANSIENT, 0, 2, 0, 5),
        (RetryPolicy(Backoff(0)), TRANSIENT, 0, 0, 0, MOST),
        (RetryPolicy(Backoff()), RACE, 0, 0, 0, NEVER),  # here no other worker writes the missing document
    ],
)
@pytest.mark.requirement("R-702", "R-703", "R-704", "R-711")
def test_what_is_decided_after_a_failure(
    policy: RetryPolicy, failure: ClassifiedError, races: int, backoffs: int, age: float, outcome: float | str
) -> None:
    runtime = Runtime(now=lambda: SINCE + timedelta(seconds=age), random=Highest())
    wanted = RetryDecision(None, outcome) if isinstance(outcome, str) else RetryDecision(outcome)
    assert Retry(races, backoffs, SINCE).decide(failure, policy, runtime) == wanted


def test_the_settings_give_each_bound_its_own_value() -> None:
    given = {
        "MAX_ATTEMPTS": 2,
        "BASE_DELAY_MS": 3,
        "BACKOFF_FACTOR": 4,
        "MAX_DELAY_SECONDS": 5,
        "TTL_MINUTES": 6,
    }
    settings = Settings(**GIVEN, **{f"RETRY_{name}": value for name, value in given.items()})
    race = Backoff(2, 0.003, 5, 4, max_age_seconds=360, jitter=True)
    outage = Backoff(600, 0.06, 25)
    assert RetryPolicy.of_events(settings) == RetryPolicy(Backoff(3, 0.06, 5), race, outage)


def test_an_outage_is_waited_for_two_days_and_counts_apart() -> None:
    """An outage costs a document no attempt, and leaves the retries for its own failures and races."""
    runtime = Runtime(now=lambda: SINCE + timedelta(days=1))
    retry, waited = Retry(since=SINCE), 0.0
    while (delay := retry.decide(AWAY, EVENTS, runtime).delay) is not None:
        retry, waited = retry.next(AWAY, runtime.now()), waited + delay
    assert 2 * DAY < waited < 2.2 * DAY
    assert retry.decide(AWAY, EVENTS, runtime).reason == MOST
    assert (retry.number, retry.attempts) == (600, 601)
    assert retry.decide(TRANSIENT, EVENTS, runtime).delay == 5
    assert retry.decide(RACE, EVENTS, runtime).delay is not None, "its time counts from the outage's end"


def test_a_version_that_knows_no_outages_reads_their_retries_as_its_own() -> None:
    """The number of the retry must not be lower than the claimed one, or the version takes it for a copy."""
    properties = Retry().next(AWAY, SINCE).next(AWAY, SINCE).properties()
    assert properties["retry_races"] + properties["retry_backoffs"] == properties["retry"] == 2  # type: ignore[operator]


@pytest.mark.requirement("R-702")
def test_the_delay_of_a_race_is_drawn_between_zero_and_its_ceiling() -> None:
    source = random.Random(1)
    delays = [Backoff(jitter=True).decide(0, source=source).delay or 0.0 for _ in range(2000)]
    assert 0 <= min(delays) < 0.1
    assert 4.9 < max(delays) <= 5
    assert 2.4 < sum(delays) / len(delays) < 2.6


@pytest.mark.parametrize(
    ("retries", "age", "limit"),
    [
        (7, 1440, None),  # exactly four fifths of its time
        (7, 1440.5, "1440 s of its 30 minutes"),
        (8, 0, "its last retry of 8"),
        (8, 1700, "its last retry of 8"),
    ],
)
def test_a_limit_is_near_before_the_last_retry_and_late_in_its_time(
    retries: int, age: float, limit: str | None
) -> None:
    assert Backoff(8, max_age_seconds=1800).near_limit(retries, age) == limit
    assert Backoff(math.inf).near_limit(10**6, 1e9) is None


def test_a_retry_travels_in_the_properties_of_its_message() -> None:
    first = Retry.of(Delivery(b"", "id", enqueued_at=SINCE), SINCE + timedelta(hours=1))
    assert (first.number, first.attempts, first.since) == (0, 1, SINCE)
    second = first.next(RACE, SINCE).next(TRANSIENT, SINCE).next(RACE, SINCE)
    assert (second.races, second.backoffs, second.number, second.attempts) == (2, 1, 3, 4)
    assert Retry.of(Delivery(b"", "copy", properties=second.properties()), SINCE) == second
    again = Retry.of(Delivery(b"", "id", enqueued_at=SINCE + timedelta(days=1)), SINCE)
    assert again.chain != first.chain  # a resent event starts over


SECONDS = st.floats(0.001, 3600)


@STEADY
@given(SECONDS, st.integers(1, 10_000), SECONDS, st.floats(1, 10))
def test_a_delay_grows_by_its_factor_up_to_its_cap(
    base: float, attempt: int, cap: float, factor: float
) -> None:
    assert exponential(base, attempt, cap, factor=factor) == min(base * factor ** min(attempt - 1, 64), cap)


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(-1, 5.0), (0, 5.0), (1, 5.0), (2, 10.0), (3, 20.0), (4, 30.0), (5, 30.0)]
)
def test_attempts_count_from_one(attempt: int, seconds: float) -> None:
    assert exponential(5, attempt, 30) == seconds


class Failing:
    """Work that fails with these errors first, and then returns its result."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.slept: list[float] = []

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        """Record the sleep without waiting."""
        self.slept.append(seconds)

    async def run(self) -> str:
        return await with_backoff(self, Backoff(), what="a test", sleep=self.sleep)


@pytest.mark.requirement("R-711", "R-1105")
async def test_retry_with_exponential_backoff() -> None:
    work = Failing(ConnectionError("DB unavailable"), ConnectionError("DB unavailable"))
    assert await work.run() == "done"
    assert (work.calls, work.slept) == (3, [5, 10])


@pytest.mark.parametrize(
    ("error", "calls", "reason"),
    [
        (ConnectionError("no"), 4, MOST),
        (PermanentError("no"), 1, NEVER),
        (TypeError("no"), 1, NEVER),
        (KeyError("no"), 1, NEVER),
    ],
)
@pytest.mark.requirement("R-606", "R-712")
async def test_max_retries_exceeded_raises(error: Exception, calls: int, reason: str) -> None:
    work = Failing(*[error] * 9)
    with pytest.raises(GaveUpError) as raised:
        await work.run()
    assert (work.calls, raised.value.attempts, raised.value.reason) == (calls, calls, reason)
    assert raised.value.failure.error_type == type(error).__name__
    assert raised.value.__cause__ is error
    assert str(raised.value).startswith(f"{type(error).__name__}: ")


async def test_what_was_given_up_inside_is_not_tried_again() -> None:
    inner = GaveUpError("no_time", 1, TRANSIENT)
    work = Failing(inner)
    with pytest.raises(GaveUpError) as raised:
        await work.run()
    assert (raised.value, work.calls) == (inner, 1)


async def test_a_service_that_asks_for_time_gets_it() -> None:
    error = TransientError("busy")
    error.retry_after = 17.5
    work = Failing(error)
    await work.run()
    assert work.slept == [17.5]


@pytest.mark.requirement("R-905")
async def test_a_failed_attempt_is_logged_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    await Failing(ConnectionError("gone")).run()
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "a test failed (attempt 1/4): gone" in record.message
    assert record.exc_info is not None
