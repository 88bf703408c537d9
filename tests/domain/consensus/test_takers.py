"""Who takes a patch, acknowledges it in words, or brings it again; and what only looks like it."""

import pytest

from shared.domain.consensus.reading import Genre, OutcomeKind, ThreadReading, Tier
from tests.support.thread_mails import GIT, mail, read, said

PATCH = "[PATCH] parser: keep the last line"
ANSWER = f"Re: {PATCH}"
TEXT = "Keep the last line of a file that has no newline at its end."
PUT = mail(0, "pat", TEXT, subject=PATCH)
QUESTION = mail(1, "rev", "Does it work with an empty file?", subject=ANSWER)
REPLY = mail(2, "pat", "Yes, there is a test for that.", answers=1, subject=ANSWER)


def after_a_reply(text: str) -> ThreadReading:
    return read(PUT, QUESTION, REPLY, mail(3, "tak", text, answers=2, subject=ANSWER))


def to_patch(text: str) -> dict[str, str]:
    return said(read(PUT, mail(1, "ann", text, subject=ANSWER), profile=GIT))


@pytest.mark.parametrize(
    "text",
    [
        "Sure, patch applied!",
        "Thanks all! Applied.",
        "Hearing no objections, applied to the next branch.",
        "So I have gone ahead and applied this.",
        "Thanks, series merged.",
    ],
)
def test_who_takes_it_in_answer_to_another_mail_is_for_it(text: str) -> None:
    assert said(after_a_reply(text)) == {"tak": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "It appears to have been merged into the tree with that commit.",
        "I applied this locally and the tests fail.",
        "We should have merged the other one first.",
        "The test that you have merged is not the same.",
        "Once that is applied, the warning is gone.",
    ],
)
def test_who_tells_of_what_was_taken_takes_nothing(text: str) -> None:
    reading = after_a_reply(text)
    assert said(reading) == {}
    assert reading.outcome.tier is Tier.REMARK


@pytest.mark.parametrize(
    "text",
    [
        "Here is my ACK.",
        "My Ack from version 1 still stands.",
        "I am delighted to provide my ACK to this.",
        "Reviewed and acked.",
        "The patch looks obviously good.",
        "Yeah, this seems like the obviously correct thing to be doing.",
        "This is probably the right thing to do.",
        "We should take this one.",
        "Agree.",
        "Release-Acked-by: Ann <ann@list.example>",
    ],
)
def test_an_ack_in_words_is_an_ack(text: str) -> None:
    assert to_patch(text) == {"ann": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "You have my ack if the test is added.",
        "Do you have my ack?",
        "My ack does not stand for this version.",
        "This is probably the right place, but the loop never ends.",
        "This is not clearly correct.",
        "Agreed. The name of the second flag is too long, though.",
        "Release-Acked-by: Bob <bob@list.example>",
    ],
)
def test_what_only_looks_like_an_ack_is_none(text: str) -> None:
    assert to_patch(text) == {}


def test_a_trailer_that_is_given_anew_to_the_next_version_counts() -> None:
    """The version before carried it already: it is not somebody else's line."""
    trailer = "Reviewed-by: Ann <ann@list.example>"
    again = mail(0, "pat", f"{TEXT}\n\n{trailer}\n", subject="[PATCH v2] parser: keep the last line")
    answer = mail(1, "ann", trailer, subject="Re: [PATCH v2] parser: keep the last line")
    assert said(read(again, answer, profile=GIT)) == {"ann": "support"}
    by_another = mail(1, "bob", trailer, subject="Re: [PATCH v2] parser: keep the last line")
    assert said(read(again, by_another, profile=GIT)) == {}


@pytest.mark.parametrize(
    "promise", ["Ok, I will resend soon with better wording.", "New patch sent.", "I will push v2 then."]
)
def test_an_author_who_brings_it_again_revises_it(promise: str) -> None:
    mails = [PUT, QUESTION, mail(2, "pat", promise, answers=1, subject=ANSWER)]
    later = mail(3, "sam", "Is there a manual page for it?", answers=0, subject=ANSWER)
    reading = read(*mails, later, profile=GIT)
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.REVISED, Tier.SAID)


def test_who_else_sends_it_again_revises_nothing() -> None:
    other = mail(2, "sam", "I will resend my series on top of it.", answers=1, subject=ANSWER)
    assert read(PUT, QUESTION, other, profile=GIT).outcome.tier is Tier.REMARK


def test_a_patch_in_answer_to_anothers_report_does_not_make_it_a_patch_thread() -> None:
    report = mail(0, "rep", "The parser drops the last line of this file.", subject="last line is missing")
    fix = mail(1, "pat", TEXT, subject=PATCH)
    assert read(report, fix, profile=GIT).genre.tier is Tier.REMARK
    cover = mail(0, "pat", "These two keep the last line.", subject="keep the last line")
    assert read(cover, fix, profile=GIT).genre.tier is Tier.SAID


def test_a_series_for_comments_is_a_patch() -> None:
    genre = read(mail(0, "pat", TEXT, subject="[RFC 0/2] keep the last line"), profile=GIT).genre
    assert (genre.kind, genre.tier) == (Genre.PATCH, Tier.SAID)
