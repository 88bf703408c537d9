"""Cases that must be read correctly, in our own words."""

import pytest

from shared.models.values import ConsensusBasis, Genre, OutcomeKind, PropositionForm, Tier
from tests.support.thread_mails import GIT, IETF, mail, read, remarks, said

PROPOSAL = "I propose to move the build to a new server. It is faster. What do you all think?"
CALL = (
    "This is a call for adoption of the draft on cookies. Please indicate whether you support adoption "
    "of the document or object to it, by 20 January."
)


def proposal(text: str, who: str = "ann") -> dict[str, str]:
    """Return the stated positions when one person answers a plain proposal with this text."""
    return said(read(mail(0, "prop", PROPOSAL), mail(1, who, text)))


def call(text: str, who: str = "ann") -> dict[str, str]:
    return said(read(mail(0, "chair@ietf.example", CALL), mail(1, who, text), profile=IETF))


@pytest.mark.parametrize(
    "text",
    [
        "I support this proposal.",
        "This looks good to me.",
        "+1",
        "+1 from me",
        "I like the idea.",
        "Makes sense.",
        "Good idea, please go ahead.",
        "I would support this proposal.",
        "I like the idea, though it is a bit of a hack.",
    ],
)
def test_plain_words_in_answer_to_the_proposition_are_support(text: str) -> None:
    assert proposal(text) == {"ann": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "It is not possible to move this in a way that I would be even remotely comfortable with.",
        "I don't mean that I am against the idea.",
        "Client: I support TLS 1.1, 1.2",
        "-1, if you are against it",
        "I agree that sounds nice in theory. But nobody has the time to look after it.",
        "Yes.",
        "No.",
        'Ditto for "--if-exists".',
        "If the old server stays, this looks good to me.",
        "Does this look good to anybody?",
        "He says that he supports this proposal.",
        "I doubt that this is a good idea.",
        "I would support this proposal if the licence allowed it.",
        "You said the plan makes sense.",
        "Good catch, thanks!",
        "This looks good to me. However, only the old server has the licence.",
        "I fully agree with your reasoning.",
        "Works for me here on Linux, but not on the Mac.",
    ],
)
def test_words_that_only_sound_like_a_stance_are_none(text: str) -> None:
    assert proposal(text) == {}


def test_disagreement_above_praise_is_no_stance_on_the_proposition() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "bob", "Nobody will ever need a faster build, I am sure of that."),
        mail(2, "ann", "I disagree with this.", answers=1, under="Nobody will ever need a faster build"),
    )
    assert said(reading) == {}


def test_agreement_with_an_objector_is_no_support() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "bob", "I don't think this is a good idea, the old server is fine."),
        mail(2, "ann", "I agree.", answers=1),
    )
    assert "ann" not in said(reading) or said(reading)["ann"] != "support"


def test_a_plus_one_to_a_side_remark_is_no_position() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "bob", "By the way, the wiki needs a new theme, the green hurts."),
        mail(2, "ann", "+1", answers=1, under="the wiki needs a new theme, the green hurts"),
    )
    assert said(reading) == {}


def test_a_status_mail_has_nothing_to_agree_on() -> None:
    reading = read(
        mail(0, "juno@git.example", "Here are the topics that have been cooking.", subject="What's cooking"),
        mail(1, "ann", "These look good."),
        profile=GIT,
    )
    assert said(reading) == {}
    assert reading.genre.kind is Genre.ANNOUNCEMENT


PATCH = "Fix the parser so that it keeps the last line.\n\nSigned-off-by: Pat <pat@list.example>"


@pytest.mark.parametrize("words", ["Will queue.", "Let's merge it to 'next'.", "Thanks, applied.", "Queued."])
def test_the_maintainers_acceptance_settles_a_patch(words: str) -> None:
    reading = read(
        mail(0, "pat", PATCH, subject="[PATCH] parser: keep the last line"),
        mail(1, "juno@git.example", words, name="Juno Mai"),
        profile=GIT,
    )
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.ACCEPTED, Tier.SAID)
    assert reading.outcome.authority is not None
    assert reading.outcome.authority.name == "Juno Mai"
    assert reading.basis is ConsensusBasis.RULED
    assert reading.has_consensus
    assert said(reading) == {"juno": "support"}


