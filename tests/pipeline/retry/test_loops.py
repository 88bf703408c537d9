import logging
import random
from collections.abc import Awaitable, Callable

import pytest

from shared.core.errors import DocumentNotFoundError, ErrorKind, PermanentError, TransientError
from shared.pipeline.retry.loops import AbandonedError, RetryHooks, handle_event_with_retry, with_backoff
from shared.pipeline.retry.policies import Backoff, RetryConfig, RetryPolicy

RNG = random.Random(1)


class VirtualTime:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.started = self.seconds = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


class Failing:
    """Work that fails with these errors first, and then gives its result."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def never() -> Callable[[], Awaitable[str]]:
    async def work() -> str:
        raise DocumentNotFoundError("No messages found")

    return work


async def test_retry_with_exponential_backoff() -> None:
    time, work = VirtualTime(), Failing(ConnectionError("DB unavailable"), ConnectionError("DB unavailable"))
    assert await with_backoff(work, Backoff(), what="a test", sleep=time.sleep) == "done"
    assert work.calls == 3
    assert time.slept == [5, 10]


async def test_max_retries_exceeded_raises() -> None:
    time, work = VirtualTime(), Failing(*[ConnectionError("DB down")] * 9)
    with pytest.raises(AbandonedError) as raised:
        await with_backoff(work, Backoff(), what="a test", sleep=time.sleep)
    assert work.calls == 4
    assert time.slept == [5, 10, 20]
    assert (raised.value.reason, raised.value.attempt_count) == ("max_attempts_exceeded", 4)
    assert raised.value.failure.error_type == "ConnectionError"
    assert isinstance(raised.value.__cause__, ConnectionError)
    assert str(raised.value) == "ConnectionError: DB down"


@pytest.mark.parametrize("error", [PermanentError("bad data"), TypeError("a bug"), KeyError("a bug")])
async def test_what_no_retry_can_help_is_given_up_at_once(error: Exception) -> None:
    work = Failing(error)
    with pytest.raises(AbandonedError) as raised:
        await with_backoff(work, Backoff(), what="a test", sleep=VirtualTime().sleep)
    assert work.calls == 1
    assert raised.value.reason == "non_retryable_error"
    assert raised.value.failure.kind is ErrorKind.PERMANENT


async def test_a_service_that_asks_for_time_gets_it() -> None:
    busy = TransientError("busy")
    busy.retry_after = 17.5
    time = VirtualTime()
    await with_backoff(Failing(busy), Backoff(), what="a test", sleep=time.sleep)
    assert time.slept == [17.5]


async def test_a_failed_attempt_is_logged_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    await with_backoff(
        Failing(ConnectionError("gone")), Backoff(), what="embedding", sleep=VirtualTime().sleep
    )
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "embedding failed (attempt 1/4): gone" in record.message
    assert record.exc_info is not None


async def test_a_race_is_waited_for_and_counted() -> None:
    time, work = VirtualTime(), Failing(*[DocumentNotFoundError()] * 3)
    won: list[tuple[int, float]] = []
    hooks = RetryHooks(
        time.now, time.sleep, succeeded=lambda retries, seconds: won.append((retries, seconds))
    )
    policy = RetryPolicy(RetryConfig(), RNG)
    assert await handle_event_with_retry(work, policy, idempotency_key="chunking-a", hooks=hooks) == "done"
    assert work.calls == 4
    assert won == [(3, time.seconds - time.started)]
    assert time.seconds - time.started == pytest.approx(sum(time.slept))
    assert all(delay <= 0.25 * 2**n for n, delay in enumerate(time.slept))


async def test_a_race_that_is_never_won_ends_after_its_attempts() -> None:
    time = VirtualTime()
    lost: list[tuple[int, str]] = []
    hooks = RetryHooks(time.now, time.sleep, abandoned=lambda retries, reason: lost.append((retries, reason)))
    with pytest.raises(AbandonedError) as raised:
        await handle_event_with_retry(
            never(), RetryPolicy(RetryConfig(), RNG), idempotency_key="k", hooks=hooks
        )
    assert (raised.value.reason, raised.value.attempt_count) == ("max_attempts_exceeded", 8)
    assert len(time.slept) == 8
    assert lost == [(8, "max_attempts_exceeded")]


async def test_a_race_that_takes_too_long_ends_before_its_attempts() -> None:
    time = VirtualTime()

    async def slow_sleep(seconds: float) -> None:
        await time.sleep(seconds + 600)

    with pytest.raises(AbandonedError) as raised:
        await handle_event_with_retry(
            never(),
            RetryPolicy(RetryConfig(), RNG),
            idempotency_key="k",
            hooks=RetryHooks(time.now, slow_sleep),
        )
    assert raised.value.reason == "ttl_exceeded"
    assert raised.value.attempt_count == 3


async def test_an_error_that_is_no_race_goes_through_at_once() -> None:
    time, work = VirtualTime(), Failing(ValueError("not a race"))
    with pytest.raises(ValueError, match="not a race"):
        await handle_event_with_retry(
            work, RetryPolicy(RetryConfig(), RNG), idempotency_key="k", hooks=RetryHooks(time.now, time.sleep)
        )
    assert work.calls == 1


async def test_retries_are_logged_at_the_levels_of_the_specification(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    time = VirtualTime()
    work = Failing(*[DocumentNotFoundError()] * 8)
    await handle_event_with_retry(
        work,
        RetryPolicy(RetryConfig(), RNG),
        idempotency_key="chunking-123",
        hooks=RetryHooks(time.now, time.sleep),
    )
    levels = {record.message.split(" (")[0]: record.levelname for record in caplog.records}
    assert levels["Retry attempt 3/8 for event with idempotency key: chunking-123"] == "INFO"
    assert levels["Event chunking-123 is at its last retry of 8"] == "WARNING"
    assert levels["Event chunking-123 processed successfully after 8 retry attempts"] == "INFO"


async def test_a_lost_race_is_not_retried_again_as_a_transient_failure() -> None:
    time = VirtualTime()
    calls = 0

    async def work() -> str:
        nonlocal calls
        calls += 1
        raise DocumentNotFoundError

    async def attempt() -> str:
        return await handle_event_with_retry(
            work, RetryPolicy(RetryConfig(), RNG), idempotency_key="k", hooks=RetryHooks(time.now, time.sleep)
        )

    with pytest.raises(AbandonedError):
        await with_backoff(attempt, Backoff(), what="a test", sleep=time.sleep)
    assert calls == 9


@pytest.mark.parametrize(
    ("retries", "elapsed", "warnings"),
    [
        (6, 1440, []),  # exactly four fifths of its time
        (6, 1440.5, ["Event k has used 1440 s of its 30 minutes"]),
        (7, 0, ["Event k is at its last retry of 8"]),
        (7, 1700, ["Event k is at its last retry of 8"]),
    ],
)
async def test_a_warning_comes_before_the_last_retry_and_late_in_its_time(
    caplog: pytest.LogCaptureFixture, retries: int, elapsed: float, warnings: list[str]
) -> None:
    time, work = VirtualTime(), Failing(*[DocumentNotFoundError()] * (retries + 1))

    async def sleep(_seconds: float) -> None:
        time.seconds = time.started + (elapsed if work.calls == retries else 0)

    policy, hooks = RetryPolicy(RetryConfig(), RNG), RetryHooks(time.now, sleep)
    await handle_event_with_retry(work, policy, idempotency_key="k", hooks=hooks)
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == warnings
