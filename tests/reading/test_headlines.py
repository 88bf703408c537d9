"""The headline of an outcome: the result, who decided it and when, and nothing else."""

import pytest

from shared.models.readings import StoredReading
from shared.models.values import ThreadReading, Tier, clipped, rejoined
from tests.support.thread_mails import GIT, IETF, mail, read

PATCH = "Keep the last line of a file that has no newline at its end."
SUBJECT = "[PATCH] parser: keep the last line"


def headline(reading: ThreadReading) -> str:
    assert reading.outcome.tier is Tier.SAID
    return StoredReading.of(reading).shown_outcome.headline


def test_who_may_decide_is_named_with_the_day_and_the_words() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "juno@git.example", "Will queue."), profile=GIT
    )
    sentence = headline(reading)
    assert sentence.startswith("Accepted by Juno (maintainer), 9 January 2024: ")
    assert sentence.endswith(": \u201cWill queue.\u201d")
    assert "keep the last line" not in sentence  # the page shows the subject next to it


def test_who_has_no_role_is_not_said_to_decide() -> None:
    reading = read(mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "ann", "Will queue."), profile=GIT)
    assert headline(reading) == "Accepted (Ann, 9 January 2024): \u201cWill queue.\u201d"


def test_where_nothing_is_said_the_last_remark_shows_where_it_stands() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "ann", "Hi Pat,\n\nI read it."), profile=GIT
    )
    assert reading.outcome.tier is Tier.REMARK
    shown = StoredReading.of(reading).shown_outcome
    last = "Last remark: Ann, 9 January 2024: \u201cI read it.\u201d"
    assert (shown.headline, shown.quote) == (f"No decision found. {last}", "")
    told = read(mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "ann", "Will queue."), profile=GIT)
    assert StoredReading.of(told).shown_outcome.last is None


def test_the_latest_remarks_are_the_last_words_of_who_wrote_most() -> None:
    said = [("ann", "Is the size right?"), ("bob", "It is ten bytes."), ("ann", "Then the name is wrong.")]
    rest = [mail(number, who, text) for number, (who, text) in enumerate(said, start=1)]
    signed = mail(4, "cyn", "The size comes from the header of the file.\n\nBest regards, Cyn")
    reading = read(mail(0, "pat", PATCH, subject=SUBJECT), *rest, signed, profile=GIT)
    latest = {one.name: one.citation.quote for one in reading.latest}
    assert list(latest)[1:] == ["Bob", "Ann", "Cyn"]
    assert latest["Ann"] == "Then the name is wrong."
    assert latest["Cyn"] == "The size comes from the header of the file."


def test_a_withdrawal_names_who_withdrew_it() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "juno@git.example", "This breaks the reader, I think."),
        mail(2, "pat", "I withdraw this patch.", answers=1),
        profile=GIT,
    )
    assert headline(reading).startswith("Withdrawn by Pat, 10 January 2024")


def test_both_sides_are_counted_and_nobody_is_named() -> None:
    reading = read(
        mail(0, "ann", "I propose that we adopt draft-foo-bar.", subject="Adoption"),
        mail(1, "bob", "I support adoption of this draft."),
        mail(2, "carl", "I object to adoption of this draft."),
        profile=IETF,
    )
    assert headline(reading) == "Contested: at least 1 in support, 1 objecting, no ruling found."


def test_who_is_quoted_is_not_taken_for_who_answered() -> None:
    reading = read(
        mail(0, "ann", "How do I turn the cache off?", subject="Turning the cache off"),
        mail(1, "bob", "You can set cache to zero in the file."),
        mail(2, "ann", "That solved it, thanks!", answers=1),
    )
    assert headline(reading) == "Answered by Bob (Ann, 10 January 2024): \u201cThat solved it, thanks!\u201d"


def test_a_headline_is_short_whatever_the_words_are() -> None:
    assert len(clipped("x" * 10_000, 25)) < 250
    assert clipped("one two three", 2) == "one two \u2026"
    assert clipped("one  two", 2) == "one two"


def test_who_promises_changes_is_not_said_to_have_accepted_it() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "ann", "Please add a test for an empty file.", answers=0),
        mail(2, "pat", "Good point. I will add that in v2.", answers=1),
        profile=GIT,
    )
    assert headline(reading).startswith("Pat promised changes, ")
    assert reading.outcome.by == "Pat"


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("tally- receipts", "tally-receipts"),
        ("draft-lindqvist-tally-\nreceipts-02, a draft", "draft-lindqvist-tally-receipts-02, a draft"),
        ("an up-\n  to-date state-of- the-art tool", "an up-to-date state-of-the-art tool"),
        ("a follow- up by Jean-\r\nPierre", "a follow-up by Jean-Pierre"),
        ("non- English text", "non-English text"),
    ],
)
def test_a_word_that_was_broken_at_its_hyphen_is_whole_again(broken: str, whole: str) -> None:
    assert rejoined(broken) == whole
    assert rejoined(whole) == whole


@pytest.mark.parametrize(
    "text",
    [
        "pre- and post-conditions",
        "one-\nor two-sided",
        "left- to right-hand",
        "client-, server- und netzseitig",
        "It works-- mostly",
        "It works - mostly",
        "It works -\nmostly",
        "It works- but slowly",
        "It works- I think",
        "-- \nAnn",
        "- a list\n- of things",
        "1- first, 2- second",
        "a- b",
        "rm -rf - x",
        "tally-",
        "+1-\n",
    ],
)
def test_other_hyphens_keep_the_space_after_them(text: str) -> None:
    assert rejoined(text) == text


def test_many_hyphens_take_no_long_time() -> None:
    assert rejoined("ab- " * 50_000 + "cd") == "ab-" * 50_000 + "cd"
