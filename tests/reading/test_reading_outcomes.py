"""Genres, outcomes and consensus, in the words of each community."""

from datetime import date

import pytest

from evaluation.consensus_corpus import read_profile
from shared.models.values import (
    ConsensusBasis,
    Fate,
    Genre,
    OutcomeKind,
    PropositionForm,
    ThreadReading,
    Tier,
)
from shared.reading.headlines import MAX_WORDS
from shared.reading.mails import ThreadMail
from tests.support.thread_mails import GIT, IETF, mail, read

PATCH = "Keep the last line of a file that has no newline at its end."
SUBJECT = "[PATCH] parser: keep the last line"
PROPOSAL = "I propose to drop the old tool from the tree. Comments are welcome."


@pytest.mark.parametrize(
    ("subject", "text", "genre"),
    [
        (SUBJECT, PATCH, Genre.PATCH),
        ("[VOTE] Release 1.2", "Please vote.", Genre.CALL),
        ("Cookies", "This is the working group last call for the draft on cookies.", Genre.CALL),
        ("[ANN] Thing 1.2", "The new release has many fixes.", Genre.ANNOUNCEMENT),
        ("Thing 1.2", "We are pleased to announce Thing 1.2.", Genre.ANNOUNCEMENT),
        ("[BUG] crash on start", "It crashes when I start it.", Genre.REPORT),
        ("[RFC] a new index", "It would speed up the search.", Genre.PROPOSAL),
        ("Names", "How do I rename a branch? I am trying to do it with the tool.", Genre.QUESTION),
        ("Review", "I have been selected as the reviewer. I am the assigned Gen-ART reviewer.", Genre.REPORT),
    ],
)
def test_the_form_of_the_first_mail_gives_the_genre(subject: str, text: str, genre: Genre) -> None:
    found = read(mail(0, "ann", text, subject=subject), profile=GIT).genre
    assert (found.kind, found.tier) == (genre, Tier.SAID)


def test_a_genre_that_is_only_guessed_is_a_remark() -> None:
    found = read(mail(0, "ann", "The weather was fine at the sprint in Bristol.", subject="Bristol")).genre
    assert found.tier is Tier.REMARK
    assert found.confidence < 0.9


def test_a_role_ends_with_its_period() -> None:
    profile = read_profile(
        {
            "preset": "maintainer",
            "roles": [
                {
                    "person": "ttay@git.example",
                    "role": "maintainer",
                    "from": "2024-01-01",
                    "until": "2024-01-31",
                }
            ],
        }
    )
    patch = mail(0, "pat", PATCH, subject=SUBJECT)
    inside = read(patch, mail(1, "ttay@git.example", "Will queue."), profile=profile)
    outside = read(patch, mail(1, "ttay@git.example", "Will queue.", day=40), profile=profile)
    assert inside.outcome.authority is not None
    assert outside.outcome.authority is None


def test_an_accepted_later_version_is_revised() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "ann", "The name is misleading."),
        mail(2, "pat", f"{PATCH} Renamed.", subject="[PATCH v2] parser: keep the last line"),
        mail(3, "juno@git.example", "Will queue.", answers=2),
        profile=GIT,
    )
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.REVISED, Tier.SAID)
    assert reading.proposition is not None
    assert [version.number for version in reading.proposition.versions] == [1, 2]


def test_what_a_report_says_of_others_work_settles_nothing() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "juno@git.example", "There are many such assignments after this series is applied."),
        profile=GIT,
    )
    assert reading.outcome.tier is Tier.REMARK


def test_nothing_seen_is_said_so_and_never_called_no_consensus() -> None:
    reading = read(mail(0, "prop", PROPOSAL), mail(1, "ann", "The tool is in use at work."))
    assert reading.outcome.tier is Tier.REMARK
    assert reading.outcome.sentence == "No decision found."
    assert reading.basis is ConsensusBasis.UNKNOWN
    assert not reading.has_consensus
    assert reading.consensus_type is None


