"""Lies under true quotes: a claim of a model is shown only if the mail supports it."""

import pytest

from shared.models.values import Fate, OutcomeKind, Preset, ReadBy, RoleHolder, SourceProfile, Tier
from tests.model_reading.threads import mails, position, read, said, stances

ASKS = "This starts a call for adoption of draft-example-renumbering, please say whether you support it."
THREAD = mails(
    ("Ann Chair", ASKS),
    ("Bob Builder", "We have running code. I support adoption of this draft."),
    ("Carl Critic", "I do not support adoption of this draft. The security section is empty."),
    ("Dora Doubt", "The renumbering of large sites took us 3 weeks in 2019."),
    ("Eva Editor", "Carl said that he would support adoption if the section is filled."),
)


def test_a_part_of_a_sentence_is_judged_as_the_whole() -> None:
    """The part is `support adoption of this draft`, cut out of `I do not support ...`."""
    reading = read(THREAD, positions=[position(3, "support", "support adoption of this draft")])
    assert stances(reading).get("Carl Critic") != "support"
    assert reading.model is not None
    assert any("opposite" in why or "cut off" in why for why in reading.model.refused)


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        (position(2, "support", "I support adoption of this draft.", person="p3"), {}),
        (position(2, "support", "I support adoption of this draft.", person="Carl Critic"), {}),
        (position(4, "support", "I support adoption of this draft."), {}),
        (position(2, "oppose", "I support adoption of this draft."), {}),
        (position(3, "support", "We have running code. I support adoption"), {}),
        (position(4, "support", "The renumbering of large sites supports adoption"), {}),
        (position(5, "support", "he would support adoption if the section is filled"), {}),
        (position(99, "support", "I support adoption of this draft."), {}),
        (position(-1, "support", "I support adoption of this draft."), {}),
    ],
    ids=[
        "swapped id",
        "swapped name",
        "another mail",
        "flipped",
        "merged",
        "invented",
        "report",
        "no mail",
        "minus",
    ],
)
def test_a_false_position_is_not_shown(claim: dict[str, object], shown: dict[str, str]) -> None:
    honest = stances(read(THREAD))
    assert honest == {"Bob Builder": "support", "Carl Critic": "oppose"}
    reading = read(THREAD, positions=[claim])
    assert stances(reading) == honest | shown
    assert reading.model is not None
    assert reading.model.refused or reading.model.differences


def test_what_the_rules_are_sure_of_stands_and_the_difference_is_told() -> None:
    reading = read(THREAD, positions=[position(2, "mixed", "We have running code.")])
    assert stances(reading)["Bob Builder"] == "support"
    assert reading.model is not None
    (difference,) = reading.model.differences
    assert (difference.what, difference.by_rules, difference.by_model) == (
        "bob.builder@example.org",
        "support",
        "mixed",
    )


def test_a_position_by_argument_is_marked_as_the_models_reading() -> None:
    quote = "Large sites need tools for renumbering, as it took us 3 weeks."
    thread = [*THREAD[:3], *mails(*[("x", "y")] * 3, ("Dora Doubt", quote))[3:]]
    reading = read(thread, positions=[position(4, "support", quote, explicit=True)])
    (dora,) = [one for one in reading.positions if one.name == "Dora Doubt"]
    assert (dora.read_by, dora.is_explicit, dora.tier) == (ReadBy.MODEL, False, Tier.SAID)
    assert reading.model is not None
    assert reading.model.marked == ("position of Dora Doubt: no word takes a side (mail 4)",)


def test_words_that_argue_nothing_are_no_position() -> None:
    quote = "The renumbering of large sites took us 3 weeks in 2019."
    reading = read(THREAD, positions=[position(4, "support", quote, explicit=True)])
    assert "Dora Doubt" not in stances(reading)


def test_who_puts_it_is_no_voice() -> None:
    reading = read(
        THREAD,
        positions=[position(1, "proposer", ASKS), position(1, "support", ASKS)],
    )
    assert "Ann Chair" not in stances(reading)


