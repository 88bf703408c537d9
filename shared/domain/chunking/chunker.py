"""Chunks: stretches of a message's own text that fit the embedding model's window.

A text is tokenised once. A strategy picks the tokens at which to cut; cuts lie between words, so the tokens
of a chunk are exactly the tokens of its text. Quotes are not part of the text, yet a chunk knows where its
text stands in `body_raw`, and so what was quoted between.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.chunking import cut_points as cuts
from shared.domain.chunking.tokens import WINDOW, ModelTokenizer, TokenizedText
from shared.domain.mail.models import Segment
from shared.domain.mail.segments import NormalizedBody

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Sentences to vectors."""


class Strategy(StrEnum):
    RECURSIVE = "recursive"
    TOKEN_WINDOW = "token_window"  # noqa: S105 -- the name of a strategy
    SEMANTIC = "semantic"


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    strategy: Strategy = Strategy.RECURSIVE
    max_tokens: int = WINDOW
    overlap_tokens: int = 24
    max_chars: int = 8_000
    """A word that the tokenizer does not know is one token however long: characters are bounded, too."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}: it has to be at least 1")
        if not 0 <= self.overlap_tokens <= self.max_tokens // 2:
            raise ValueError(
                f"overlap_tokens is {self.overlap_tokens}: "
                f"it has to be from 0 to half of max_tokens ({self.max_tokens})"
            )
        if self.max_chars < 1:
            raise ValueError(f"max_chars is {self.max_chars}: it has to be at least 1")


@dataclass(frozen=True, slots=True)
class TextChunk:
    index: int
    text: str
    token_count: int
    spans: tuple[tuple[int, int], ...]
    """Where the text stands in `body_raw`: one span for each stretch between quotes.
    The text is theirs, joined by blank lines."""
    overlap_with_previous: bool

    @property
    def start_offset(self) -> int:
        return self.spans[0][0]

    @property
    def end_offset(self) -> int:
        return self.spans[-1][1]


def chunk_body(
    body_raw: str,
    segments: list[Segment],
    tokenizer: ModelTokenizer,
    settings: ChunkSettings | None = None,
    embedder: Embedder | None = None,
) -> list[TextChunk]:
    """The chunks of a message's own text; none where it has only quotes."""
    settings = settings or ChunkSettings()
    body = NormalizedBody(body_raw, segments)
    tokens = tokenizer.tokenize(body.text)
    ends = _cut_points(body.text, tokens, settings, embedder)
    chunks: list[TextChunk] = []
    for start, end, overlaps in _with_overlap(body.text, tokens, ends, settings):
        for first, last, count in _within_chars(body.text, tokens, start, end, tokenizer, settings.max_chars):
            spans = tuple(body.raw_spans(first, last))
            chunks.append(TextChunk(len(chunks), body.text[first:last], count, spans, overlaps))
    return chunks


def _cut_points(
    text: str, tokens: TokenizedText, settings: ChunkSettings, embedder: Embedder | None
) -> list[int]:
    """The tokens before which to cut, the end included. Room for the overlap is left."""
    size = settings.max_tokens - settings.overlap_tokens
    if settings.strategy is Strategy.TOKEN_WINDOW:
        return cuts.by_tokens(tokens, size)
    if settings.strategy is Strategy.SEMANTIC:
        if embedder is None:
            raise ValueError("the semantic strategy needs an embedder")
        return cuts.by_meaning(text, tokens, size, embedder)
    return cuts.recursively(text, tokens, size, settings.max_tokens)


def _with_overlap(
    text: str, tokens: TokenizedText, ends: list[int], settings: ChunkSettings
) -> Iterator[tuple[int, int, bool]]:
    """Each chunk's first token, the one after its last, and whether it repeats the end of the one before."""
    previous = start = 0
    for end in ends:
        first = start
        if start and settings.overlap_tokens:
            first = cuts.overlap_start(
                text, tokens, start, max(previous + 1, start - settings.overlap_tokens)
            )
        yield first, end, first < start
        previous, start = start, end


def _within_chars(
    text: str, tokens: TokenizedText, start: int, end: int, tokenizer: ModelTokenizer, max_chars: int
) -> Iterator[tuple[int, int, int]]:
    """The chunk's characters and tokens, in pieces if the characters are too many for one."""
    first, last = cuts.line_start(text, tokens.start(start)), tokens.end(end - 1)
    if last - first <= max_chars:
        yield first, last, end - start
        return
    for position in range(first, last, max_chars):
        piece_end = min(position + max_chars, last)
        piece = text[position:piece_end]
        yield position, piece_end, tokenizer.count(piece)