def test_the_same_words_from_anybody_else_name_nobody() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject="[PATCH] parser: keep the last line"),
        mail(1, "ann", "Queued."),
        profile=GIT,
    )
    assert reading.outcome.authority is None
    assert reading.basis is not ConsensusBasis.RULED
    assert all(one.tier is Tier.REMARK for one in reading.decisions)


def test_it_was_agreed_is_a_decision_but_only_quoted() -> None:
    reading = read(
        mail(0, "prop", "I suggest that we compare the codecs. Should we use the mean or the RMS error?"),
        mail(1, "ann", "At the meeting it was agreed to use RMS error."),
    )
    found = [one for one in reading.decisions if "RMS" in one.citation.quote]
    assert [one.tier for one in found] == [Tier.REMARK]


def test_rebasing_is_no_decision() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject="[PATCH] parser: keep the last line"),
        mail(1, "pat", "I've rebased the series off the new master."),
        mail(2, "ann", "What does the second hunk do?"),
        profile=GIT,
    )
    assert not any("rebased" in one.citation.quote for one in reading.decisions)


def test_would_be_happy_to_co_sign_is_support() -> None:
    assert call("We would be happy to co-sign this document.") == {"ann": "support"}


def test_yes_please_adopt_is_support() -> None:
    assert call("Yes, please adopt.") == {"ann": "support"}


@pytest.mark.parametrize(
    "ruling",
    [
        "This call is now closed. The document is adopted.",
        "The adoption call has concluded with support and no objections.",
        "I hereby declare consensus on this.",
    ],
)
@pytest.mark.requirement("R-510")
def test_a_chairs_ruling_settles_a_call(ruling: str) -> None:
    reading = read(
        mail(0, "chair@ietf.example", CALL),
        mail(1, "ann", "I support adoption."),
        mail(2, "chair@ietf.example", ruling),
        profile=IETF,
    )
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.ACCEPTED, Tier.SAID)
    assert reading.has_consensus
    assert reading.open_call is None


def test_the_same_ruling_by_a_participant_settles_nothing() -> None:
    reading = read(
        mail(0, "chair@ietf.example", CALL),
        mail(1, "ann", "I support adoption."),
        mail(2, "bob", "I hereby declare consensus on this."),
        profile=IETF,
    )
    assert reading.outcome.tier is Tier.REMARK
    assert reading.open_call is not None


def test_so_my_proposal_is_no_proposal_by_itself() -> None:
    reading = read(mail(0, "ann", "So my proposal is:"), mail(1, "bob", "The build fails on Windows."))
    assert reading.proposition is None or reading.proposition.form is PropositionForm.TEXT
    assert said(reading) == {}


def test_agreement_about_what_might_have_been_is_no_open_issue() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "Agree, it would be differently structured if we wrote it from scratch."),
    )
    assert not any("scratch" in one.quote for one in reading.open_issues)


@pytest.mark.parametrize("mark", ["", "> ", "Bob> ", "&gt; ", "    > "])
def test_an_ancestors_sentence_is_the_ancestors_marked_or_not(mark: str) -> None:
    sentence = "I fully support this proposal and will help with the move of the build."
    first, second = sentence[:40].rsplit(" ", 1)[0], sentence[len(sentence[:40].rsplit(" ", 1)[0]) + 1 :]
    rewrapped = f"{mark}{first}\n{mark}{second}\n\nWhen would that be?"
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "bob", sentence),
        mail(2, "ann", rewrapped, answers=1),
    )
    assert said(reading) == {"bob": "support"}
    assert remarks(reading) == {}
