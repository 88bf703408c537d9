import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.embedding.encoder import plan_batches

COUNTS = st.lists(st.integers(0, 600), max_size=200)


@given(COUNTS, st.integers(1, 2000), st.integers(1, 300), st.integers(1, 70))
def test_every_text_stands_in_one_batch_and_no_batch_exceeds_the_budget_or_the_number_of_texts(
    counts: list[int], budget: int, window: int, max_texts: int
) -> None:
    plan = plan_batches(counts, budget=budget, window=window, max_texts=max_texts)
    assert sorted(position for batch in plan.batches for position in batch) == list(range(len(counts)))
    for batch in plan.batches:
        longest = max(min(counts[position], window) for position in batch)
        assert len(batch) == 1 or (longest * len(batch) <= budget and len(batch) <= max_texts)


@given(COUNTS)
def test_texts_are_sorted_by_length_so_that_little_is_padding(counts: list[int]) -> None:
    plan = plan_batches(counts, budget=1024, window=256)
    lengths = [min(counts[position], 256) for batch in plan.batches for position in batch]
    assert lengths == sorted(lengths, reverse=True)


@given(COUNTS)
def test_batches_are_as_full_as_the_budget_lets_them_be(counts: list[int]) -> None:
    plan = plan_batches(counts, budget=1024, window=256)
    for batch in plan.batches[:-1]:
        longest = min(counts[batch[0]], 256)
        assert len(batch) == 64 or longest * (len(batch) + 1) > 1024


def test_a_batch_holds_few_long_texts_or_many_short_ones() -> None:
    plan = plan_batches([256] * 4 + [16] * 64, budget=1024, window=256)
    assert [len(batch) for batch in plan.batches] == [4, 64]


def test_texts_over_the_window_are_named_and_count_with_the_window() -> None:
    plan = plan_batches([256, 257, 10, 5000], budget=1024, window=256)
    assert plan.truncated == (1, 3)
    assert len(plan.batches) == 1


def test_a_text_over_the_budget_is_a_batch_of_its_own() -> None:
    assert plan_batches([200, 150, 40], budget=100, window=256).batches == ((0,), (1,), (2,))


def test_nothing_makes_no_batch() -> None:
    assert plan_batches([], budget=1, window=1).batches == ()


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"window": 0}, {"max_texts": 0}])
def test_limits_that_hold_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="positive"):
        plan_batches([1], **{"budget": 1, "window": 1, **wrong})
