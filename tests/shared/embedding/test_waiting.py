"""Which texts go next, of all calls together."""

import asyncio
from itertools import count

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shared.embedding.port import Settled
from shared.embedding.waiting import Call, WaitingTexts

NUMBERS = count()
LOOP = asyncio.new_event_loop()
LOOP.close()


def call(*lengths: int) -> Call:
    texts = [f"{length} tokens" for length in lengths]
    return Call(
        next(NUMBERS),
        texts,
        lengths,
        Settled(np.zeros((len(texts), 1), np.float32)),
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


def test_a_short_question_waits_for_one_batch_only_behind_a_long_archive() -> None:
    waiting, archive, question = WaitingTexts(), call(*[100] * 50), call(4)
    waiting.add(archive)
    waiting.add(question)
    assert {each for each, _ in taken(waiting, 200)} == {archive}
    assert taken(waiting, 200) == [(question, 4)]


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


@given(
    st.lists(st.lists(st.integers(1, 256), min_size=1, max_size=20), min_size=1, max_size=8),
    st.integers(16, 2048),
)
def test_every_text_goes_exactly_once_within_the_budget_and_in_fair_turns(
    calls: list[list[int]], budget: int
) -> None:
    waiting = WaitingTexts()
    added = [call(*lengths) for lengths in calls]
    for each in added:
        waiting.add(each)
    seen: list[tuple[int, int]] = []
    unserved = set(added)
    batches = 0
    while batch := waiting.take(budget):
        batches += 1
        assert len(batch) == 1 or len(batch) * max(item.length for item in batch) <= budget
        seen += [(item.call.number, item.position) for item in batch]
        unserved -= {item.call for item in batch}
        assert batches < len(added) or not unserved
    assert len(seen) == len(set(seen)) == sum(map(len, calls))
