"""People who accept a patch, acknowledge it in words, or resend it, and lookalikes."""

import pytest

from shared.models.values import Genre, OutcomeKind, ThreadReading, Tier
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
        "Merged cells are drawn wrong.",
        "Queued requests are lost with it.",
        "Applied on top of master it conflicts.",
        "Applied, and got a conflict.",
        "Yes, applied to 5.4 as well, same crash.",
        "Merged, then reverted.",
        "Merged something else instead.",
        "Ok, so I merged the other one.",
        "Thanks. Applied the wrong patch, sorry.",
        "Ok, pulled out of the release.",
        "Thanks, pushed back to next week.",
        "Pulled it, will have a look.",
        "Yes, the patch is applied twice in your script.",
        "The series applied with fuzz.",
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
        "The patch looks obviously good.",
        "Yeah, this seems like the obviously correct thing to be doing.",
        "This is probably the right thing to do.",
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
        "You have my ack once the loop is fixed.",
        "Happy to give my ack with the loop fixed.",
        "Glad to add my reviewed-by after that is done.",
        "You have my ack, but please fix the leak first.",
        "Please add my Reviewed-by after the loop is fixed.",
        "I'd like to give my ack, but the code leaks.",
        "My ack only holds with the fix.",
        "My ack applies to patch 1 only.",
        "Take my ack off this patch.",
        "Have my ack removed.",
        "I doubt my ack still stands.",
        "Bob said my ack still stands.",
        "You have my ack there by mistake.",
        "Reviewed and approved by Bob.",
        "Here is my ACK. However, the loop never ends.",
        "You should take these two lines out.",
        "You should merge them into one patch.",
        "We should take this offline.",
        "We should apply it differently.",
        "You should take this into account.",
        "The patch is partially correct.",
        "The patch looks suspiciously good.",
        "This patch is supposedly fine.",
        "It is indeed correct.",
        "It fixes all issues I mentioned, and adds new ones.",
        "Release-Acked-by: Bob <bob@list.example>",
    ],
)
def test_what_only_looks_like_an_ack_is_none(text: str) -> None:
    assert to_patch(text) == {}


@pytest.mark.parametrize("text", ["NAK. You have my ack once the loop is fixed.", "NAK. Here is my ACK."])
def test_an_ack_does_not_outweigh_an_objection(text: str) -> None:
    assert to_patch(text).get("ann") != "support"


def test_a_quoted_doubt_is_what_a_bare_agreement_agrees_with() -> None:
    doubt = "I am not sure that the second flag is needed."
    put = mail(0, "pat", f"{TEXT} {doubt}", subject=PATCH)
    assert said(read(put, mail(1, "ann", "Agreed.", under=doubt, subject=ANSWER), profile=GIT)) == {}


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Looks good to me.", {"rev", "ann"}),
        ("Looks good to me. I also wrote a test for it.", {"rev"}),
        ("Looks good to me. How about removing the old API as well?", {"rev"}),
    ],
)
def test_praise_is_of_what_the_answered_mail_says(text: str, who: set[str]) -> None:
    review = mail(1, "rev", text, subject=ANSWER)
    praise = mail(2, "ann", "Yes, looks good.", answers=1, subject=ANSWER)
    assert said(read(PUT, review, praise, profile=GIT)).keys() == who


def test_trailers_of_an_unmarked_quote_are_nobodys_word() -> None:
    """Two people object above a quote of the whole patch. Its trailers are not their support."""
    trailers = "Reviewed-by: Ann <ann@list.example>\nReviewed-by: Bob <bob@list.example>"
    text = f"Keep the last line of a file, whatever its end.\n\n{trailers}"
    subject = "[PATCH v2] parser: keep the last line"
    put = mail(0, "pat", text, subject=subject)
    first = mail(1, "ann", f"NAK, this version leaks memory.\n\n{text}", subject=f"Re: {subject}")
    second = mail(2, "bob", f"NAK from me too.\n\n{text}", subject=f"Re: {subject}")
    reading = read(put, first, second, profile=GIT)
    assert said(reading) == {"ann": "oppose", "bob": "oppose"}
    assert reading.outcome.kind is not OutcomeKind.ACCEPTED


def test_a_trailer_that_is_given_anew_to_the_next_version_counts() -> None:
    """The previous version already had the trailer, but it is not another person's line."""
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


@pytest.mark.parametrize(
    "text",
    [
        "The client will resend the request after a timeout.",
        "TCP will resend the packet, so this is fine.",
        "The driver will re-submit the request.",
        "The next patch does that.",
        "See the next patch in this series.",
        "Bob will resend it.",
        "If needed I will resend.",
        "Maybe I will repost it.",
        "I will only resend when asked.",
    ],
)
def test_who_speaks_of_sending_again_promises_nothing(text: str) -> None:
    reading = read(PUT, QUESTION, mail(2, "pat", text, answers=1, subject=ANSWER), profile=GIT)
    assert reading.outcome.tier is Tier.REMARK
    applied = mail(3, "juno@git.example", "Applied, thanks.", subject=ANSWER)
    taken = read(PUT, QUESTION, mail(2, "pat", text, answers=1, subject=ANSWER), applied, profile=GIT)
    assert taken.outcome.kind is OutcomeKind.ACCEPTED


def test_a_promise_that_others_doubt_settles_nothing() -> None:
    promise = mail(2, "pat", "I will send v2.", answers=1, subject=ANSWER)
    doubt = mail(3, "sam", "I don't think that this is needed at all.", answers=2, subject=ANSWER)
    assert read(PUT, QUESTION, promise, doubt, profile=GIT).outcome.tier is Tier.REMARK


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


@pytest.mark.parametrize("subject", ["[RFC 7231 section 3/4] wording", "[Errata RFC 793 1/1] a bit"])
def test_the_number_of_an_rfc_makes_no_patch(subject: str) -> None:
    assert read(mail(0, "pat", TEXT, subject=subject)).genre.kind is not Genre.PATCH
