"""The match between votes and their results."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from shared.reading.votes import VoteThread, results_of_votes, vote_subject

START = datetime(2024, 1, 1, tzinfo=UTC)


def thread(name: str, subject: str, day: int) -> VoteThread:
    return VoteThread(name, subject, START + timedelta(days=day))


@pytest.mark.parametrize(
    ("subject", "about"),
    [
        ("[VOTE] Release Example 1.2", "release example 1.2"),
        ("[RESULT] [VOTE]  Release Example 1.2", "release example 1.2"),
        ("Re: [list] [VOTE][RESULT] Release Example 1.2", "release example 1.2"),
        ("VOTE: Release Example 1.2", "vote: release example 1.2"),
        ("Release Example 1.2", None),
        ("[VOTE]", None),
    ],
)
def test_what_is_voted_on(subject: str, about: str | None) -> None:
    assert vote_subject(subject) == about


def test_a_result_belongs_to_the_last_vote_before_it_in_whatever_order_they_come() -> None:
    threads = [
        thread("v1", "[VOTE] X", 0), thread("r1", "[RESULT] [VOTE] X", 4),
        thread("v2", "[VOTE] X", 10), thread("r2", "[RESULT] [VOTE] X", 14), thread("r3", "[RESULT] X", 15),
    ]  # fmt: skip
    for order in itertools.permutations(threads):
        assert results_of_votes(order) == {"v1": "r1", "v2": "r3"}


def test_a_result_before_its_vote_or_half_a_year_after_it_is_of_another() -> None:
    assert results_of_votes([thread("r", "[RESULT] X", 0), thread("v", "[VOTE] X", 1)]) == {}
    assert results_of_votes([thread("v", "[VOTE] X", 0), thread("r", "[RESULT] X", 180)]) == {}
