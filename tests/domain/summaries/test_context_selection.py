from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.domain.summaries.context_selection import select_context
from shared.domain.summaries.models import ThreadContext
from tests.support.discussions import discussion, letters
from tests.support.properties import STEADY


@cache
def long_thread(people: int, messages: int, window: int = 3000, top_k: int = 12) -> ThreadContext:
    said = [
        (
            f"Person{number % people}",
            f"Remark {number} on topic {number % 7}. " + "It has many words to read. " * 20,
        )
        for number in range(messages)
    ]
    return discussion(letters(*said), window=window, top_k=top_k)


def test_a_thread_that_fits_is_read_whole_and_in_order() -> None:
    context = long_thread(3, 6)
    selection = select_context(context, 100_000)
    assert selection.is_whole
    assert [chunk.chunk_id for chunk in selection.chunks] == [chunk.chunk_id for chunk in context.chunks]


def test_a_thread_that_does_not_fit_stays_within_the_budget_and_in_order() -> None:
    context = long_thread(5, 40)
    selection = select_context(context, 1500, overhead_tokens=10)
    assert not selection.is_whole
    assert selection.tokens <= 1500
    assert selection.tokens == sum(chunk.token_count + 10 for chunk in selection.chunks)
    order = [chunk.chunk_id for chunk in context.chunks]
    places = [order.index(chunk.chunk_id) for chunk in selection.chunks]
    assert places == sorted(set(places))


def test_every_participant_the_first_and_the_latest_messages_are_read() -> None:
    context = long_thread(8, 60)
    selection = select_context(context, 2500)
    by_key = {message.key: message for message in context.messages}
    people = {by_key[chunk.message_key].sender_email for chunk in selection.chunks}
    assert people == {message.sender_email for message in context.messages}
    assert {chunk.message_key for chunk in selection.chunks} >= {"k0", "k57", "k58", "k59"}


def test_a_participant_is_read_where_they_take_a_stance() -> None:
    said = [(f"P{n % 4}", f"Remark {n}. " + "Padding goes on and on here. " * 25) for n in range(40)]
    said[21] = ("P1", "I object to this draft, it breaks NAT. " + "More padding that says little. " * 10)
    selection = select_context(discussion(letters(*said)), 1800)
    assert any("I object to this draft" in chunk.text for chunk in selection.chunks)


def test_top_k_bounds_what_is_added_for_relevance() -> None:
    few = select_context(long_thread(2, 60, top_k=1), 5000)
    many = select_context(long_thread(2, 60, top_k=20), 5000)
    assert len(many.chunks) == len(few.chunks) + 19


def test_embeddings_decide_what_is_relevant() -> None:
    said = [("Ann", "opening words " * 60)]
    said += [("Ann", f"filler {n} " * 60) for n in range(10)]
    said += [("Ann", "closing words " * 60)] * 3
    on_topic = ("subject", "filler 4", "filler 7")

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1, 0] if text.startswith(on_topic) else [0, 1] for text in texts], dtype=np.float32)

    context = discussion(letters(*said), subject="subject", top_k=2, size=2000, embed=embed)
    chosen = {chunk.message_key for chunk in select_context(context, 1500).chunks}
    assert chosen >= {"k5", "k8"}


@pytest.mark.parametrize("budget", [0, -5, 1])
def test_without_room_nothing_is_read(budget: int) -> None:
    assert select_context(long_thread(2, 3), budget).chunks == ()


@STEADY
@given(st.sampled_from([1, 6]), st.sampled_from([1, 4, 20]), st.integers(0, 4000))
def test_no_budget_is_ever_exceeded(people: int, messages: int, budget: int) -> None:
    selection = select_context(long_thread(people, messages), budget)
    assert selection.tokens <= budget
    assert len({chunk.chunk_id for chunk in selection.chunks}) == len(selection.chunks)
