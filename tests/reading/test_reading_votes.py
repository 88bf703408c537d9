"""Votes: counted by person and weight, with their window, vetoes, cancellations and results."""

from datetime import date

import pytest

from shared.models.values import ConsensusBasis, Fate, Genre, OutcomeKind, SourceProfile, Tier, VoteCount
from shared.reading.mails import ThreadMail
from tests.support.thread_mails import MAVEN, mail, read, said

BALLOT = (
    "We solved 8 issues.\n\nVote open for at least 72 hours.\n\n[ ] +1\n[ ] +0\n[ ] -1, if you are against it"
)


def vote(*answers: tuple[str, str], profile: SourceProfile = MAVEN) -> list[ThreadMail]:
    opening = mail(0, "rita@apache.example", BALLOT, subject="[VOTE] Release Apache Thing 1.2")
    return [opening, *(mail(number, who, text) for number, (who, text) in enumerate(answers, start=1))]


ANN, BOB, CYN, RITA = (f"{name}@apache.example" for name in ("ann", "bob", "cyn", "rita"))


def test_votes_are_counted_by_binding_and_other() -> None:
    reading = read(
        *vote((ANN, "+1"), (BOB, "Great work, +1!"), ("dan", "+1 (non-binding)"), ("eve", "0")), profile=MAVEN
    )
    assert reading.genre.kind is Genre.CALL
    assert reading.outcome.votes == VoteCount(binding_for=2, other_for=1)
    assert said(reading) == {"ann": "support", "bob": "support", "dan": "support"}
    assert {one.person: one.binding for one in reading.positions} == {
        ANN: True,
        BOB: True,
        "dan@list.example": False,
    }


def test_enough_binding_votes_pass_without_a_result_mail() -> None:
    passed = read(*vote((ANN, "+1"), (BOB, "+1"), (CYN, "All tests pass, so +1 from me.")), profile=MAVEN)
    assert (passed.outcome.kind, passed.outcome.tier) == (OutcomeKind.ACCEPTED, Tier.SAID)
    assert passed.basis is ConsensusBasis.COUNTED
    assert passed.has_consensus
    short = read(*vote((ANN, "+1"), (BOB, "+1"), ("dan", "+1")), profile=MAVEN)
    assert short.outcome.tier is Tier.REMARK


def test_the_proposers_own_vote_counts_but_is_no_position() -> None:
    reading = read(*vote((ANN, "+1"), (BOB, "+1"), (RITA, "Here is my +1")), profile=MAVEN)
    assert reading.outcome.votes == VoteCount(binding_for=3)
    assert said(reading) == {"ann": "support", "bob": "support"}


def test_the_result_in_the_thread_closes_the_vote() -> None:
    reading = read(*vote((ANN, "+1"), (RITA, "The vote has passed with one +1.")), profile=MAVEN)
    assert (reading.outcome.kind, reading.basis) == (OutcomeKind.ACCEPTED, ConsensusBasis.CALLED)
    assert reading.open_call is None


def test_anybody_else_closes_no_vote() -> None:
    reading = read(*vote((ANN, "+1"), ("dan", "The vote has passed, I guess.")), profile=MAVEN)
    assert reading.outcome.tier is Tier.REMARK


def test_a_cancelled_vote_is_not_accepted() -> None:
    reading = read(
        *vote((ANN, "+1"), (BOB, "+1"), (CYN, "+1"), (RITA, "I am cancelling this vote, a file is missing.")),
        profile=MAVEN,
    )
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.REJECTED, Tier.SAID)
    assert not reading.has_consensus


def test_a_veto_stands_in_the_way_until_it_is_withdrawn() -> None:
    vetoed = vote((ANN, "+1"), (BOB, "+1"), (CYN, "-1, the licence file is missing."), (RITA, "+1"))
    reading = read(*vetoed, profile=MAVEN)
    assert said(reading)["cyn"] == "oppose"
    assert not reading.has_consensus
    assert any("licence" in one.citation.quote for one in reading.objections)
    withdrawn = read(*vetoed, mail(5, CYN, "I found it. Changing my vote to +1."), profile=MAVEN)
    assert said(withdrawn)["cyn"] == "support"
    assert withdrawn.outcome.kind is OutcomeKind.ACCEPTED


