"""Votes of +1, 0 and -1: the last one of each person, binding if the source says so."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.mail.subjects import split_subject
from shared.models.values import Preset, PropositionForm, VoteCount
from shared.reading.cues import NEGATION
from shared.reading.linked_thread import LinkedMail, LinkedThread
from shared.reading.mails import OwnSentence
from shared.reading.proposal import RESULT_TAG, VOTE_TAG, Proposal

BINDING_ROLES = frozenset({"binding", "release manager", "pmc", "chair", "committer", "maintainer"})

# At most six short words before the mark, or words after it that show a vote.
_OPENING = re.compile(
    r"\W{0,3}(?:[\w'\u00c0-\u024f]{1,14}[ ,.:!;-]+){0,6}?\*?([+-])\s?([0-2])\b(?![\d.%/x-]|:\d|"
    r" (?:needs?|requires?|means|must|blocks|would)\b)"
)
_CLOSING = re.compile(
    r"(?:^|[\s(,;:.!])\*?([+-])([0-2])(?:\s?,?\s?(?:from (?:me|my side|us|my end)|"
    r"[(\[]?(?:non[- ]?)?binding)|[\W_]*$)"
)
_NON_BINDING = re.compile(r"\b(?:non|not)[- ]?(?:a )?binding\b|\bnon-?pmc\b", re.IGNORECASE)
_LEGEND = re.compile(
    r"\s{0,8}\[ ?\]|"
    r".{0,8}[+-]\s?[0-2]\b\W{0,3}(?:=|(?:if|means?|approve|disapprove|abstain|no opinion|i don't)\b)"
)
_ABOUT_VOTES = re.compile(
    r"\b(?:need|needs|requires?|wait\w*|get|got|received?|have|has|with|missing|"
    r"more|another|three|two|other|your|his|her|their|binding votes?|if|would|could|might|maybe|count\w*|"
    r"voted|votes|vote was|first|instead|rather|please|before|until)\b|\bthanks? for (?:the |your |all )?$|"
    r"\bnot (?:yet )?(?:an? |my )?(?:\w+ )?$|\b(?!here|that|it|there|this|let)\w+'s (?:\w+ )?$"
)
_OF_A_REMARK = re.compile(
    r"\s?(?:to|for|on) (?!me\b|us\b|this\b|it\b|"
    r"that\b|(?:the |a |my )?(?:releas|adopt|merg|publi|approv|accept|vote|propos|graduat|promot|option))\w"
)
"""A "+1 to fixing the manual" is about the manual."""
_FILLED = re.compile(r"\s{0,8}\[ ?x ?\]\s*")
"""A ballot paper's line with a cross, which is a vote."""
_MARKS = frozenset(f"{sign}{space}{value}" for sign in "+-" for space in ("", " ") for value in "012")
_TAKES_BACK = re.compile(
    r"\b(?:withdraw\w*|retract\w*|revok\w+|revers\w+|chang\w+|switch\w*|"
    r"turn\w*|convert\w*|drop\w*|remov\w+|lift\w*) (?:my |the |our |this )?(?:\w+ )?(?:vote )?(?:of |"
    r"from )?(?:an? )?(?:[+-] ?[01]\b|(?:vote|veto|nak|nack)\b(?! (?:to|into)\b))"
)
"""The vote that such words name is the previous one."""
_CONDITION = re.compile(r"\b(?:if|unless|once|provided|as soon as|assuming|would)\b")


@dataclass(frozen=True, slots=True)
class Ballot:
    """One person's vote: 1, 0 or -1."""

    person: str
    value: int
    sentence: OwnSentence
    binding: bool | None
    before: "Ballot | None" = None
    """The person's last vote of another value, if they changed it."""
    voice: str = ""
    """The key of one voter, from `People.voice`."""


def is_legend(sentence: OwnSentence) -> bool:
    """Return whether a ballot paper's line explains a vote. Nobody votes by it."""
    if _FILLED.match(sentence.folded):
        return False
    return bool(_LEGEND.match(sentence.folded))


def vote_in(sentence: OwnSentence) -> int | None:
    """Return the vote that a sentence casts, or None."""
    folded = sentence.folded
    if _MARKS.isdisjoint(sentence.words):
        return None
    if is_legend(sentence) or sentence.asks or _CONDITION.search(folded):
        return None
    folded = _TAKES_BACK.sub(" ", _FILLED.sub("", folded))
    for found in (_OPENING.match(folded), _CLOSING.search(folded)):
        if found is None or _OF_A_REMARK.match(folded, found.end(2)):
            continue
        if not _ABOUT_VOTES.search(folded[: found.start(1)]):
            value = min(1, int(found[2]))  # on a scale to 2, a 2 is for or against it
            return value if found[1] == "+" else -value
    return None


def takes_back_a_vote(sentence: OwnSentence) -> bool:
    """Return whether a vote is withdrawn, whatever is voted instead."""
    return (
        bool(_TAKES_BACK.search(sentence.folded))
        and not sentence.asks
        and not _CONDITION.search(sentence.folded)
        and not NEGATION.finds(sentence)
    )