def test_the_headline_has_at_most_25_words_and_names_who_decided() -> None:
    long_subject = "[PATCH] " + " ".join(f"word{number}" for number in range(40))
    reading = read(
        mail(0, "pat", PATCH, subject=long_subject),
        mail(1, "juno@git.example", "Will queue.", name="Juno Mai"),
        profile=GIT,
    )
    assert len(reading.outcome.sentence.split()) <= MAX_WORDS
    assert "Juno Mai" in reading.outcome.sentence
    assert reading.headline.came_out == reading.outcome.sentence


def test_two_voices_are_agreement_whoever_else_talks_but_not_where_somebody_doubts() -> None:
    voices = [mail(1, "ann", "I support this proposal."), mail(2, "bob", "+1 from me")]
    talk = [mail(number, f"talker{number}", "The tool is in use at work.") for number in range(3, 8)]
    agreed = read(mail(0, "prop", PROPOSAL), *voices)
    assert agreed.has_consensus
    assert agreed.consensus_type == "agreement"
    assert read(mail(0, "prop", PROPOSAL), *voices, *talk).has_consensus
    doubt = mail(8, "cyn", "I am not convinced that this is needed.")
    assert not read(mail(0, "prop", PROPOSAL), *voices, *talk, doubt).has_consensus


def test_both_sides_said_is_contested() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "I support this proposal."),
        mail(2, "bob", "I object to this proposal."),
    )
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.CONTESTED, Tier.SAID)
    assert reading.consensus_type == "mixed"


def test_a_withdrawn_proposal_is_rejected() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "The tool is in use at work."),
        mail(2, "prop", "Fine, I withdraw the proposal.", answers=1),
    )
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.REJECTED, Tier.SAID)


def test_a_question_is_answered_when_its_asker_says_so() -> None:
    question = mail(
        0, "ann", "How do I rename a branch? I am trying to do it with the tool.", subject="Names"
    )
    answer = mail(
        1, "bob", "Use the move option of the branch command. It keeps the history of the branch, too."
    )
    solved = read(question, answer, mail(2, "ann", "Thanks for the help, that worked.", answers=1))
    assert (solved.outcome.kind, solved.outcome.tier) == (OutcomeKind.ANSWERED, Tier.SAID)
    asked_again = read(
        question, answer, mail(2, "ann", "Thanks for the help. But how do I undo it?", answers=1)
    )
    assert asked_again.outcome.tier is Tier.REMARK


def test_a_chair_who_denies_consensus_turns_it_down() -> None:
    reading = read(
        mail(0, "chair@ietf.example", "This is a call for adoption of the draft. Please state your view."),
        mail(1, "ann", "I support adoption."),
        mail(2, "chair@ietf.example", "There is no consensus to adopt it."),
        profile=IETF,
    )
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.REJECTED, Tier.SAID)
    assert not reading.has_consensus


@pytest.mark.parametrize(
    ("ruling", "tier"),
    [("The document S4-12 was agreed.", Tier.SAID), ("The document S4-12 was noted.", Tier.REMARK)],
)
def test_at_3gpp_a_chair_marks_documents_agreed_or_noted(ruling: str, tier: Tier) -> None:
    profile = read_profile({"preset": "3gpp", "roles": [{"person": "chair@sdo.example", "role": "chair"}]})
    reading = read(
        mail(0, "prop", "We propose to use the RMS error. I suggest to agree S4-12 on this."),
        mail(1, "ann", "We would be happy to co-sign this document."),
        mail(2, "chair@sdo.example", ruling),
        profile=profile,
    )
    assert reading.outcome.tier is tier
    assert reading.outcome.kind is OutcomeKind.ACCEPTED or tier is Tier.REMARK
    assert any(ruling == one.citation.quote and one.tier is tier for one in reading.decisions)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Please state your support by 20 January.", date(2024, 1, 20)),
        ("The call ends on 2024-02-01. Please vote.", date(2024, 2, 1)),
        ("Please state your support in the next two weeks.", date(2024, 1, 22)),
        ("Please state your support no later than the 24th.", date(2024, 1, 24)),
        ("Please state your support by January 2nd, we are late.", date(2025, 1, 2)),
        ("Please state your support.", None),
        ("Please state your support by 31 February.", None),
    ],
)
def test_an_open_call_ends_when_its_mail_says(words: str, expected: date | None) -> None:
    reading = read(
        mail(0, "chair@ietf.example", f"This is a call for adoption of the draft. {words}"), profile=IETF
    )
    assert reading.open_call is not None
    assert reading.open_call.ends == expected


