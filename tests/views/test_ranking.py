"""The weights of passages: rare words, the best sentence, and evidence for the floor."""

import pytest

from shared.views.ranking import (
    Passage,
    Weigher,
    content_terms,
    is_prose,
    sentences_of,
    stem,
    texts_to_embed,
)

TEXTS = (
    "We talked about lunch. The receipt is valid for seven days. See you.",
    "A receipt has a number.",
    "A receipt is paper.",
    "Receipts are kept in a box.",
)
VECTORS = ([1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0])


def weigher(query: str, *, with_vectors: bool = True) -> Weigher:
    passages = [
        Passage(text, "Receipts", "Ada", vector if with_vectors else None)
        for text, vector in zip(TEXTS, VECTORS, strict=True)
    ]
    vectors = {term: [1.0, 0.0] for term in texts_to_embed(query)}
    return Weigher(query, vectors if with_vectors else None, passages)


def test_the_passage_that_has_the_words_and_the_meaning_comes_first() -> None:
    for with_vectors in (True, False):
        made = weigher("How many days is a receipt valid?", with_vectors=with_vectors)
        weighed = [made.weigh(number) for number in range(len(TEXTS))]
        assert max(range(len(TEXTS)), key=lambda number: weighed[number].score) == 0
        assert max(range(len(TEXTS)), key=lambda number: weighed[number].evidence) == 0


def test_words_that_no_passage_has_count_against_it() -> None:
    known, unknown = weigher("receipt"), weigher("receipt zebra veterinarian")
    assert known.weigh(0).evidence > unknown.weigh(0).evidence


def test_a_missing_word_counts_against_a_passage_unless_the_passage_means_it() -> None:
    assert texts_to_embed("expired tickets") == {
        "": "expired tickets",
        "expir": "tickets",
        "ticket": "expired",
    }
    passage = Passage("A ticket is paper.", "Tickets", "Ada", [1.0, 0.0])
    near, far = [1.0, 0.0], [0.6, 0.8]

    def evidence(without: list[float]) -> float:
        vectors = {"": near, "expir": without, "ticket": far}
        return Weigher("expired tickets", vectors, [passage]).weigh(0).evidence

    assert evidence(without=far) > evidence(without=near)


def test_the_best_sentence_is_the_one_with_the_words() -> None:
    start, end = weigher("how many days valid").best_sentence(TEXTS[0])
    assert TEXTS[0][start:end] == "The receipt is valid for seven days."


@pytest.mark.parametrize("text", ["", " ", "\n\n", "One", "a. b. c", "x" * 5000])
def test_any_text_has_a_sentence_within_it(text: str) -> None:
    spans = sentences_of(text)
    assert spans
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert weigher("x").best_sentence(text) in spans


def test_endings_and_words_that_say_nothing_are_left_out() -> None:
    assert {stem(word) for word in ("expires", "expired", "expiring", "expire")} == {"expir"}
    assert content_terms("What did they say about the receipts?") == [stem("receipt")]
    assert content_terms("who is it") == [stem("who"), stem("is"), stem("it")]


def test_code_and_marks_are_no_prose() -> None:
    assert is_prose("We dropped JSON, since its parser was slow.")
    assert is_prose("- Reliance on the request would mean a new type.")
    code = (
        "diff -u <(printf 'a\\n') | tail -1",
        "$ git init $ echo foo >a",
        "..",
        "+ of that blob, it is + printed",
    )
    assert not any(map(is_prose, code))
