"""The topic of a sentence: one patch of many, a patch under a status mail, another person's call."""

import pytest

from shared.models.values import OutcomeKind, PropositionForm, ThreadReading, Tier
from tests.support.thread_mails import GIT, mail, read, remarks, said

JUNO = "juno@git.example"
DIFF = "\n---\n a.c | 2 +-\n\ndiff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-a\n+b\n"


def reviewed(text: str, part: str) -> ThreadReading:
    """Build a series of three with a cover letter, and Ann's answer to one message."""
    parts = {"0/3": 0, "1/3": 1, "2/3": 2, "3/3": 3}
    return read(
        mail(0, "prop", "This series makes the cache smaller.", subject="[PATCH 0/3] cache"),
        mail(1, "prop", f"Count the entries.{DIFF}", subject="[PATCH 1/3] cache: count"),
        mail(2, "prop", f"Drop the table.{DIFF}", subject="[PATCH 2/3] cache: drop"),
        mail(3, "prop", f"Test it.{DIFF}", subject="[PATCH 3/3] cache: test"),
        mail(4, "ann", text, answers=parts[part], subject=f"Re: [PATCH {part}] cache"),
        profile=GIT,
    )


@pytest.mark.parametrize("text", ["Nicely done.", "Looks good to me.", "Makes sense.", "+1", "Excellent!"])
def test_praise_of_one_patch_is_no_position_on_the_series(text: str) -> None:
    reading = reviewed(text, "2/3")
    assert said(reading) == {}
    assert remarks(reading) == {"ann": "support"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Nicely done.", "0/3"),
        ("The whole series looks good to me.", "2/3"),
        ("This version looks good to me.", "3/3"),
        ("Reviewed-by: Ann <ann@list.example>", "2/3"),
    ],
)
def test_praise_of_the_series_is_a_position(text: str, part: str) -> None:
    assert said(reviewed(text, part)) == {"ann": "support"}


def test_a_single_patch_is_the_whole() -> None:
    reading = read(
        mail(0, "prop", f"Count the entries.{DIFF}", subject="[PATCH 1/1] cache: count"),
        mail(1, "ann", "Looks good to me.", subject="Re: [PATCH 1/1] cache: count"),
        profile=GIT,
    )
    assert said(reading) == {"ann": "support"}


def test_a_patch_under_a_status_mail_is_put_to_nobody() -> None:
    status = "Here are the topics that have been cooking in my tree. Topic one will be merged soon."
    fix = f"The second topic fails here. This mends it.{DIFF}"
    mails = (
        mail(0, JUNO, status, subject="What's cooking (Jan 2024, #01)"),
        mail(1, "ann", fix, subject="Re: What's cooking (Jan 2024, #01)"),
        mail(2, JUNO, "Will queue.", answers=1, subject="Re: What's cooking (Jan 2024, #01)"),
    )
    reading = read(*mails, profile=GIT)
    assert said(reading) == {}
    assert all(one.tier is Tier.REMARK for one in reading.decisions)
    # In a thread of its own the same patch is a proposal, and is accepted.
    patch = mail(0, "ann", fix, subject="[PATCH] mend the second topic")
    taken = read(
        patch, mail(1, JUNO, "Will queue.", subject="Re: [PATCH] mend the second topic"), profile=GIT
    )
    assert said(taken) == {"juno": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "I'll queue it when I see an Ack from Ann.",
        "Will queue once the tests pass.",
        "Let's merge it down to 'next' unless somebody finds a problem.",
        "I will apply this if nobody minds.",
    ],
)
def test_acceptance_that_waits_for_something_is_none(text: str) -> None:
    reading = read(
        mail(0, "prop", f"Count the entries.{DIFF}", subject="[PATCH] cache: count"),
        mail(1, JUNO, text, subject="Re: [PATCH] cache: count"),
        profile=GIT,
    )
    assert said(reading) == {}
    assert reading.outcome.tier is Tier.REMARK
    assert all(one.tier is Tier.REMARK for one in reading.decisions)


def test_only_the_word_on_which_the_outcome_rests_is_a_said_decision() -> None:
    reading = read(
        mail(0, "prop", f"Count the entries.{DIFF}", subject="[PATCH] cache: count"),
        mail(1, JUNO, "I queued the other topic for now, I have to look at this one.", subject="Re: [PATCH]"),
        mail(2, JUNO, "Will queue.", subject="Re: [PATCH] cache: count"),
        profile=GIT,
    )
    assert reading.outcome.kind is OutcomeKind.ACCEPTED
    decided = [one.citation.quote for one in reading.decisions if one.tier is Tier.SAID]
    assert decided == ["Will queue."]


ADOPT = "I propose that we adopt draft-foo-bar. It answers what we were asked for."


def test_an_outsider_who_asks_for_words_takes_no_proposition_over() -> None:
    reading = read(
        mail(0, "ann", ADOPT),
        mail(1, "bob", "I support adoption."),
        mail(2, "carl", "I object to adoption because it breaks old clients."),
        mail(3, "dora", "Old clients are rare."),
        mail(4, "eve", "Could the chairs please say whether they support or object? Any objections?"),
    )
    assert reading.proposition is not None
    assert reading.proposition.message_id == "<m0>"
    assert said(reading) == {"bob": "support", "carl": "oppose"}


def test_words_about_an_objection_ask_nobody() -> None:
    reading = read(
        mail(0, "ann", "The old name of the tool is in many scripts."),
        mail(1, "eve", "In the minutes please say that Carl withdrew his objection."),
    )
    assert reading.proposition is None


def test_a_group_that_nobody_answered_yet_can_be_asked_by_another() -> None:
    reading = read(
        mail(0, "ann", "I propose to drop the old name of the tool."),
        mail(1, "eve", "Please indicate whether you support this or object, by Friday."),
        mail(2, "bob", "I support it.", answers=1),
    )
    assert reading.proposition is not None
    assert reading.proposition.form is PropositionForm.CALL
    assert said(reading) == {"bob": "support"}


@pytest.mark.parametrize(
    ("subject", "positions"),
    [
        ("[PATCH] doc: name the formats", {}),
        ("[PATCH 0/2] avoid the recursion", {}),
        ("[PATCH] cache: count the entries, again", {"ann": "support"}),
        ("[PATCH v2] doc: name the formats", {"ann": "support"}),
    ],
)
def test_praise_of_another_patch_of_the_same_author_is_no_position(
    subject: str, positions: dict[str, str]
) -> None:
    reading = read(
        mail(0, "prop", f"Count the entries.{DIFF}", subject="[PATCH] cache: count the entries"),
        mail(1, "bob", "How are formats named?", subject="Re: [PATCH] cache: count the entries"),
        mail(2, "prop", f"Name the formats.{DIFF}", answers=1, subject=subject),
        mail(3, "ann", "This looks good to me.", answers=2, subject=f"Re: {subject}"),
        profile=GIT,
    )
    assert said(reading) == positions
