"""Endings without a ruling: accepted remarks, forwarded texts, fixed reports, open questions."""

import pytest

from shared.models.values import Fate, OutcomeKind, ThreadReading, Tier
from tests.support.thread_mails import GIT, IETF, mail, read

CHAIR = "chair@ietf.example"
CALL = "This is a working group last call for the cookie draft. Please send comments by 20 January."
DIFF = "\n---\n a.c | 2 +-\n\ndiff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-a\n+b\n"


def ended(reading: ThreadReading) -> OutcomeKind | None:
    """Return the stated outcome, or None."""
    return reading.outcome.kind if reading.outcome.tier is Tier.SAID else None


def patch(*rest: tuple[str, str], version: int = 1) -> ThreadReading:
    mails = [
        mail(number, who, text, subject="Re: [PATCH] cache: count")
        for number, (who, text) in enumerate(rest, start=1)
    ]
    tag = f"[PATCH v{version}]" if version > 1 else "[PATCH]"
    first = mail(0, "prop", f"Count the entries.{DIFF}", subject=f"{tag} cache: count")
    return read(first, *mails, profile=GIT)


def test_an_author_who_promises_changes_has_not_made_them() -> None:
    """One of five such labeled threads had another outcome, so the reader states none."""
    remark = ("ann", "The name is too long, and the test is missing.")
    promises = "I will change the name. I'll add a test."
    assert ended(patch(remark, ("prop", promises))) is None


def test_an_author_who_names_the_next_version_revises_the_patch() -> None:
    remark = ("ann", "The name is too long, and the test is missing.")
    promise = ("prop", "I will change the name in the next version.")
    assert ended(patch(remark, promise)) is OutcomeKind.REVISED
    assert ended(patch(remark, promise, ("bob", "Is there a test for it?"))) is OutcomeKind.REVISED
    assert ended(patch(remark, promise, ("bob", "NAK. I object to this patch."))) is None
    assert ended(patch(remark, ("ann", "I will change the name in the next version."))) is None


@pytest.mark.parametrize(
    ("notes", "kind"),
    [
        ("Thanks for the comments, Ann.", OutcomeKind.REVISED),
        ("Changes in v2: a shorter name, as suggested by Ann.", OutcomeKind.REVISED),
        ("Changes in v2: a shorter name.", None),
    ],
)
def test_a_new_version_that_takes_remarks_over_revises_the_patch(
    notes: str, kind: OutcomeKind | None
) -> None:
    second = mail(2, "prop", f"Count them.\n---\n{notes}\n{DIFF}", subject="[PATCH v2] cache: count")
    first = mail(0, "prop", f"Count the entries.{DIFF}", subject="[PATCH] cache: count")
    mails = [first, mail(1, "ann", "The name is too long."), second]
    reading = read(*mails, profile=GIT)
    assert ended(reading) is kind
    assert not reading.has_consensus
    doubted = mail(3, "bob", "I'm not sure that it is right.", answers=2)
    assert ended(read(*mails, doubted, profile=GIT)) is None


def test_a_promise_alone_is_no_consensus() -> None:
    reading = patch(("ann", "The name is too long."), ("prop", "Will fix in v2."))
    assert not reading.has_consensus


def called(*rest: tuple[str, str]) -> ThreadReading:
    mails = [mail(number, who, text) for number, (who, text) in enumerate(rest, start=1)]
    return read(mail(0, CHAIR, CALL), *mails, profile=IETF)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I will forward the document to the area director.", OutcomeKind.ACCEPTED),
        ("Once a new version is out, I'll push the draft towards the editors.", OutcomeKind.REVISED),
        ("Authors, please resubmit it as draft-ietf-cookies-00.", OutcomeKind.ACCEPTED),
        ("We are going to wait until the other group has voted.", OutcomeKind.UNRESOLVED),
    ],
)
def test_a_chair_ends_a_call_without_the_word_consensus(text: str, kind: OutcomeKind) -> None:
    reading = called(("ann", "Section two has a typo."), (CHAIR, text))
    assert ended(reading) is kind
    assert reading.outcome.authority is not None
    # Such words of any other person are only quoted.
    assert ended(called(("ann", "Section two has a typo."), ("bob", text))) is None


REVIEW = "I have been selected as the reviewer of this draft for the review team. Section two is unclear."


def review(answer: str, *more: str) -> ThreadReading:
    later = [mail(number, "ann", text) for number, text in enumerate(more, start=2)]
    return read(mail(0, "ann", REVIEW), mail(1, "author", answer), *later, profile=IETF)


def test_a_report_that_was_mended_is_answered() -> None:
    assert ended(review("Fixed in the working copy.")) is OutcomeKind.ANSWERED
    assert ended(review("Fixed in the working copy.", "But is section three right?")) is None
    assert ended(review("It is not fixed in the working copy.")) is None


