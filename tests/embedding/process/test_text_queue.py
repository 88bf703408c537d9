"""The next texts to embed, chosen from all calls."""

import asyncio

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shared.embedding.encoder import EncodingResult
from shared.embedding.process.text_queue import POOL, Call, WaitingTexts

LOOP = asyncio.new_event_loop()
LOOP.close()


def call(*lengths: int) -> Call:
    texts = [f"{length} tokens" for length in lengths]
    return Call(
        texts,
        lengths,
        EncodingResult(np.zeros((len(texts), 1), np.float32)),
        asyncio.Future(loop=LOOP),
    )


def taken(waiting: WaitingTexts, budget: int) -> list[tuple[Call, int]]:
    return [(item.call, item.length) for item in waiting.take(budget)]


def test_texts_of_several_calls_share_a_batch() -> None:
    waiting, one, other = WaitingTexts(), call(10), call(9, 8)
    waiting.add(one)
    waiting.add(other)
    assert taken(waiting, 40) == [(one, 10), (other, 9), (other, 8)]
    assert (len(waiting), waiting.take(40)) == (0, ())


def test_a_short_question_goes_before_the_rest_of_a_long_archive() -> None:
    waiting, archive, question = WaitingTexts(), call(*[100] * 50), call(4)
    waiting.add(archive)
    waiting.add(question)
    assert taken(waiting, 200) == [(question, 4)]
    assert {owner for owner, _ in taken(waiting, 200)} == {archive}


def test_a_text_that_would_be_mostly_padding_waits_for_its_like() -> None:
    waiting = WaitingTexts()
    waiting.add(call(100, 60, 40))
    assert [length for _, length in taken(waiting, 1000)] == [100, 60]


def test_a_text_over_the_budget_goes_alone() -> None:
    waiting = WaitingTexts()
    waiting.add(call(300, 250))
    assert [length for _, length in taken(waiting, 200)] == [300]


def test_what_a_call_waits_for_is_forgotten_with_it() -> None:
    waiting, gone, stays = WaitingTexts(), call(5, 5), call(5)
    waiting.add(gone)
    waiting.add(stays)
    waiting.remove(gone)
    waiting.remove(gone)
    assert (waiting.calls(), taken(waiting, 100)) == ([stays], [(stays, 5)])


def test_an_older_call_is_done_before_a_younger_one_of_its_size_is_begun() -> None:
    waiting, older, younger = WaitingTexts(), call(*[100] * POOL), call(*[100] * POOL)
    waiting.add(older)
    waiting.add(younger)
    batches = [taken(waiting, 800) for _ in range(POOL // 8)]
    assert {owner for batch in batches for owner, _ in batch} == {older}


def test_many_small_calls_do_not_keep_a_large_one_waiting() -> None:
    waiting, archive = WaitingTexts(), call(*[100] * 50)
    waiting.add(archive)
    for _ in range(20):
        waiting.add(call(90))
    firsts = [taken(waiting, 100)[0][0] for _ in range(6)]
    assert sum(first is archive for first in firsts) == 3


@given(
    st.lists(st.lists(st.integers(1, 256), min_size=1, max_size=20), min_size=1, max_size=8),
    st.integers(16, 2048),
)
def test_every_text_goes_exactly_once_within_the_budget_and_the_oldest_call_always_goes_on(
    calls: list[list[int]], budget: int
) -> None:
    waiting = WaitingTexts()
    for lengths in calls:
        waiting.add(call(*lengths))
    seen: list[tuple[int, int]] = []
    oldest, turns = waiting.calls()[0], 0
    while batch := waiting.take(budget):
        assert len(batch) == 1 or len(batch) * max(item.length for item in batch) <= budget
        seen += [(id(item.call), item.position) for item in batch]
        turns = 0 if oldest in {item.call for item in batch} else turns + 1
        assert turns <= 1
        oldest = (waiting.calls() or [oldest])[0]
    assert len(seen) == len(set(seen)) == sum(map(len, calls))