def test_a_model_cannot_hide_who_the_rules_are_sure_of() -> None:
    assert stances(read(THREAD, genre="call", positions=[])) == {
        "Bob Builder": "support",
        "Carl Critic": "oppose",
    }


@pytest.mark.parametrize(
    "outcome",
    [
        {"kind": "accepted", "text": "It was adopted.", "evidence": []},
        {"kind": "accepted", "text": "It was adopted.", "evidence": [said(1, "The draft is adopted.")]},
        {"kind": "accepted", "text": "It was adopted.", "evidence": [said(4, THREAD[3].text)]},
        {
            "kind": "accepted",
            "text": "Adopted.",
            "evidence": [said(3, "I do not support adoption of this draft.")],
        },
        {"kind": "rejected", "text": "Rejected.", "evidence": [said(2, "I support adoption of this draft.")]},
    ],
    ids=["no evidence", "invented", "about something else", "opposite", "opposite again"],
)
def test_an_outcome_without_words_that_show_it_is_not_said(outcome: dict[str, object]) -> None:
    reading = read(THREAD, outcome=outcome, has_consensus=True)
    assert reading.outcome == read(THREAD).outcome
    assert reading.outcome.kind.value != outcome["kind"]
    assert not reading.has_consensus


CHAIRS = SourceProfile(Preset.IETF, (RoleHolder("ann.chair@example.org", "chair"),))


def test_only_one_whom_the_source_names_decides() -> None:
    claims = "As chair I note that this is accepted, and I am happy with it."
    thread = [*THREAD[:1], *mails(("x", "y"), ("Eve Outsider", claims))[1:]]
    outcome = {"kind": "accepted", "text": "Accepted by the chair.", "evidence": [said(3, claims)]}
    reading = read(thread, CHAIRS, outcome=outcome)
    assert reading.outcome.authority is None


def test_an_outcome_in_words_that_say_more_is_told_in_ours() -> None:
    thread = mails(("Ann Chair", ASKS), ("Bob Builder", "We have running code. The draft is adopted."))
    evidence = [said(2, "The draft is adopted.")]
    outcome = {"kind": "accepted", "text": "Accepted by Zeno with 14 votes.", "evidence": evidence}
    reading = read(thread, outcome=outcome)
    assert reading.outcome.kind is OutcomeKind.ACCEPTED
    assert "Zeno" not in reading.outcome.sentence
    assert "14" not in reading.outcome.sentence
    assert reading.outcome.read_by is ReadBy.MODEL
    assert reading.outcome.sentence.endswith("(as toy reads it)")
    assert reading.headline.came_out == reading.outcome.sentence


def test_a_fate_that_is_not_seen_is_unclear() -> None:
    claimed = [{"mail": 3, "quote": "The security section is empty.", "fate": "withdrawn"}]
    (objection,) = [
        one for one in read(THREAD, objections=claimed).objections if "security" in one.citation.quote
    ]
    assert objection.fate is Fate.UNCLEAR


