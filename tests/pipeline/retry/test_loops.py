import logging

import pytest

from shared.core.errors import ErrorKind, PermanentError, TransientError
from shared.pipeline.retry import AbandonedError, Backoff, with_backoff


class VirtualTime:
    """Sleeping takes no time, and is noted."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


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