def read_ballots(thread: LinkedThread, proposal: Proposal) -> dict[str, Ballot]:
    """Return each voter's last vote. In a vote all people count, even the proposer."""
    if proposal.form is not PropositionForm.VOTE:
        return {}
    ballots: dict[str, Ballot] = {}
    withdrawn: dict[str, Ballot] = {}
    for mail in thread.mails:
        cast = next(_cast(thread, proposal, mail), None)
        if cast is not None:
            voter = mail.person
            ballots[voter] = _after(cast, ballots.get(voter) or withdrawn.get(voter))
        elif mail.person in ballots and any(map(takes_back_a_vote, mail.sentences)):
            withdrawn[mail.person] = ballots.pop(mail.person)
    return ballots


def _after(cast: Ballot, before: Ballot | None) -> Ballot:
    if before is None:
        return cast
    return replace(cast, before=before if before.value != cast.value else before.before)


def _cast(thread: LinkedThread, proposal: Proposal, mail: LinkedMail) -> Iterator[Ballot]:
    """Yield the first vote in a mail. Under another voter's quote a mark more likely answers that voter."""
    if mail is proposal.mail:
        return
    for sentence in mail.sentences:
        value = vote_in(sentence)
        if value is not None and _is_to_the_vote(thread, proposal, sentence):
            voice = thread.people.voice(mail.number)
            yield Ballot(mail.person, value, sentence, _is_binding(thread, mail, sentence), voice=voice)
            return


def _is_to_the_vote(thread: LinkedThread, proposal: Proposal, sentence: OwnSentence) -> bool:
    answered = thread.answered(sentence)
    return sentence.block < 0 or answered in proposal.mails or answered is None


def _is_binding(thread: LinkedThread, mail: LinkedMail, sentence: OwnSentence) -> bool | None:
    """Return whether the source makes the vote binding. A voter may only declare it non-binding."""
    if thread.preset is not Preset.APACHE:
        return None
    if _NON_BINDING.search(sentence.text):
        return False
    role = thread.people.role(mail.number)
    return role is not None and role.role in BINDING_ROLES


def count_votes(ballots: dict[str, Ballot]) -> VoteCount:
    """Count the votes. Equal votes of addresses with one full name are one, binding if one of them is."""
    votes: dict[tuple[str, int], bool] = {}
    for ballot in ballots.values():
        voter = (ballot.voice or ballot.person, ballot.value)
        votes[voter] = votes.get(voter, False) or bool(ballot.binding)

    def number(value: int, *, binding: bool) -> int:
        return sum(cast == value and binds == binding for (_, cast), binds in votes.items())

    return VoteCount(
        binding_for=number(1, binding=True),
        binding_against=number(-1, binding=True),
        other_for=number(1, binding=False),
        other_against=number(-1, binding=False),
        abstained=sum(cast == 0 for _, cast in votes),
    )


LATEST_RESULT = timedelta(days=120)


@dataclass(frozen=True, slots=True)
class VoteThread:
    """A thread that calls a vote or brings a result."""

    thread_id: str
    subject: str
    begins: datetime
    by: str = ""
    """The address of its first mail."""
    has_role: bool = False
    """Its writer held a role that may close a vote."""

    @property
    def is_result(self) -> bool:
        return bool(RESULT_TAG.search(self.subject))


def vote_subject(subject: str) -> str | None:
    """Return the subject without tags of a thread that calls a vote or brings a result, else None."""
    if not VOTE_TAG.search(subject) and not RESULT_TAG.search(subject):
        return None
    return " ".join(split_subject(subject).text.casefold().split())[:500] or None


def results_of_votes(threads: Sequence[VoteThread]) -> dict[str, str]:
    """Return the result's thread for each vote's thread, among threads with one subject.

    A result belongs to the last earlier vote that its writer called. A role holder's result may also belong
    to the last vote that a role holder called, else to the last vote. Other results do not count. The last of
    several results counts, because people correct their tallies. The order of arrival does not matter.
    """
    in_time = sorted(threads, key=lambda thread: (thread.begins, thread.is_result, thread.thread_id))
    found: dict[str, str] = {}
    votes: list[VoteThread] = []
    for thread in in_time:
        if not thread.is_result:
            votes.append(thread)
        elif (vote := _vote_of(thread, votes)) is not None:
            found[vote.thread_id] = thread.thread_id
    return found


def _vote_of(result: VoteThread, before: Sequence[VoteThread]) -> VoteThread | None:
    in_reach = [vote for vote in before if result.begins - vote.begins <= LATEST_RESULT]
    own = [vote for vote in in_reach if vote.by == result.by]
    if own or not result.has_role:
        return own[-1] if own else None
    return next((vote for vote in reversed(in_reach) if vote.has_role), in_reach[-1] if in_reach else None)
