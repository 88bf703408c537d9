"""Answers to a formal call, with many wordings and many other topics: see `call_answers.toml`."""

import tomllib
from pathlib import Path

import pytest

from shared.reading.mails import ThreadMail
from tests.support.thread_mails import IETF, mail, read, said

CHAIR = "chair@ietf.example"
CALLS = {
    "adoption": "This starts a two week call for adoption of draft-smith-example. "
    "Please reply by 31 January 2024 and say whether you support adoption or object.",
    "last_call": "This is a working group last call on draft-ietf-example. "
    "Please send comments by 31 January 2024.",
    "cfc": "This is a Call for Consensus (CfC) to publish the Working Draft of Foo. "
    "Please respond by 12 January. Silence will be taken as agreement.",
    "removal": "This is a consensus call to remove the legacy format from the draft. "
    "Please say whether you support the removal.",
}
TABLE = tomllib.loads(Path(__file__).with_name("call_answers.toml").read_text(encoding="utf-8"))
ROWS = [
    (call, words, {"for": "support", "against": "oppose", "neither": None}[side])
    for side, by_call in TABLE.items()
    for call, sentences in by_call.items()
    for words in sentences
]
REVIEW = (
    "I read the draft last week.\n\nSection 3 talks about the header.\n\nSection 4 is about the registry.\n\n"
    "There is an example in the appendix.\n\n{}\n\nThe text about keys was new to me.\n\nSee you in Prague."
)
SHORT = {"+1", "-1", "Agreed.", "Ship it."}
"""Inside a review these words may be about anything."""


def answered(call: str, *rest: ThreadMail) -> str | None:
    return said(read(mail(0, CHAIR, CALLS[call], subject="A call"), *rest, profile=IETF)).get("dan")


def test_the_table_has_many_of_each() -> None:
    assert all(sum(map(len, by_call.values())) > 40 for by_call in TABLE.values())


@pytest.mark.parametrize(("call", "words", "stance"), ROWS)
def test_an_answer_to_a_call(call: str, words: str, stance: str | None) -> None:
    assert answered(call, mail(1, "dan", words)) == stance


@pytest.mark.parametrize(("call", "words", "stance"), ROWS)
def test_the_same_inside_a_review(call: str, words: str, stance: str | None) -> None:
    expected = None if words in SHORT else stance
    assert answered(call, mail(1, "dan", REVIEW.format(words))) == expected


QUESTION = "What does section 3 do? I have not understood it."


@pytest.mark.parametrize(
    ("words", "quoted", "free"),
    [
        ("I oppose adoption.", "oppose", "oppose"),
        ("I support the adoption of this draft.", "support", "support"),
        ("I object.", None, "oppose"),
        ("I support this.", None, "support"),
        ("I object to the wording in section 3.", None, None),
    ],
)
def test_what_names_nothing_counts_where_it_stands_below_nothing_else(
    words: str, quoted: str | None, free: str | None
) -> None:
    other = mail(1, "bob", QUESTION, under=CALLS["adoption"])
    assert answered("adoption", other, mail(2, "dan", words, answers=1, under=QUESTION)) == quoted
    assert answered("adoption", other, mail(2, "dan", words, answers=1)) == free


def test_what_answers_a_counter_proposal_is_of_that() -> None:
    other = mail(1, "bob", "I propose that we merge it with the other draft.", under=CALLS["adoption"])
    assert answered("adoption", other, mail(2, "dan", "I support this.", answers=1)) is None
    assert answered("adoption", other, mail(2, "dan", "I support adoption.", answers=1)) == "support"


@pytest.mark.parametrize(
    "words",
    [
        "The chairs do not believe that the draft is ready.",
        "Bob thinks that we should adopt this.",
        "I see no reason why this should not be adopted.",
        "We should not publish this before section 3 is done.",
        "This should be published as Experimental.",
        "I think we should add a section on security.",
        "Please publish the minutes.",
        "I don't think this is ready for adoption, but I support the work.",
        "I support the change proposed by Cyn.",
        "Nobody has explained why the draft should be adopted.",
        "Our product does not support this.",
        "I hope the editors are ok with it.",
    ],
)
def test_what_only_looks_like_an_answer(words: str) -> None:
    assert answered("adoption", mail(1, "dan", words)) is None
    assert answered("last_call", mail(1, "dan", words)) is None
