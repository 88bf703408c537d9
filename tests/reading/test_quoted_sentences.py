"""The sentences that are quoted, and sentences that never are, regardless of their score."""

import pytest

from shared.models.values import Tier
from shared.reading.mails import own_sentences
from tests.support.thread_mails import GIT, mail, read

DIFF = "\n---\n a.c | 2 +-\n\ndiff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("From: Ann Lee <ann@x.example>\n\nCount the entries.", "Count the entries."),
        ("(This applies to the tip of the tree.)\n\nCount the entries.", "Count the entries."),
        ("Thanks for the review!\n\nCount the entries.", "Count the entries."),
        ("Signed-off-by: Ann Lee <ann@x.example>", "cache: count"),
    ],
)
def test_what_is_asked_is_no_header_and_no_courtesy(text: str, asked: str) -> None:
    reading = read(
        mail(0, "ann", f"{text}{DIFF}", subject="[PATCH] cache: count"),
        mail(1, "bob", "The name is too long.", subject="Re: [PATCH] cache: count"),
        profile=GIT,
    )
    assert reading.headline.asked == asked


def test_the_log_message_of_a_patch_decides_nothing() -> None:
    told = "In the commit before we agreed to drop the table, and have fixed the test that needed it."

    def decided(subject: str, who: str) -> list[str]:
        reading = read(
            mail(0, "ann", f"Count the entries.{DIFF}", subject="[PATCH 1/2] cache: count"),
            mail(1, who, told, subject=subject),
            mail(2, "bob", "The name is too long.", subject="Re: [PATCH 1/2] cache: count"),
            profile=GIT,
        )
        return [one.citation.quote for one in reading.decisions]

    assert told not in decided("[PATCH 2/2] cache: drop", "ann")
    assert told in decided("Re: [PATCH 1/2] cache: count", "bob")


def test_who_repeats_a_sentence_is_quoted_once() -> None:
    promise = "Good point, I will change the name in the next version."
    reading = read(
        mail(0, "ann", f"Count the entries.{DIFF}", subject="[PATCH] cache: count"),
        mail(1, "bob", "The name is too long.", subject="Re: [PATCH] cache: count"),
        mail(2, "ann", promise, answers=1, subject="Re: [PATCH] cache: count"),
        mail(3, "ann", promise, answers=1, subject="Re: [PATCH] cache: count"),
        profile=GIT,
    )
    assert [one.citation.quote for one in reading.decisions] == [promise]


def test_a_question_in_the_mail_that_decides_is_answered_by_it() -> None:
    asks = "Have we heard what became of the name, is it still not clear?"

    def left(*rest: str) -> list[str]:
        reading = read(
            mail(0, "ann", f"Count the entries.{DIFF}", subject="[PATCH] cache: count"),
            mail(1, "juno@git.example", " ".join((asks, *rest)), subject="Re: [PATCH] cache: count"),
            profile=GIT,
        )
        accepted = reading.outcome.tier is Tier.SAID and bool(reading.outcome.authority)
        assert accepted == bool(rest)
        return [one.quote for one in reading.open_issues]

    assert left() == [asks]
    assert left("It is fine with me either way.", "Will queue.") == []


def test_the_output_of_a_program_is_no_open_issue() -> None:
    reading = read(
        mail(0, "ann", "How do I make a random matrix? I am trying to test a filter.", subject="Random?"),
        mail(1, "bob", 'Traceback (most recent call last): File "<stdin>", line 1, in ?'),
    )
    assert reading.open_issues == ()


def test_a_range_diff_is_nobodys_words() -> None:
    compared = (
        "Changes since version one are below.\n\n"
        "Range-diff against v1:\n"
        "1:  e387088da2 ! 1:  ff4e5aff2a cache: count\n"
        "    @@ Commit message\n"
        "    ++    I object to this series and will drop it.\n"
        "    -     We agreed to merge it.\n"
    )
    sentences = own_sentences(compared, (), 0)
    assert [one.text for one in sentences] == [
        "Changes since version one are below.",
        "Range-diff against v1:",
    ]
