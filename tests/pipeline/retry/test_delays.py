"""The delay formulas, against those that each policy once had of its own."""

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.pipeline.retry import exponential, full_jitter
from tests.support.properties import STEADY

ATTEMPTS = st.integers(1, 10_000)
SECONDS = st.floats(0.001, 3600)


@STEADY
@given(SECONDS, ATTEMPTS, SECONDS)
def test_doubling_with_a_cap_as_for_transient_failures(base: float, attempt: int, cap: float) -> None:
    assert exponential(base, attempt, cap) == min(base * 2 ** min(attempt - 1, 64), cap)


@STEADY
@given(SECONDS, ATTEMPTS, SECONDS, st.floats(1, 10))
def test_any_factor_as_for_races(base: float, attempt: int, cap: float, factor: float) -> None:
    assert exponential(base, attempt, cap, factor=factor) == min(base * factor ** min(attempt - 1, 64), cap)


@STEADY
@given(st.integers(1, 86_400), ATTEMPTS, st.integers(1, 7 * 86_400))
def test_durations_as_in_the_sweep(base: int, attempt: int, cap: int) -> None:
    old = min(timedelta(seconds=base) * 2 ** min(attempt - 1, 20), timedelta(seconds=cap))
    assert timedelta(seconds=exponential(base, attempt, cap)) == old


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(-1, 5.0), (0, 5.0), (1, 5.0), (2, 10.0), (3, 20.0), (4, 30.0), (5, 30.0)]
)
def test_attempts_count_from_one(attempt: int, seconds: float) -> None:
    assert exponential(5, attempt, 30) == seconds


def test_full_jitter_is_uniform_from_zero_to_its_ceiling() -> None:
    source = random.Random(1)
    delays = [full_jitter(8, source) for _ in range(2000)]
    assert 0 <= min(delays) < 0.1
    assert 7.9 < max(delays) <= 8
    assert 3.8 < sum(delays) / len(delays) < 4.2
