import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.values import OutcomeKind, Tier
from shared.summaries.extractive import ExtractiveSummarizer
from shared.summaries.markdown import escape_markdown, render_markdown
from shared.summaries.models import Claim, Section, ThreadSummary
from tests.support.discussions import discussion, letters
from tests.support.properties import STEADY


def rendered(*said: tuple[str, str], subject: str = "Adoption") -> str:
    return render_markdown(ExtractiveSummarizer().summary(discussion(letters(*said), subject=subject)))


def test_a_summary_reads_from_the_outcome_to_the_citations() -> None:
    text = rendered(
        ("Ann", "I propose that we adopt draft-foo-bar."),
        ("Bob", "I support adoption of this draft."),
        ("Carl", "I object to adoption of this draft."),
    )
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert headings == ["# Adoption", "## In support", "## Objections", "## Other statements", "## Citations"]
    assert text.splitlines()[2].startswith(
        "**Contested\\: at least 1 in support, 1 objecting, no ruling found.**"
    )
    assert "- **Carl**: I object to adoption of this draft. [[2]](#citation-2)" in text
    assert '2. <a id="citation-2"></a>“I object to adoption of this draft.” (&lt;2@example.com&gt;)' in text


def test_an_objection_that_was_withdrawn_is_listed_as_one_with_its_withdrawal() -> None:
    text = rendered(
        ("Ann", "I propose that we adopt draft-foo-bar."),
        ("Bob", "I object to adoption of this draft."),
        ("Bob", "I withdraw my objection.\n\nI support adoption."),
    )
    told = text.partition("## Objections\n")[2].partition("## ")[0]
    assert "- **Bob**: I object to adoption of this draft." in told
    assert "*(withdrawn: “I withdraw my objection.”)*" in told
    assert "Possible objections" not in text


def test_where_nothing_can_be_said_no_decision_is_seen_and_nothing_was_agreed() -> None:
    text = rendered(("Ann", "I wonder how the port is chosen."), ("Bob", "The registry has it somewhere."))
    assert text.splitlines()[2] == "**No decision found.**"
    assert "agreed" not in text
    assert "consensus" not in text.lower()


def test_what_was_agreed_stands_over_what_is_said_to_be_agreed_and_nothing_else() -> None:
    made = ExtractiveSummarizer().summary(
        discussion(
            letters(
                ("Ann", "I propose that we adopt draft-foo-bar."),
                ("Bob", "I support adoption of this draft."),
                ("Carl", "I support adoption of this draft, too."),
            ),
            subject="Adoption",
        )
    )
    assert made.reading.has_consensus
    outcome = replace(made.reading.outcome, kind=OutcomeKind.ACCEPTED, tier=Tier.SAID, sentence="Accepted.")
    said = replace(made, reading=replace(made.reading, outcome=outcome))
    assert "## What was agreed, and by whom" in render_markdown(said)
    guessed = replace(made, reading=replace(made.reading, outcome=replace(outcome, tier=Tier.REMARK)))
    # Two support it, but no sentence settles it.
    assert "What was agreed" not in render_markdown(guessed)


def test_a_promise_alone_is_no_agreement() -> None:
    made = ExtractiveSummarizer().summary(
        discussion(letters(("Ann", "I propose it."), ("Bob", "I support it.")))
    )
    alone = replace(made, reading=replace(made.reading, has_consensus=True))
    assert alone.reading.outcome.tier is Tier.REMARK
    assert "## In support" in render_markdown(alone)


def test_an_objection_stands_with_what_became_of_it() -> None:
    text = rendered(
        ("Ann", "I propose that we adopt draft-foo-bar."), ("Carl", "I object to adoption\nof this draft.")
    )
    assert re.search(
        r"I object to adoption of this draft\. \[\[\d\]\]\(#citation-\d\) \*\(apparently unresolved\)\*",
        text,
    ), text


def test_every_number_in_the_text_has_its_citation() -> None:
    text = rendered(("Ann", "I propose that we adopt it."), ("Bob", "I support it."), ("Carl", "I object."))
    used = {int(number) for number in re.findall(r"\[\[(\d+)\]\]", text)}
    defined = {int(number) for number in re.findall(r'id="citation-(\d+)"', text)}
    assert used == defined == set(range(1, len(used) + 1))


def test_an_unsupported_claim_is_never_shown() -> None:
    good = ExtractiveSummarizer().summary(discussion(letters(("Bob", "I support it."))))
    lie = Claim("Everybody agreed to everything.", Section.AGREED)
    summary = ThreadSummary(good.title, (*good.claims, lie), "model", good.reading, rejected=(lie,))
    assert "Everybody" not in render_markdown(summary)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "[click](javascript:alert(1))",
        "![x](http://evil.example/track.png)",
        "`code` **bold** _it_ ~~no~~ | table |",
        "# heading",
        "http://evil.example/ and www.evil.example",
        "[[1]](#citation-1)",
        "&lt;script&gt;",
    ],
)
def test_mail_cannot_bring_markup(hostile: str) -> None:
    text = rendered(
        (f"Eve {hostile}", f"I object to this: {hostile} is what I would say here."),
        subject=f"About {hostile}",
    )
    assert "<script" not in text
    assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(javascript|(?<!\\)`|https?://|(?<![\w\\])www\.", text)
    assert not re.search(r"^#+ heading", text, re.MULTILINE)
    assert text.count("[[1]](#citation-1)") == 1


def test_line_breaks_and_direction_marks_are_flattened() -> None:
    assert escape_markdown("a\n\n# b\u202ec\x00d\u2028e") == "a \\# b c d e"


@STEADY
@given(st.text())
def test_escaped_text_is_one_line_without_tags(text: str) -> None:
    escaped = escape_markdown(text)
    assert "\n" not in escaped
    assert "<" not in escaped
    assert ">" not in escaped
