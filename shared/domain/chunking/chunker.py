"""Chunks: stretches of a message's own text that fit the embedding model's window.

A text is tokenised once. A strategy picks the tokens at which to cut; cuts lie between words, so the tokens
of a chunk are exactly the tokens of its text. Quotes are not part of the text, yet a chunk knows where its
text stands in `body_raw`, and so what was quoted between.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from nupunkt import sent_spans

from shared.domain.chunking.tokens import WINDOW, ModelTokenizer, TokenizedText
from shared.domain.mail.models import Segment
from shared.domain.mail.segments import NormalizedBody

_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")


def sentence_starts(text: str) -> list[int]:
    """Offsets at which a sentence starts; a blank line ends one, too."""
    starts = {start for start, _ in sent_spans(text)}
    starts.update(match.end() for match in _BLANK_LINE.finditer(text))
    return sorted(start for start in starts if start < len(text))


_LEAST_SHARE = 4
"""A chunk is cut at a boundary only if that leaves it at least a quarter full."""


def by_tokens(tokens: TokenizedText, size: int) -> list[int]:
    """Windows of equal size."""
    ends, start = [], 0
    while start < len(tokens):
        start = _fit(tokens, start, size)
        ends.append(start)
    return ends


def recursively(text: str, tokens: TokenizedText, size: int, whole: int) -> list[int]:
    """As many paragraphs as fit; in a paragraph that does not, sentences; then lines; then words.

    A text that fits as a whole stays whole.
    """
    if not len(tokens):
        return []
    if len(tokens) <= whole:
        return [len(tokens)]
    paragraphs = [tokens.at_or_after(match.end()) for match in _BLANK_LINE.finditer(text)]
    ends, start = [], 0
    while start < len(tokens):
        start = _best_end(text, tokens, start, size, paragraphs)
        ends.append(start)
    return ends


def _best_end(text: str, tokens: TokenizedText, start: int, size: int, paragraphs: list[int]) -> int:
    limit = start + size
    if limit >= len(tokens):
        return len(tokens)
    least = start + max(1, size // _LEAST_SHARE)
    end = _last_between(paragraphs, least, limit)
    if end is None:
        first, last = tokens.start(start), tokens.end(limit - 1)
        window = text[first:last]
        end = _last_start(tokens, [first + one for one in sentence_starts(window)], least, limit)
        if end is None:
            lines = [first + match.end() for match in re.finditer("\n", window)]
            end = _last_start(tokens, lines, least, limit)
    return end if end is not None else _fit(tokens, start, size)


def _last_between(boundaries: list[int], least: int, limit: int) -> int | None:
    index = bisect_right(boundaries, limit) - 1
    return boundaries[index] if index >= 0 and boundaries[index] >= least else None


def _last_start(tokens: TokenizedText, starts: list[int], least: int, limit: int) -> int | None:
    """The last of these characters at which a word starts, as a token from `least` to `limit`."""
    for start in reversed(starts):
        token = tokens.at_or_after(start)
        if token < least:
            return None
        if token <= limit and tokens.begins_word(token):
            return token
    return None


def _fit(tokens: TokenizedText, start: int, size: int) -> int:
    """The furthest cut with at most `size` tokens between. Only a word longer than that is cut in two."""
    end = min(start + size, len(tokens))
    cut = end
    while cut > start and not tokens.begins_word(cut):
        cut -= 1
    return cut if cut > start else end


def overlap_start(text: str, tokens: TokenizedText, start: int, earliest: int) -> int:
    """The first token of a chunk's overlap: the first line's in reach, else the first word's."""
    first = tokens.start(earliest)
    newline = text.find("\n", first, tokens.start(start))
    if newline >= 0:
        token = tokens.at_or_after(newline)
        if token < start and tokens.begins_word(token):
            return token
    while earliest < start and not tokens.begins_word(earliest):
        earliest += 1
    return earliest


def line_start(text: str, start: int) -> int:
    """The line's start, if only blanks stand before: code and tables keep their indentation."""
    first = text.rfind("\n", 0, start) + 1
    return first if text[first:start].isspace() else start


def by_meaning(
    text: str,
    tokens: TokenizedText,
    size: int,
    embedder: Callable[[Sequence[str]], Sequence[Sequence[float]]],
) -> list[int]:
    """Cut where a sentence is least like the one before it, and wherever the size demands it."""
    if not len(tokens):
        return []
    sentences = sorted({tokens.at_or_after(start) for start in sentence_starts(text)} - {len(tokens)} | {0})
    sentences = [token for token in sentences if tokens.begins_word(token)]
    bounds = [*sentences, len(tokens)]
    texts = [text[tokens.start(a) : tokens.end(b - 1)] for a, b in pairwise(bounds)]
    breaks = {sentences[index] for index in _changes(embedder(texts) if len(texts) > 1 else [])}
    return _packed(tokens, bounds[1:], breaks, size)


def _packed(tokens: TokenizedText, ends: list[int], breaks: set[int], size: int) -> list[int]:
    cuts: list[int] = []
    start = last = 0
    for end in ends:
        if last > start and (last in breaks or end - start > size):
            cuts.append(last)
            start = last
        while end - start > size:
            start = _fit(tokens, start, size)
            cuts.append(start)
        last = end
    return cuts if cuts and cuts[-1] == len(tokens) else [*cuts, len(tokens)]


def _changes(vectors: Sequence[Sequence[float]]) -> list[int]:
    """The sentences that are less like their neighbour before than usual by more than the usual spread."""
    alike = [_cosine(one, other) for one, other in pairwise(vectors)]
    if not alike:
        return []
    mean = sum(alike) / len(alike)
    spread = math.sqrt(sum((one - mean) ** 2 for one in alike) / len(alike))
    return [index + 1 for index, one in enumerate(alike) if one < mean - spread]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    norms = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return dot / norms if norms else 0.0


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
        return by_tokens(tokens, size)
    if settings.strategy is Strategy.SEMANTIC:
        if embedder is None:
            raise ValueError("the semantic strategy needs an embedder")
        return by_meaning(text, tokens, size, embedder)
    return recursively(text, tokens, size, settings.max_tokens)


def _with_overlap(
    text: str, tokens: TokenizedText, ends: list[int], settings: ChunkSettings
) -> Iterator[tuple[int, int, bool]]:
    """Each chunk's first token, the one after its last, and whether it repeats the end of the one before."""
    previous = start = 0
    for end in ends:
        first = start
        if start and settings.overlap_tokens:
            first = overlap_start(text, tokens, start, max(previous + 1, start - settings.overlap_tokens))
        yield first, end, first < start
        previous, start = start, end


def _within_chars(
    text: str, tokens: TokenizedText, start: int, end: int, tokenizer: ModelTokenizer, max_chars: int
) -> Iterator[tuple[int, int, int]]:
    """The chunk's characters and tokens, in pieces if the characters are too many for one."""
    first, last = line_start(text, tokens.start(start)), tokens.end(end - 1)
    if last - first <= max_chars:
        yield first, last, end - start
        return
    for position in range(first, last, max_chars):
        piece_end = min(position + max_chars, last)
        piece = text[position:piece_end]
        yield position, piece_end, tokenizer.count(piece)