@pytest.mark.parametrize(
    "text",
    [
        "We still need one more binding +1.",
        "I would vote +1 if the tests passed.",
        "[ ] +1",
        "-1, if you are against",
        "Thanks for the +1.",
        "Upgrade to 3.5+1 of the parser.",
        "Is that a +1?",
    ],
)
def test_talk_about_votes_is_no_vote(text: str) -> None:
    reading = read(*vote(("dan", text)), profile=MAVEN)
    assert reading.outcome.votes == VoteCount()


def test_a_plus_one_under_another_voters_quote_answers_that_voter() -> None:
    remark = "The site should name the new location of the manual."
    reading = read(
        *vote((ANN, f"+1\n\n{remark}")), mail(2, "dan", "+1", answers=1, under=remark), profile=MAVEN
    )
    assert said(reading) == {"ann": "support"}


def test_an_open_vote_names_its_end_and_who_has_spoken() -> None:
    open_call = read(*vote((ANN, "+1")), profile=MAVEN).open_call
    assert open_call is not None
    assert open_call.ends == date(2024, 1, 11)
    assert "72 hours" in open_call.ends_text
    assert open_call.spoken == (ANN,)


def test_a_result_in_a_thread_of_its_own_names_its_vote() -> None:
    reading = read(
        mail(
            0, RITA, "The vote has passed with three +1.", subject="[RESULT] [VOTE] Release Apache Thing 1.2"
        ),
        profile=MAVEN,
    )
    assert reading.result_of == "Release Apache Thing 1.2"
    assert read(*vote(), profile=MAVEN).result_of is None


@pytest.mark.parametrize("subject", ["[RESULT] [VOTE] Release 1.2", "Results of the vote on the new rules"])
def test_in_a_thread_that_tells_a_result_nobody_votes(subject: str) -> None:
    reading = read(
        mail(0, RITA, "The vote has passed. Please vote on the next one soon.", subject=subject),
        mail(1, ANN, "+1 from me, too late."),
        profile=MAVEN,
    )
    assert said(reading) == {}
    assert (reading.genre.kind, reading.genre.tier) == (Genre.ANNOUNCEMENT, Tier.SAID)
    assert reading.outcome.votes is None


@pytest.mark.parametrize(
    ("words", "stance"),
    [
        ("I found it, so I withdraw my -1.", None),
        ("I withdraw my veto.", None),
        ("I do not withdraw my -1.", "oppose"),
        ("Should I withdraw my -1?", "oppose"),
        ("I would withdraw my -1 if the file came back.", "oppose"),
        ("I withdraw my -1 and vote +1.", "support"),
        ("Changing my -1 to +1.", "support"),
    ],
)
def test_a_vote_that_is_taken_back_counts_no_more(words: str, stance: str | None) -> None:
    reading = read(*vote((CYN, "-1, the licence file is missing."), (CYN, words)), profile=MAVEN)
    assert said(reading).get("cyn") == stance
    assert reading.outcome.votes == VoteCount(
        binding_for=int(stance == "support"), binding_against=int(stance == "oppose")
    )


def test_a_changed_vote_keeps_the_one_before_with_its_date() -> None:
    mails = vote(
        (CYN, "-1, the licence file is missing."), (CYN, "Found it."), (CYN, "Changing my vote to +1.")
    )
    (position,) = read(*mails, profile=MAVEN).positions
    assert position.earlier is not None
    assert (position.stance, position.earlier.stance) == ("support", "oppose")
    assert position.earlier.citation.quote == "-1, the licence file is missing."
    assert (position.earlier.at, position.at) == (mails[1].date, mails[3].date)
    (objection,) = read(*mails, profile=MAVEN).objections
    assert (objection.fate, objection.citation) == (Fate.WITHDRAWN, position.earlier.citation)
    (unchanged,) = read(*vote((CYN, "+1"), (CYN, "Still +1 from me.")), profile=MAVEN).positions
    assert unchanged.earlier is None
