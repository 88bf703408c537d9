"""The reading order of a thread."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from shared.models.threads import Message
from shared.views.conversation import in_reading_order
from tests.support.documents import CREATED
from tests.support.properties import STEADY

START = datetime(2024, 1, 1, tzinfo=UTC)


def message(number: int, answers: int | None = None, refs: tuple[int, ...] = ()) -> Message:
    return Message(
        created_at=CREATED,
        id=f"k{number}",
        message_key=f"k{number}",
        message_id=f"<{number}@x>",
        archive_id="a",
        thread_id="t",
        in_reply_to=None if answers is None else f"<{answers}@x>",
        references=[f"<{ref}@x>" for ref in refs],
        date=START + timedelta(hours=number),
    )


def order(*messages: Message) -> list[tuple[str, int]]:
    return [(row.message.id, row.depth) for row in in_reading_order(messages)]


def test_answers_stand_under_what_they_answer_in_the_order_of_time() -> None:
    found = order(message(3, 1), message(2, 0), message(1, 0), message(0), message(4, 2))
    assert found == [("k0", 0), ("k1", 1), ("k3", 2), ("k2", 1), ("k4", 2)]


def test_a_message_whose_parent_is_missing_stands_under_the_nearest_one_that_is_there() -> None:
    assert order(message(0), message(2, 1, refs=(0, 1))) == [("k0", 0), ("k2", 1)]
    assert order(message(0), message(2, 9)) == [("k0", 0), ("k2", 0)]


def test_a_chain_of_a_thousand_answers_is_no_problem() -> None:
    found = order(*(message(n, n - 1 if n else None) for n in range(1000)))
    assert found[-1] == ("k999", 999)


def test_messages_that_answer_each_other_in_a_circle_all_appear() -> None:
    assert order(message(0, 1), message(1, 2), message(2, 0)) == [("k0", 0), ("k2", 1), ("k1", 2)]
    assert order(message(0, 0)) == [("k0", 0)]


@STEADY
@given(st.lists(st.tuples(st.integers(0, 12), st.lists(st.integers(0, 12), max_size=3)), max_size=12))
def test_every_message_appears_once_after_its_parent(links: list[tuple[int, list[int]]]) -> None:
    messages = [message(n, answers, tuple(refs)) for n, (answers, refs) in enumerate(links)]
    placed = in_reading_order(messages)
    assert sorted(row.message.id for row in placed) == sorted(message.id for message in messages)
    depths: dict[str, int] = {}
    for row in placed:
        assert row.depth == (depths[row.parent.id] + 1 if row.parent else 0)
        depths[row.message.id] = row.depth
