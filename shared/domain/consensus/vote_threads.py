"""Votes whose result came in a thread of its own: which belong together, by subject and time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.domain.consensus.proposition import RESULT_TAG, VOTE_TAG
from shared.domain.mail.subjects import split_subject

LATEST_RESULT = timedelta(days=120)


@dataclass(frozen=True, slots=True)
class VoteThread:
    """A thread that calls a vote, or one that brings a result."""

    thread_id: str
    subject: str
    begins: datetime

    @property
    def is_result(self) -> bool:
        return bool(RESULT_TAG.search(self.subject))


def vote_subject(subject: str) -> str | None:
    """What the vote is about, without tags, for a thread that calls a vote or brings a result; else None."""
    if not VOTE_TAG.search(subject) and not RESULT_TAG.search(subject):
        return None
    return " ".join(split_subject(subject).text.casefold().split())[:500] or None


def results_of_votes(threads: Sequence[VoteThread]) -> dict[str, str]:
    """The result's thread by the vote's, of threads with one subject.

    A result belongs to the last vote that was called before it. Of several results the last counts: people
    correct their tallies. The order in which the threads came in does not matter.
    """
    in_time = sorted(threads, key=lambda thread: (thread.begins, thread.is_result, thread.thread_id))
    found: dict[str, str] = {}
    vote: VoteThread | None = None
    for thread in in_time:
        if not thread.is_result:
            vote = thread
        elif vote is not None and thread.begins - vote.begins <= LATEST_RESULT:
            found[vote.thread_id] = thread.thread_id
    return found
