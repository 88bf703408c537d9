"""The sentence that leads everywhere: what came of it, who decided it and when, and never more."""

from shared.documents.readings import StoredReading
from shared.domain.consensus.headlines import clipped
from shared.domain.consensus.reading import ThreadReading, Tier
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
    assert "keep the last line" not in sentence  # its subject stands beside it


def test_who_has_no_role_is_not_said_to_decide() -> None:
    reading = read(mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "ann", "Will queue."), profile=GIT)
    assert headline(reading) == "Accepted; Ann, 9 January 2024: \u201cWill queue.\u201d"


def test_where_nothing_is_said_no_words_are_shown_for_it() -> None:
    reading = read(mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "ann", "I read it."), profile=GIT)
    assert reading.outcome.tier is Tier.REMARK
    shown = StoredReading.of(reading).shown_outcome
    assert (shown.headline, shown.quote) == ("No decision seen.", "")


def test_a_withdrawal_names_who_withdrew_it() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "juno@git.example", "This breaks the reader, I think."),
        mail(2, "pat", "I withdraw this patch.", answers=1),
        profile=GIT,
    )
    assert headline(reading).startswith("Turned down or withdrawn by Pat, 10 January 2024")


def test_both_sides_are_counted_and_nobody_is_named() -> None:
    reading = read(
        mail(0, "ann", "I propose that we adopt draft-foo-bar.", subject="Adoption"),
        mail(1, "bob", "I support adoption of this draft."),
        mail(2, "carl", "I object to adoption of this draft."),
        profile=IETF,
    )
    assert headline(reading) == "Contested: at least 1 in support, 1 objecting; no ruling seen."


def test_who_is_quoted_is_not_taken_for_who_answered() -> None:
    reading = read(
        mail(0, "ann", "How do I turn the cache off?", subject="Turning the cache off"),
        mail(1, "bob", "You can set cache to zero in the file."),
        mail(2, "ann", "That solved it, thanks!", answers=1),
    )
    assert headline(reading) == "Answered by Bob; Ann, 10 January 2024: \u201cThat solved it, thanks!\u201d"


def test_a_headline_is_short_whatever_the_words_are() -> None:
    assert len(clipped("x" * 10_000, 25)) < 250
    assert clipped("one two three", 2) == "one two \u2026"
    assert clipped("one  two", 2) == "one two"
