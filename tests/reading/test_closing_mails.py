"""The last message of a role holder is read first, and statements are matched to the things that they name."""

import pytest

from shared.models.values import ConsensusBasis, Fate, OutcomeKind, ThreadReading, Tier
from shared.reading.mails import ThreadMail
from tests.support.thread_mails import IETF, mail, read, remarks, said

CHAIR = "chair@ietf.example"
PUT = 'I propose that we rename the field "id" to "identifier".'
CALL = "This is a consensus call to remove the legacy format. Please say whether you support it."
LAST_CALL = "This is a working group last call for the draft. Please say whether it is ready for publication."


def proposed(*rest: ThreadMail) -> ThreadReading:
    return read(mail(0, "ann", PUT, subject="Rename the field"), *rest, profile=IETF)


def divided(closing: str, who: str = CHAIR) -> ThreadReading:
    sides = (mail(1, "bob", "I support this."), mail(2, "cyn", "I object to this."))
    return proposed(*sides, mail(3, who, closing))


def called(*rest: ThreadMail, call: str = CALL) -> ThreadReading:
    return read(mail(0, CHAIR, call, subject="Consensus call: remove the legacy format"), *rest, profile=IETF)


@pytest.mark.parametrize(
    "closing",
    [
        "As chair, I see no consensus for this change, so the text stays.",
        "We do not have consensus on this proposal.\n\nThe names stay.\n\nErik, as chair",
        "There is no rough consensus to rename it.\n\nErik, working group chair",
        "The discussion is closed. The group has not reached consensus on the name.",
    ],
)
def test_no_consensus_is_what_the_chair_says(closing: str) -> None:
    reading = divided(closing)
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.REJECTED, Tier.SAID)
    assert reading.outcome.sentence.startswith("No consensus found by Chair (chair)")
    assert (reading.has_consensus, reading.basis) == (False, ConsensusBasis.RULED)


@pytest.mark.parametrize(
    ("closing", "who"),
    [
        ("Speaking as an individual, I see no consensus for this change.", CHAIR),
        ("As chair, I see no consensus yet, so the discussion continues.", CHAIR),
        ("As chair, I see no consensus against this change.", CHAIR),
        ("As chair, I will write if there is no consensus for this change.", CHAIR),
        ("As chair, I see no consensus for this change.", "eve"),
    ],
)
def test_without_the_role_or_for_now_it_is_no_ruling(closing: str, who: str) -> None:
    assert divided(closing, who).outcome.rule != "no consensus"


@pytest.mark.parametrize(
    ("closing", "shown"),
    [
        ("Closing this thread. Opinions are divided.\n\nErik, as chair", "Closing this thread."),
        (
            "I have decided, as chair, that the current name will do.",
            "I have decided, as chair, that the current name will do.",
        ),
    ],
)
def test_a_closing_mail_in_unknown_words_is_quoted(closing: str, shown: str) -> None:
    outcome = divided(closing).outcome
    assert (outcome.tier, outcome.basis) == (Tier.REMARK, ConsensusBasis.RULED)
    assert outcome.sentence.startswith("Closing statement by Chair (chair)")
    assert shown.startswith(outcome.evidence[0].quote) or outcome.evidence[0].quote == "Opinions are divided."
    assert "ruling" not in outcome.sentence


def test_nobody_else_makes_a_closing_statement() -> None:
    outcome = divided("Closing this thread. I am the chair.", "eve").outcome
    assert outcome.authority is None
    assert "Closing" not in outcome.sentence


def test_a_closed_call_is_not_open() -> None:
    reading = called(mail(1, CHAIR, "The call has ended. The chairs will talk to the area director."))
    assert reading.open_call is None
    assert reading.outcome.sentence.startswith("Closing statement by ")


@pytest.mark.parametrize(
    "tally",
    [
        "By my count five for, two against.",
        "Six people support the removal, and one is opposed.",
        "We have 4 expressions of support and 3 against.",
        "I count 5 +1 and 2 -1.",
        "12 in favor, 3 opposed.",
    ],
)
def test_a_tally_is_the_one_of_who_has_the_role(tally: str) -> None:
    closing = f"The call has ended. {tally} I declare consensus to remove the format."
    (found,) = called(mail(1, CHAIR, closing)).tallies
    assert (found.by.role, found.citation.quote) == ("chair", tally)
    assert not called(mail(1, "eve", closing)).tallies


