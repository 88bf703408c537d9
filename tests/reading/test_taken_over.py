"""An author who accepts every remark, an author who left, and words that only look similar."""

import pytest

from shared.models.values import Genre, OutcomeKind, ThreadOutcome, ThreadReading, Tier
from shared.reading.linked_thread import LinkedThread
from shared.reading.proposal import find_proposal
from shared.reading.sentence_scores import Head, SentenceScores
from tests.support.thread_mails import GIT, mail, read

PATCH = "[PATCH] parser: keep the last line"
ANSWER = f"Re: {PATCH}"
TEXT = "Keep the last line of a file that has no newline at its end."


def reviewed(review: str, *answers: str, after: str = "") -> ThreadReading:
    mails = [mail(0, "pat", TEXT, subject=PATCH), mail(1, "rev", review, subject=ANSWER)]
    mails += [
        mail(number, "pat", answer, answers=1, subject=ANSWER)
        for number, answer in enumerate(answers, start=2)
    ]
    if after:
        mails.append(mail(len(mails), "rev", after, answers=len(mails) - 1, subject=ANSWER))
    return read(*mails, profile=GIT)


def is_said(outcome: ThreadOutcome, kind: OutcomeKind) -> bool:
    return outcome.kind is kind and outcome.tier is Tier.SAID


@pytest.mark.parametrize(
    "answer",
    [
        "Oops, you are right. I'll fix it.",
        "Sure, I will do that and resend.",
        "Thanks. I will switch to the shorter form and remove the flag.",
        "Will change the order. Will rename the macro.",
        "Let me rephrase that for clarity.",
        "Ah yes, my mistake. Fixed.",
        "Good point. I have sent a v2 with the flag removed.",
        "Done. v3 coming soon.",
        "I'm going to send an updated patch.",
        "It will be fixed in the next version.",
        "Sure. Will respin with these changes.",
    ],
)
def test_an_author_who_takes_every_remark_over_revises_the_patch(answer: str) -> None:
    reading = reviewed("Please use the helper here, and the name should be shorter.", answer)
    assert is_said(reading.outcome, OutcomeKind.REVISED)
    assert reading.outcome.authority is None
    assert not reading.has_consensus


def test_a_word_of_consent_after_the_promise_changes_nothing() -> None:
    reading = reviewed(
        "The order should be the other way round.", "Will change the order.", after="Great. Thanks Pat."
    )
    assert is_said(reading.outcome, OutcomeKind.REVISED)


@pytest.mark.parametrize(
    "answer",
    [
        "I'll fix the typo, but the name is on purpose.",
        "I will change the name. I don't think that the helper fits, though.",
        "I'd rather keep it. I'll add a comment.",
        "I will do that later in a separate patch.",
        "I'll change it. Should I drop the test as well?",
        "I've just added the tag so that it is found again.",
        "Thanks for looking.",
        "I'll send a helper first, and you can drop it for now. I will update this patch when it is merged.",
        "I'm still trying. I'll update you on the progress.",
        "The helper is called there, see the second hunk.",
    ],
)
def test_an_author_who_resists_or_asks_has_not_taken_it_over(answer: str) -> None:
    reading = reviewed("Please use the helper here, and the name should be shorter.", answer)
    assert reading.outcome.tier is Tier.REMARK


@pytest.mark.parametrize(
    "review",
    [
        "The same patch was sent two days ago, please review that one.",
        "This is already applied, please see master.",
    ],
)
def test_a_promise_about_something_else_revises_nothing(review: str) -> None:
    assert reviewed(review, "Ah, missed that. Will do.").outcome.tier is Tier.REMARK


def test_a_reviewer_who_was_not_answered_is_not_forgotten() -> None:
    first = mail(1, "rev", "Please use the helper here.", subject=ANSWER)
    second = mail(2, "sam", "The lock is taken twice in that function.", subject=ANSWER)
    promise = mail(3, "pat", "I'll use the helper.", answers=1, subject=ANSWER)
    reading = read(mail(0, "pat", TEXT, subject=PATCH), first, second, promise, profile=GIT)
    assert reading.outcome.tier is Tier.REMARK


@pytest.mark.parametrize("after", ["Why do you need the flag at all?", "I am not sure that this is enough."])
def test_a_review_that_goes_on_has_not_ended(after: str) -> None:
    assert reviewed("Please use the helper here.", "I'll use it.", after=after).outcome.tier is Tier.REMARK


@pytest.mark.parametrize(
    "words", ["Patch set applied.", "Sure, patch set applied!", "Both patches applied, thanks."]
)
def test_a_series_is_taken_as_a_whole(words: str) -> None:
    cover = mail(0, "pat", TEXT, subject="[PATCH 0/2] parser: two fixes")
    answer = mail(1, "juno@git.example", words, subject="Re: [PATCH 0/2] parser: two fixes")
    assert is_said(read(cover, answer, profile=GIT).outcome, OutcomeKind.ACCEPTED)


@pytest.mark.parametrize(
    "words", ["I've applied 1 and 3 to next.", "I merged 2 and 3.", "Queued 1-2 for now, thanks."]
)
def test_a_part_of_a_series_is_not_the_series(words: str) -> None:
    cover = mail(0, "pat", TEXT, subject="[PATCH 0/3] parser: three fixes")
    answer = mail(1, "juno@git.example", words, subject="Re: [PATCH 0/3] parser: three fixes")
    assert read(cover, answer, profile=GIT).outcome.tier is Tier.REMARK


def test_what_is_committed_with_an_update_was_changed() -> None:
    words = "I have committed it with the update in the documentation."
    reading = reviewed("Please add a warning to the documentation.")
    assert reading.outcome.kind is OutcomeKind.UNRESOLVED
    patch = mail(0, "pat", TEXT, subject=PATCH)
    taken = read(patch, mail(1, "juno@git.example", words, subject=ANSWER), profile=GIT)
    assert not is_said(taken.outcome, OutcomeKind.ACCEPTED)


def test_what_was_remarked_on_the_way_to_a_good_end_is_no_objection() -> None:
    doubt = "I don't think that this is the right place, it breaks the reader and should not be done here."
    patch, review = mail(0, "pat", TEXT, subject=PATCH), mail(1, "rev", doubt, subject=ANSWER)
    assert len(read(patch, review, profile=GIT).objections) == 1
    answer = mail(2, "pat", "The reader calls it twice, see the second hunk.", answers=1, subject=ANSWER)
    taken = mail(3, "juno@git.example", "Applied, thanks.", subject=ANSWER)
    reading = read(patch, review, answer, taken, profile=GIT)
    assert is_said(reading.outcome, OutcomeKind.ACCEPTED)
    assert not reading.objections


def test_scores_do_not_hang_on_the_order_in_which_features_are_summed() -> None:
    """Each process orders sets of words and cues differently, so the last digits of a sum are dropped."""
    review = (
        "I don't think that the parser should read the file twice, it would be better to keep the last line."
    )
    thread = LinkedThread([mail(0, "pat", TEXT, subject=PATCH), mail(1, "rev", review, subject=ANSWER)], GIT)
    scores = SentenceScores(thread, find_proposal(thread), Genre.PATCH)
    found = [scores.score(one, head) for one in thread.sentences() for head in Head]
    assert found == [round(one, 9) for one in found]