@pytest.mark.parametrize(
    "text",
    [
        "Carl supports adoption.",
        "Carl Critic supports it.",
        "Dora Doubt wrote this.",
        "Carl Critic withdrew the objection.",
        "The working group decided to adopt the draft.",
        "Carl Critic reports 17 failures.",
        "Carl Critic wrote this in June 2021.",
        "On Tuesday Carl Critic disagreed.",
        "Zeno agreed with Carl Critic.",
        "carl critic supports adoption, as dora doubt does.",
        "Everybody supports adoption.",
        "",
    ],
)
def test_a_sentence_that_says_more_than_its_quote_is_dropped(text: str) -> None:
    summary = [{"text": text, "evidence": [said(3, "I do not support adoption of this draft.")]}]
    reading = read(THREAD, summary=summary)
    assert reading.model is not None
    assert reading.model.narrative == ()


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("I am not sure we need this.", "Carl Critic doubts that it is needed."),
        ("I am not sure we need this.", "Carl Critic is not convinced of the need for it."),
        (
            "The security section is empty.",
            "Carl Critic points out that the security section has no content.",
        ),
        ("I will not have time to review it.", "Carl Critic cannot review it for lack of time."),
        ("Would it work with two routers?", "Carl Critic wonders whether it works with two routers."),
        ("We could move the table to an appendix.", "Carl Critic suggests an appendix for the table."),
        ("It takes longer than the old way.", "Carl Critic finds it slower than the old way."),
        ("I'd rather keep the old text than drop it.", "Carl Critic would prefer the old text to be kept."),
    ],
)
def test_a_paraphrase_is_no_contradiction(quote: str, text: str) -> None:
    thread = [*THREAD[:2], *mails(*[("x", "y")] * 2, ("Carl Critic", quote))[2:]]
    reading = read(thread, summary=[{"text": text, "evidence": [said(3, quote)]}])
    assert reading.model is not None
    assert [one.text for one in reading.model.narrative] == [text], reading.model.refused


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("I am not sure we need this.", "Carl Critic is sure that we need this."),
        ("I will send a new version next week.", "Carl Critic sent a new version."),
        ("I will not send a new version.", "Carl Critic will send a new version."),
        (
            "I object to dropping JSON: it is the only form.",
            "I object to dropping JSON: it is not the only form.",
        ),
        ("If Ann agrees, I will publish it.", "Carl Critic published it."),
        ("I guess that the cache is too small.", "Carl Critic confirmed that the cache is too small."),
        ("The new parser is slower than the old one.", "The old parser is slower than the new one."),
        ("Some of the tests fail.", "All of the tests fail, says Carl Critic."),
        ("The fix is straightforward.", "Carl Critic finds the fix difficult."),
        ("I dropped it, as the build failed.", "Carl Critic dropped it because nobody wanted it."),
        ("Should we adopt option 3?", "Carl Critic says that option 3 is right."),
        ("We met on 4 May 2018 and talked about it.", "Carl Critic met them on 4 May 2019 to talk."),
    ],
)
def test_a_sentence_that_turns_the_words_is_not_stated(quote: str, text: str) -> None:
    thread = [*THREAD[:2], *mails(*[("x", "y")] * 2, ("Carl Critic", quote))[2:]]
    reading = read(thread, summary=[{"text": text, "evidence": [said(3, quote)]}])
    assert reading.model is not None
    assert not any(sentence.is_borne for sentence in reading.model.narrative)
    assert reading.model.refused or reading.model.marked


def test_a_sentence_whose_quote_is_found_is_kept() -> None:
    evidence = [said(3, "The security section is empty.")]
    summary = [{"text": "Carl Critic finds the security section empty.", "evidence": evidence}]
    reading = read(THREAD, summary=summary)
    assert reading.model is not None
    assert [one.text for one in reading.model.narrative] == ["Carl Critic finds the security section empty."]


def test_one_lost_quote_does_not_lose_a_sentence_that_has_another() -> None:
    evidence = [said(3, "The security section is empty."), said(3, "and nobody will read it")]
    reading = read(THREAD, summary=[{"text": "Carl Critic finds the section empty.", "evidence": evidence}])
    assert reading.model is not None
    assert [len(one.evidence) for one in reading.model.narrative] == [1]
    assert reading.model.refused == ("sentence 1: 1 quotes are not in the thread",)


def test_a_quoted_line_is_not_its_quoters() -> None:
    thread = mails(
        ("Ann Chair", ASKS),
        ("Bob Builder", "I think that this draft solves the problem that we all have with renumbering."),
        (
            "Carl Critic",
            "I think that this draft solves the problem that we all have with renumbering.\n\nReally?",
        ),
    )
    claim = position(3, "support", "this draft solves the problem that we all have with renumbering")
    assert "Carl Critic" not in stances(read(thread, positions=[claim]))