@pytest.mark.parametrize(
    "words",
    ["Five years are enough for us.", "Section five supports two forms.", "One reason is against it."],
)
def test_a_number_is_no_tally(words: str) -> None:
    assert not called(mail(1, CHAIR, f"The call has ended. {words}")).tallies


@pytest.mark.parametrize(
    ("words", "stance"),
    [
        ("I oppose the removal.", "oppose"),
        ("I am opposed, too.", "oppose"),
        ("I support keeping the legacy format.", "oppose"),
        ("Please keep it.", "oppose"),
        ("I support the removal: it is rarely used.", "support"),
        ("I am in favor of removing it.", "support"),
        ("I support the legacy format.", None),
        ("Should we keep it?", None),
        ("I oppose the removal if nothing takes its place.", None),
    ],
)
def test_a_call_is_answered_by_what_is_named(words: str, stance: str | None) -> None:
    assert said(called(mail(1, "bob", words))).get("bob") == stance


@pytest.mark.parametrize(
    ("words", "stance"),
    [
        ("Ready for publication.", "support"),
        ("Ready, with one nit in section 2.", "support"),
        ("Not ready, section 4 is empty.", "oppose"),
        ("I do not think that it is ready.", "oppose"),
        ("I will be ready to review it next week.", None),
        ("Is it ready?", None),
    ],
)
def test_who_is_asked_whether_it_is_ready_answers_so(words: str, stance: str | None) -> None:
    assert said(called(mail(1, "bob", words), call=LAST_CALL)).get("bob") == stance


def test_own_words_in_answer_to_another_count_where_they_name_the_act() -> None:
    reading = called(
        mail(1, "bob", "I object. We use the format."),
        mail(2, "cyn", "That is rare. I support the removal.", answers=1, under="We use the format."),
        mail(3, "dan", "I support that.", answers=1, under="We use the format."),
        mail(4, "eve", "I object as well.", answers=1),
    )
    assert said(reading) == {"bob": "oppose", "cyn": "support", "eve": "oppose"}


def test_agreement_takes_the_direction_of_whom_it_names() -> None:
    reading = proposed(
        mail(1, "bob", "I object to this.", name="Bob Doe"),
        mail(2, "cyn", "I support this.", name="Cyn Roe"),
        mail(3, "dan", "I agree with Bob."),
        mail(4, "eve", "I agree with Cyn."),
        mail(5, "fay", "I agree with Zoe."),
    )
    assert said(reading) == {"bob": "oppose", "cyn": "support", "dan": "oppose", "eve": "support"}
    assert remarks(reading) == {"fay": "support"}


def test_of_two_people_of_one_name_neither_is_taken() -> None:
    reading = proposed(
        mail(1, "bob", "I object to this.", name="Bob Doe"),
        mail(2, "bobby", "I support this.", name="Bob Roe"),
        mail(3, "dan", "I agree with Bob."),
    )
    assert "dan" not in said(reading)


def test_a_request_after_support_takes_nothing_back() -> None:
    asked = "I support this. But please define the term."
    taken_back = "I support this. But it does not work."
    assert said(proposed(mail(1, "bob", asked))) == {"bob": "support"}
    assert said(proposed(mail(1, "bob", taken_back))) == {}


@pytest.mark.parametrize(
    "words",
    [
        "My objection is resolved, and I withdraw it.",
        "Thanks; I no longer object.",
        "My objection is hereby withdrawn.",
    ],
)
def test_an_objection_stands_with_the_words_that_withdraw_it(words: str) -> None:
    reading = called(mail(1, "bob", "I oppose the removal."), mail(2, "bob", words, answers=1))
    (found,) = reading.objections
    assert (found.fate, found.citation.quote) == (Fate.WITHDRAWN, "I oppose the removal.")
    assert found.withdrawal is not None
    assert found.withdrawal.quote in words
    assert said(reading) == {}
