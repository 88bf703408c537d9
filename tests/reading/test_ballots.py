"""Single votes: which marks are votes, which question they answer, and how they count."""

import pytest

from evaluation.consensus_corpus import read_profile
from shared.models.values import PropositionForm, SourceProfile, VoteCount
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import OwnSentence, ThreadMail, own_sentences
from shared.reading.proposal import find_proposal
from shared.reading.votes import Ballot, count_votes, is_legend, read_ballots, vote_in
from tests.support.thread_mails import MAVEN, mail

VOTE = mail(0, "rita@apache.example", "Please vote on it.", subject="[VOTE] Release Thing 1.2")


def sentence(text: str) -> OwnSentence:
    (found,) = own_sentences(text, (), 0)
    return found


def ballots(*answers: ThreadMail, profile: SourceProfile = MAVEN) -> dict[str, tuple[int, bool | None]]:
    """Return value and weight of each vote, by the first part of the voter's address."""
    thread = LinkedThread([VOTE, *answers], profile)
    put = find_proposal(thread)
    assert put.form is PropositionForm.VOTE
    return {
        person.partition("@")[0]: (ballot.value, ballot.binding)
        for person, ballot in read_ballots(thread, put).items()
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("+1", 1),
        ("+ 1", 1),
        ("*+1*", 1),
        ("-1", -1),
        ("- 1", -1),
        ("+0", 0),
        ("-0", 0),
        ("- 0", 0),
        ("+ 0", 0),
        ("+1 (binding)", 1),
        ("My vote: +1", 1),
        ("So, -1 from me.", -1),
        ("All the tests of the suite ran on my old laptop without a failure, so it is +1 from me", 1),
        ("Checked the signatures and the sums of all files of the distribution on my own machine: +1", 1),
        ("-1 because the notice is wrong.", -1),
        ("-1: the notice is wrong.", -1),
        ("[x] +1", 1),
        ("[X] -1 do not release it", -1),
    ],
)
def test_a_mark_that_is_said_is_a_vote(text: str, value: int) -> None:
    assert vote_in(sentence(text)) == value


@pytest.mark.parametrize(
    "text",
    [
        "+1 if the notice is mended.",
        "+1 once the notice is there.",
        "It would be +1.",
        "Is that a +1?",
        "Thanks for the +1",
        "Now that we got two votes, it has +1",
        "We need three +1",
        "Another voter said about the files that they have +1",
        "It is +1.5 times as fast.",
        "+10 of them failed.",
        "The offset is at +1:30 of the log.",
        "I looked at it for a day.",
        "+1 means yes",
        "-1 = against",
        "[ ] +1",
        "[ ] -1 approve",
    ],
)
def test_a_mark_that_is_only_talked_about_is_none(text: str) -> None:
    assert vote_in(sentence(text)) is None


@pytest.mark.parametrize(
    ("text", "legend"),
    [("[ ] +1", True), ("+1 means yes", True), ("-1 disapprove", True), ("+1 from me", False)],
)
def test_a_ballot_papers_line_is_a_legend(text: str, legend: bool) -> None:
    assert is_legend(sentence(text)) is legend


def test_the_last_vote_of_a_person_counts_and_the_first_of_a_mail() -> None:
    changed = ballots(mail(1, "ann", "+1"), mail(2, "ann", "-1, I found a bug."))
    assert changed == {"ann": (-1, False)}
    assert ballots(mail(1, "ann", "+1\n\n-1")) == {"ann": (1, False)}


def test_a_zero_is_a_vote() -> None:
    assert ballots(mail(1, "ann", "+0"), mail(2, "bob", "-0")) == {"ann": (0, False), "bob": (0, False)}


def test_a_mark_answers_the_vote_or_nothing_else() -> None:
    remark = "The manual should name the new place of the files."
    ann = mail(1, "ann", f"+1\n\n{remark}")
    to_vote = mail(2, "bob", "+1", under="Please vote on it.")
    to_ann = mail(2, "bob", "+1", answers=1, under=remark)
    from_nowhere = mail(2, "bob", "+1", answers=None, under="Words of a mail that is not here.")
    no_quote = mail(2, "bob", "+1", answers=1)
    assert "bob" in ballots(ann, to_vote)
    assert "bob" not in ballots(ann, to_ann)
    assert "bob" in ballots(ann, from_nowhere)
    assert "bob" in ballots(ann, no_quote), "without a quote a mark is to the vote, whomever the mail answers"


def test_the_mail_that_calls_the_vote_casts_none() -> None:
    calling = mail(0, "rita@apache.example", "Please vote on it.\n\n+1 from me", subject="[VOTE] Release 1.2")
    thread = LinkedThread([calling], MAVEN)
    assert read_ballots(thread, find_proposal(thread)) == {}


def test_outside_a_vote_no_ballot_is_read() -> None:
    thread = LinkedThread([mail(0, "ann", "I propose to move the build."), mail(1, "bob", "+1")], MAVEN)
    assert read_ballots(thread, find_proposal(thread)) == {}


@pytest.mark.parametrize("role", ["binding", "release manager", "pmc", "chair", "committer", "maintainer"])
def test_a_vote_binds_by_the_voters_role(role: str) -> None:
    profile = read_profile({"preset": "apache", "roles": [{"person": "ann@list.example", "role": role}]})
    assert ballots(mail(1, "ann", "+1"), mail(2, "bob", "+1"), profile=profile) == {
        "ann": (1, True),
        "bob": (1, False),
    }


def test_another_role_does_not_bind() -> None:
    profile = read_profile({"preset": "apache", "roles": [{"person": "ann@list.example", "role": "editor"}]})
    assert ballots(mail(1, "ann", "+1"), profile=profile) == {"ann": (1, False)}


@pytest.mark.parametrize("words", ["+1 (non-binding)", "+1 (not binding)", "+1 nonbinding", "+1 (Non-PMC)"])
def test_a_voter_may_say_that_a_vote_does_not_bind(words: str) -> None:
    assert ballots(mail(1, "ann@apache.example", words)) == {"ann": (1, False)}


def test_elsewhere_than_at_apache_votes_have_no_weight() -> None:
    profile = read_profile({"preset": "free", "roles": [{"person": "ann@list.example", "role": "binding"}]})
    assert ballots(mail(1, "ann", "+1"), profile=profile) == {"ann": (1, None)}


def test_each_kind_of_vote_is_counted_by_itself() -> None:
    cast = [(1, True)] * 5 + [(-1, True)] * 4 + [(1, False)] * 3 + [(-1, None)] * 2 + [(0, True)]
    one = sentence("+1")
    counted = count_votes(
        {
            str(number): Ballot(str(number), value, one, binding)
            for number, (value, binding) in enumerate(cast)
        }
    )
    assert counted == VoteCount(binding_for=5, binding_against=4, other_for=3, other_against=2, abstained=1)
