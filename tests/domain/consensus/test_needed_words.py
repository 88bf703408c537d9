"""What a pattern needs rules out searches, and never a match."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shared.domain.consensus.reader  # noqa: F401 -- makes all cues
from shared.domain.consensus.cues import CUES
from shared.domain.consensus.mails import OwnSentence
from shared.domain.consensus.needed_words import alternatives_of
from shared.domain.consensus.word_index import WordIndex
from tests.support.properties import STEADY

PATTERNS = sorted({cue.pattern for cue in CUES if cue.pattern})


def sentence(text: str) -> OwnSentence:
    return OwnSentence(mail=0, index=0, start=0, end=len(text), text=text, block=-1, opens=True)


def is_possible(pattern: str, one: OwnSentence) -> bool:
    """Whether a sentence, of which every word triggers the search, has what the pattern needs."""
    return ways(pattern, one)[1] != 0


def is_sure(pattern: str, one: OwnSentence) -> bool:
    """Whether its words show that the pattern finds something in it."""
    return ways(pattern, one)[2] != 0


def ways(pattern: str, one: OwnSentence) -> tuple[int, int, int]:
    return WordIndex([(one.words, alternative) for alternative in alternatives_of(pattern)]).ways(one)


def words(pattern: str) -> list[list[set[str]]]:
    return [[set(need) for need in one.needs] for one in alternatives_of(pattern)]


@pytest.mark.parametrize(
    ("pattern", "needs"),
    [
        (r"\b(?:i|we) object\b", [[{"object"}, {"i", "we"}]]),
        (r"\b(?:i|we)(?:'ll| will) (?:also |now )?queue\b", [[{"queue"}, {"ll", "will"}, {"i", "we"}]]),
        (r"\bobject(?: to)?\b(?! if)", [[{"object"}]]),
        (r"\bship it\b|\b(?:lgtm|sgtm)\b", [[{"ship"}, {"it"}], [{"lgtm", "sgtm"}]]),
        (r"^\W{0,4}(?:yes, |well ){0,3}re-?(?:roll|spin)\b", [[{"roll", "spin", "reroll", "respin"}]]),
        (r"\bdon't think\b", [[{"don"}, {"think"}, {"t"}]]),
        (r"\bi am (?:a )?\+ ?1\b", [[{"am"}, {"+1", "+ 1"}, {"i"}]]),
        (r"\U0001f44d", [[{"\U0001f44d"}]]),
        (r"\bv\d{1,3} is (?:\w+ ){0,2}sent$", [[{"v"}, {"sent"}, {"is"}]]),
    ],
)
def test_whole_words_are_needed(pattern: str, needs: list[list[set[str]]]) -> None:
    assert words(pattern) == needs


@pytest.mark.parametrize(
    "pattern",
    [
        r"adopt",  # within another word
        r"\badopt",  # "adopted"
        r"\badopt\w*",
        r"adopt\b",  # "readopt"
        r"\b(?:adopt|\w+)\b",
        r"\b(?:adopt)?\b",
        r"\b(?:adopt)*\b",
        r"\b[a-z]+\b",
        r"\b.adopt\b",
        r"\b[^,]adopt\b",
        r"(?i)\badopt\b",  # not known here
        r"\b(a)dopt \1\b",
        r"\badopt{}\b",
    ],
)
def test_nothing_is_needed_where_no_word_is_sure(pattern: str) -> None:
    assert [] in words(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\bi (?:will )?(?:not )?object\b", "i object"),
        (r"\bobject(?:s|ed)?(?: to)?\b", "he objects to it"),
        (r"\b(?:re)?open\b", "reopen"),
        (r"\bi think\b", "x'i think'"),
        (r"\bgo(?: ahead)+\b", "go ahead ahead"),
        (r"\b(?:a|b)+c\b", "abbac"),
        (r"\bup(?:[- ]to)?[- ]date\b", "up-to-date"),
        (r"\+ ?1\b", "-+ 1"),
        (r"\bone\b|\btwo\b", "two"),
    ],
)
def test_what_matches_has_all_that_is_needed(pattern: str, text: str) -> None:
    assert re.search(pattern, text)
    assert is_possible(pattern, sentence(text))


def test_what_lacks_a_need_is_not_searched() -> None:
    pattern = r"\b(?:i|we) (?:strongly )?object\b"
    assert not is_possible(pattern, sentence("the object is large"))
    assert not is_possible(pattern, sentence("i have objections"))


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("it is slow, but fine", True),
        ("but-and-but", True),
        ("butter", False),
        ("but_first() fails", False),
        ("but2", False),
        ("nothing but 2 of them", True),
        ("\u00e9but", False),
        ("but\u00e9", False),
        ("all but's", False),  # found by the pattern
    ],
)
def test_a_word_is_enough_where_nothing_joins_it(text: str, sure: bool) -> None:
    assert is_sure(r"\bsince when\b|\b(?:although|but)\b", sentence(text)) == sure


@pytest.mark.parametrize(
    "pattern", [r"\bbut", r"but\b", r"\bbut\b(?! one)", r"\bbut one\b", r"(?<!all )\bbut\b"]
)
def test_a_word_is_not_enough_where_more_is_looked_for(pattern: str) -> None:
    assert not is_sure(pattern, sentence("all but one"))


def test_what_must_stand_first_is_not_found_by_its_word_alone() -> None:
    cue = next(cue for cue in CUES if r"|\binstead\b" in cue.pattern)
    assert not cue.finds(sentence("we do this instead"))


@pytest.mark.parametrize("number", range(len(PATTERNS)))
@settings(STEADY, max_examples=10)
@given(data=st.data())
def test_no_pattern_misses_what_it_matches(number: int, data: st.DataObject) -> None:
    one = sentence(data.draw(st.from_regex(PATTERNS[number])))
    if re.search(PATTERNS[number], one.folded):
        assert is_possible(PATTERNS[number], one) or not one.words
    else:
        assert not is_sure(PATTERNS[number], one)
