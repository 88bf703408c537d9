"""The decisions after a failed batch, as a table."""

import pytest

from shared.core.errors import (
    EncoderCrashError,
    EncoderMemoryError,
    EncoderStartError,
    EncoderTimeoutError,
    UnencodableTextError,
)
from shared.embedding.process.text_queue import BatchAttempt, BatchRetryPolicy

CRASH = EncoderCrashError()


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8, 9, 27, 64])
@pytest.mark.parametrize("retries", [1, 3, 5])
def test_a_text_has_the_initial_attempt_and_the_retries_and_the_last_it_has_alone(
    size: int, retries: int
) -> None:
    attempts, tried, made = BatchRetryPolicy(retries), BatchAttempt(tuple(range(size))), 0
    poison = size // 2
    while True:
        made += 1
        last = tried
        following = attempts.after(tried, CRASH)
        assert sorted(at for delay in following for at in delay.items) == (
            list(tried.items) if following else []
        )
        if not following:
            break
        tried = next(delay for delay in following if poison in delay.items)
    assert made == retries + 1
    assert last.items == (poison,)


def test_a_lone_text_that_is_refused_is_not_tried_again() -> None:
    assert BatchRetryPolicy().after(BatchAttempt((3,)), UnencodableTextError()) == []
    assert len(BatchRetryPolicy().after(BatchAttempt((3, 4)), UnencodableTextError())) == 2


def test_after_a_timeout_there_is_more_time() -> None:
    (again,) = BatchRetryPolicy().after(BatchAttempt((0,)), EncoderTimeoutError())
    (later,) = BatchRetryPolicy().after(again, EncoderTimeoutError())
    assert (again.timeout_factor, later.timeout_factor) == (2.0, 4.0)
    (crashed,) = BatchRetryPolicy().after(BatchAttempt((0,)), CRASH)
    assert crashed.timeout_factor == 1.0


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (CRASH, [0, 0, 0]),
        (EncoderTimeoutError(), [0, 0, 0]),
        (EncoderMemoryError(), [1, 2, 4]),
        (EncoderStartError(), [1, 2, 4]),
    ],
)
def test_the_wait_depends_on_what_failed(error: Exception, waits: list[float]) -> None:
    assert [BatchRetryPolicy().wait_seconds(failures, error) for failures in (1, 2, 3)] == waits
    assert BatchRetryPolicy().wait_seconds(30, error) <= 15
