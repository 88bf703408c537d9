"""In votes and polls of project lists a yes, a no or a number answers the question: see `poll_answers.toml`."""

import tomllib
from pathlib import Path

import pytest

from tests.support.thread_mails import mail, read, said

TABLE = tomllib.loads(Path(__file__).with_name("poll_answers.toml").read_text(encoding="utf-8"))
STANCES = {"for": "support", "against": "oppose", "neither": None}
ROWS = [
    (call, words, stance)
    for side, stance in STANCES.items()
    for call, sentences in TABLE[side].items()
    for words in sentences
]


def answered(call: str, words: str, *, quotes: bool) -> str | None:
    subject, text = TABLE["calls"][call]
    answer = mail(1, "dan", words, under=text.strip() if quotes else "")
    return said(read(mail(0, "ann", text, subject=subject), answer)).get("dan")


def test_the_table_has_many_of_each() -> None:
    assert all(sum(map(len, TABLE[side].values())) > 40 for side in STANCES)


@pytest.mark.parametrize(("call", "words", "stance"), ROWS)
def test_an_answer_to_a_poll(call: str, words: str, stance: str | None) -> None:
    assert answered(call, words, quotes=False) == stance
    assert answered(call, words, quotes=True) == stance


@pytest.mark.parametrize("words", ["Yes.", "No.", "I disagree.", "Nope."])
def test_a_yes_or_no_to_another_question_is_no_vote(words: str) -> None:
    subject, text = TABLE["calls"]["poll"]
    asked = "Would the history be kept?"
    reading = read(
        mail(0, "ann", text, subject=subject),
        mail(1, "bob", asked, under=text),
        mail(2, "dan", words, answers=1, under=asked),
    )
    assert "dan" not in said(reading)
