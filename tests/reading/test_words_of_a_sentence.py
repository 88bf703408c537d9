"""The words of a sentence, which rule most wordings out."""

import re

from hypothesis import given
from hypothesis import strategies as st

from shared.reading.mails import OwnSentence
from tests.support.properties import STEADY

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|[+-] ?[0-2]|\U0001f44d")
PIECES = [
    "don't",
    "i'll",
    "'",
    "''",
    "re-roll",
    "+1",
    "- 1",
    "v2",
    "10",
    "_",
    "\U0001f44d",
    "caf\u00e9",
    "a'b'c",
    " ",
]


@STEADY
@given(pieces=st.lists(st.sampled_from(PIECES) | st.text("ab' -+012.", max_size=6), max_size=12))
def test_words_are_runs_of_letters_contractions_and_votes(pieces: list[str]) -> None:
    text = " ".join(pieces)
    one = OwnSentence(mail=0, index=0, start=0, end=len(text), text=text, block=-1, opens_paragraph=True)
    assert one.words == set(WORD.findall(one.folded))
