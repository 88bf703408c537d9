import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.model_reading.evidence import find_words
from shared.models.values import Citation, SentenceCitation
from shared.summaries.citations import MAX_QUOTE_CHARS, cite, verified, verify_stored
from shared.summaries.models import ContextChunk, ContextMessage
from tests.support.properties import STEADY

TEXT = "I have read the draft.\n\nI agree with the proposed\napproach (see RFC 2119). +1\n\nNot ready."
MESSAGE = ContextMessage("k1", "<1@example.com>", "bob@example.com", TEXT, "Bob")
CHUNK = ContextChunk("c1", "k1", 0, TEXT, 20)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("I agree with the proposed approach", "I agree with the proposed\napproach"),
        ("  I agree\twith the\n\nproposed approach ", "I agree with the proposed\napproach"),
        ("(see RFC 2119).", "(see RFC 2119)."),
        ("I have read the draft.", "I have read the draft."),
    ],
)
def test_a_quote_is_found_whatever_its_white_space(quote: str, found: str) -> None:
    span = find_words(quote, TEXT)
    assert span is not None
    assert TEXT[slice(*span)] == found


@pytest.mark.parametrize(
    "quote",
    [
        "I agree with the proposed approach entirely",
        "i agree with the proposed approach",  # a different case is a different quote
        "I agree with ... approach",
        "agree with the proposed approac",  # ends inside a word
        "gree with the proposed",  # starts inside one
        "I  have read this draft.",
        "",
        "   ",
        ".*",
        "x" * 100_000,
    ],
)
def test_what_is_not_there_verbatim_is_not_found(quote: str) -> None:
    assert find_words(quote, TEXT) is None


def test_a_verified_citation_says_where_the_quote_stands() -> None:
    citation = verified("I agree with the proposed approach", CHUNK, MESSAGE, 0.7)
    assert citation is not None
    assert citation.offset == TEXT.index("I agree")
    assert citation.quote == "I agree with the proposed\napproach"
    assert (citation.chunk_id, citation.message_id, citation.relevance_score) == (
        "c1",
        "<1@example.com>",
        0.7,
    )


@pytest.mark.parametrize("quote", ["I", "agree", "the draft", "with the", "(see"])
def test_a_word_or_two_out_of_a_sentence_show_nothing(quote: str) -> None:
    assert verified(quote, CHUNK, MESSAGE) is None


@pytest.mark.parametrize("quote", ["+1", "Not ready.", "Not ready"])
def test_a_short_sentence_is_enough_if_it_is_whole(quote: str) -> None:
    text = "+1\n\nNot ready."
    assert verified(quote, ContextChunk("c1", "k1", 0, text, 5), MESSAGE) is not None


def test_a_chunk_of_another_message_verifies_nothing() -> None:
    other = ContextMessage("k2", "<2@example.com>", "eve@example.com", TEXT)
    assert verified("I have read the draft.", CHUNK, other) is None
    assert verified("I have read the draft.", None, MESSAGE) is None


def test_a_sentence_over_the_edge_of_a_chunk_is_cited_as_far_as_one_chunk_holds_it() -> None:
    sentence = "We cannot adopt this because nobody has ever implemented any of it."
    chunks = [
        ContextChunk("c1", "k1", 0, "Hello. We cannot adopt this because nobody", 9),
        ContextChunk("c2", "k1", 1, "has ever implemented any of it.", 9),
    ]
    citation = cite(SentenceCitation("k1", 7, 7 + len(sentence), sentence), MESSAGE, chunks)
    assert citation is not None
    assert citation.quote == "We cannot adopt this because nobody"
    assert verify_stored([citation], {chunk.chunk_id: chunk.text for chunk in chunks}) == []


def test_a_sentence_in_no_chunk_is_not_cited() -> None:
    assert cite(SentenceCitation("k1", 0, 5, "This was never written anywhere."), MESSAGE, [CHUNK]) is None


def test_an_endless_sentence_is_cited_by_its_beginning() -> None:
    text = "word " * 1000
    message = ContextMessage("k1", "<1@example.com>", "bob@example.com", text)
    citation = cite(
        SentenceCitation("k1", 0, len(text), text), message, [ContextChunk("c1", "k1", 0, text, 1000)]
    )
    assert citation is not None
    assert len(citation.quote) <= MAX_QUOTE_CHARS


@pytest.mark.parametrize(
    ("quote", "offset", "chunk_id"),
    [
        ("I have read the draft.", 1, "c1"),
        ("I have read the book.", 0, "c1"),
        ("I have read the draft.", 0, "gone"),
        (" ", 0, "c1"),
        ("I have read the book.", None, "c1"),
    ],
)
def test_a_stored_citation_that_does_not_hold_is_reported(
    quote: str, offset: int | None, chunk_id: str
) -> None:
    stored = Citation(
        chunk_id=chunk_id, message_id="<1@example.com>", quote=quote, relevance_score=1, offset=offset
    )
    assert verify_stored([stored], {"c1": TEXT}) == [stored]


@STEADY
@given(st.text(max_size=80), st.text(max_size=200))
def test_a_quote_is_found_only_where_its_words_stand_in_order(quote: str, text: str) -> None:
    span = find_words(quote, text)
    if span is not None:
        assert text[slice(*span)].split() == quote.split()


@STEADY
@given(st.text(alphabet="ab c.\n", min_size=1, max_size=60), st.data())
def test_every_run_of_whole_words_is_found(text: str, data: st.DataObject) -> None:
    words = [match.span() for match in re.finditer(r"\S+", text)]
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    assert find_words(text[words[first][0] : words[last][1]], text) is not None