def fate(*later: tuple[str, str, int]) -> Fate:
    """Return the fate of Ann's objection after these messages: author, text, and answered message."""
    objection = "I object to this proposal because it breaks the release script."
    mails = [
        mail(number, who, text, answers=answers) for number, (who, text, answers) in enumerate(later, start=2)
    ]
    reading = read(mail(0, "prop", PROPOSAL), mail(1, "ann", objection), *mails)
    return next(one.fate for one in reading.objections if one.person.startswith("ann"))


def test_the_fate_of_an_objection() -> None:
    answer = ("prop", "The script uses the new tool since May.", 1)
    assert fate() is Fate.OUTSTANDING
    assert fate(answer) is Fate.UNCLEAR
    assert fate(answer, ("ann", "Fair enough.", 2)) is Fate.ANSWERED
    assert fate(answer, ("ann", "Not on our machines.", 2)) is Fate.OUTSTANDING
    assert fate(answer, ("ann", "I withdraw my objection.", 2)) is Fate.WITHDRAWN
    assert fate(("prop", "Good point, I will change the script first.", 1)) is Fate.TAKEN


def test_what_is_outstanding_is_left() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "I object to this proposal because it breaks the release script."),
    )
    assert "release script" in reading.headline.left
    assert reading.headline.asked.startswith("I propose to drop")


def test_the_proposition_has_a_form_and_its_words() -> None:
    reading = read(mail(0, "prop", PROPOSAL), mail(1, "ann", "+1"))
    assert reading.proposition is not None
    assert reading.proposition.form is PropositionForm.TEXT
    assert reading.proposition.words is not None
    assert reading.proposition.words.quote == "I propose to drop the old tool from the tree."


def test_a_thread_without_mails_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one mail"):
        read()


CALL = "This is a consensus call: I propose that we adopt the draft. Please say if you support it or object."


def called(*rest: ThreadMail) -> ThreadReading:
    return read(
        mail(0, "chair@ietf.example", CALL, subject="Call for adoption: draft-x"), *rest, profile=IETF
    )


def test_an_objection_that_was_withdrawn_does_not_withdraw_the_call() -> None:
    summed_up = "The one objection was about the index and was withdrawn after the authors agreed."
    reading = called(mail(1, "ann", "I support adoption."), mail(2, "chair@ietf.example", summed_up))
    assert reading.outcome.kind is not OutcomeKind.REJECTED


def test_a_call_that_ends_with_a_text_that_is_not_ready_is_told_so() -> None:
    ended = "The last call has ended. The document is not ready: there will be a second last call."
    reading = called(mail(1, "ann", "I support adoption."), mail(2, "chair@ietf.example", ended))
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.REJECTED, Tier.SAID)
    assert reading.outcome.sentence.startswith("Found not ready by ")
    assert (reading.has_consensus, reading.open_call) == (False, None)


def test_declared_rough_consensus_stands_over_who_is_against() -> None:
    declared = "The call has ended. We have consensus to adopt the draft."
    against = mail(1, "bob", "I object to adoption of this draft.")
    reading = called(against, mail(2, "ann", "I support adoption."), mail(3, "chair@ietf.example", declared))
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.ACCEPTED, Tier.SAID)
    assert (reading.has_consensus, reading.basis) == (True, ConsensusBasis.RULED)
    assert [one.citation.quote for one in reading.decisions] == ["We have consensus to adopt the draft."]
    assert called(against, mail(2, "chair@ietf.example", "The call has ended.")).outcome.tier is Tier.REMARK


def test_one_who_promises_to_do_it_is_not_named_as_deciding() -> None:
    asked = mail(0, "ann", "I propose that we add a test vector to section 4.", subject="A test vector")
    reading = read(asked, mail(1, "chair@ietf.example", "I will add a test vector."), profile=IETF)
    assert reading.outcome.authority is None