def test_a_review_that_its_author_will_edit_in_is_a_revision() -> None:
    assert ended(review("Thank you. I will clarify this in the text.")) is OutcomeKind.REVISED


def test_an_asker_who_asks_on_is_not_content() -> None:
    question = "How do I list the files that are gone? I am trying to write a script."
    answer = "There is an option for that. It lists every file that the index has and the tree has not."

    def asked(last: str) -> ThreadReading:
        return read(
            mail(0, "ann", question, subject="How to list files?"),
            mail(1, "bob", answer),
            mail(2, "ann", last, answers=1),
            mail(3, "cyn", "Both are slow on a large tree, I measured that some years ago."),
            mail(4, "bob", "They were made faster since, at least on the machines that we have here."),
            mail(5, "cyn", "Then I have to measure again, and shall do so."),
        )

    assert ended(asked("Ah, that makes sense.")) is OutcomeKind.ANSWERED
    assert ended(asked("Ah, that makes sense. Do you have an example?")) is None


def test_a_question_that_drifted_to_another_subject_is_not_called_answered() -> None:
    question = "How do I link a faster library? Can anyone help me with the flags?"
    told = "The flags that you need stand in the manual of the linker. Look at the page on linking, which has an example."

    def asked(subject: str) -> ThreadReading:
        return read(
            mail(0, "ann", question, subject="Linking a library?"),
            mail(1, "bob", told, subject="Re: Linking a library?"),
            mail(2, "cyn", "Two processors cost less than one fast one these days.", subject=subject),
        )

    assert ended(asked("Re: Linking a library?")) is OutcomeKind.ANSWERED
    assert ended(asked("Which hardware to buy")) is None


def test_a_remark_that_may_be_an_objection_has_no_fate() -> None:
    proposal = "I propose to drop the old tool from the tree. What do you all think?"
    soft = "I'm not convinced, my concern is that the release script needs it and breaks without it."
    reading = read(
        mail(0, "prop", proposal), mail(1, "ann", soft), mail(2, "prop", "It does not.", answers=1)
    )
    assert [one.fate for one in reading.objections] == [Fate.UNCLEAR]
    firm = read(mail(0, "prop", proposal), mail(1, "ann", "I object to this proposal, the script needs it."))
    assert [one.fate for one in firm.objections] == [Fate.OUTSTANDING]


def test_what_somebody_answered_is_no_open_issue() -> None:
    proposal = "I propose to drop the old tool from the tree. What do you all think?"
    asks = "What about the release script, is it still not decided who changes it?"

    def asked(*rest: tuple[str, str]) -> list[str]:
        mails = [mail(number, who, text, answers=1) for number, (who, text) in enumerate(rest, start=2)]
        reading = read(mail(0, "prop", proposal), mail(1, "ann", asks), *mails)
        return [one.quote for one in reading.open_issues]

    assert asked() == [asks]
    assert asked(("prop", "Bob changes it next week.")) == []


def asked_until(
    last_day: int, *, until: str = " Please reply by 20 January 2024.", who: str = CHAIR
) -> ThreadReading:
    """Build a call of 8 January, and one answer to it that many days later."""
    call = f"This is a call for adoption of the cookie draft. Please say whether you support it.{until}"
    return read(mail(0, CHAIR, call), mail(1, who, "Section two has a typo.", day=last_day), profile=IETF)


def test_a_call_is_open_until_one_who_may_end_it_writes_after_its_end() -> None:
    running = asked_until(5).open_call
    assert running is not None
    assert running.ends is not None
    assert running.ends.isoformat() == "2024-01-20"
    # A message after the end may be the result, in words that the reader does not know.
    assert asked_until(14).open_call is None
    assert asked_until(14, who="ann").open_call is not None, "nobody else ends it"


def test_a_call_that_names_no_end_is_open_for_two_weeks() -> None:
    assert asked_until(5, until="").open_call is not None
    assert asked_until(20, until="").open_call is None


def test_a_call_with_an_outcome_is_not_open() -> None:
    reading = called(("ann", "I support it."), (CHAIR, "I will forward the document to the area director."))
    assert ended(reading) is OutcomeKind.ACCEPTED
    assert reading.open_call is None


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("How do I list all files? I am trying to write a script and can't find the option.", True),
        ("How can I list all files? I am wondering why not print the directories, too.", False),
    ],
)
def test_a_question_that_hints_at_a_change_is_not_called_one(text: str, is_said: bool) -> None:
    reading = read(mail(0, "ann", text, subject="Listing of files"), mail(1, "bob", "See the manual."))
    assert (reading.genre.tier is Tier.SAID) == is_said
