"""Split a message's own text into chunks that fit the embedding model's window.

A text is tokenized once and cut between words, so the tokens of the chunks are the tokens of the text.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from nupunkt import sent_spans

from shared.chunking.tokens import WINDOW, ModelTokenizer, TokenizedText
from shared.mail.models import Segment
from shared.mail.segments import NormalizedBody

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
_LEAST_SHARE = 4
"""A cut at a boundary must leave the chunk at least a quarter full."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")


def sentence_starts(text: str) -> list[int]:
    """Return the offsets where sentences start. A blank line also ends a sentence."""
    starts = {start for start, _ in sent_spans(text)}
    starts.update(match.end() for match in _BLANK_LINE.finditer(text))
    return sorted(start for start in starts if start < len(text))


def split_recursively(text: str, tokens: TokenizedText, size: int, whole: int) -> list[int]:
    """Cut at paragraphs, else sentences, lines and words. A text within `whole` tokens is not cut."""
    if not len(tokens):
        return []
    if len(tokens) <= whole:
        return [len(tokens)]
    paragraphs = [tokens.at_or_after(match.end()) for match in _BLANK_LINE.finditer(text)]
    return _ends(tokens, lambda start: _best_end(text, tokens, start, size, paragraphs))


def _ends(tokens: TokenizedText, end_after: Callable[[int], int]) -> list[int]:
    ends, start = [], 0
    while start < len(tokens):
        start = end_after(start)
        ends.append(start)
    return ends


def _best_end(text: str, tokens: TokenizedText, start: int, size: int, paragraphs: list[int]) -> int:
    limit = start + size
    if limit >= len(tokens):
        return len(tokens)
    least = start + max(1, size // _LEAST_SHARE)
    last = bisect_right(paragraphs, limit) - 1
    if last >= 0 and paragraphs[last] >= least:
        return paragraphs[last]
    first = tokens.start(start)
    window = text[first : tokens.end(limit - 1)]
    end = _last_start(tokens, [first + sentence for sentence in sentence_starts(window)], least, limit)
    if end is None:
        lines = [first + match.end() for match in re.finditer("\n", window)]
        end = _last_start(tokens, lines, least, limit)
    return end if end is not None else _fit(tokens, start, size)


def _last_start(tokens: TokenizedText, starts: list[int], least: int, limit: int) -> int | None:
    """Return the token of the last offset that starts a word, between `least` and `limit`."""
    for start in reversed(starts):
        token = tokens.at_or_after(start)
        if token < least:
            return None
        if token <= limit and tokens.begins_word(token):
            return token
    return None


def _fit(tokens: TokenizedText, start: int, size: int) -> int:
    """Return the last cut within `size` tokens. Only a longer word is split."""
    end = min(start + size, len(tokens))
    cut = end
    while cut > start and not tokens.begins_word(cut):
        cut -= 1
    return cut if cut > start else end


def overlap_start(text: str, tokens: TokenizedText, start: int, earliest: int) -> int:
    """Return the first token of the overlap: the start of a line in reach, else of a word."""
    newline = text.find("\n", tokens.start(earliest), tokens.start(start))
    token = tokens.at_or_after(newline) if newline >= 0 else start
    if token < start and tokens.begins_word(token):
        return token
    while earliest < start and not tokens.begins_word(earliest):
        earliest += 1
    return earliest


def split_by_meaning(text: str, tokens: TokenizedText, size: int, embedder: Embedder) -> list[int]:
    """Cut where a sentence is unusually different from the one before, and at the size limit."""
    if not len(tokens):
        return []
    sentences = sorted({tokens.at_or_after(start) for start in sentence_starts(text)} - {len(tokens)} | {0})
    sentences = [token for token in sentences if tokens.begins_word(token)]
    bounds = [*sentences, len(tokens)]
    texts = [text[tokens.start(a) : tokens.end(b - 1)] for a, b in pairwise(bounds)]
    similarities = [
        _cosine(left, right) for left, right in pairwise(embedder(texts) if len(texts) > 1 else [])
    ]
    mean = sum(similarities) / max(len(similarities), 1)
    spread = math.sqrt(
        sum((similarity - mean) ** 2 for similarity in similarities) / max(len(similarities), 1)
    )
    breaks = {
        sentences[index] for index, similarity in enumerate(similarities, 1) if similarity < mean - spread
    }
    return _packed(tokens, bounds[1:], breaks, size)


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    dot = sum(a * b for a, b in zip(left, right, strict=True))
    norms = math.sqrt(sum(a * a for a in left)) * math.sqrt(sum(b * b for b in right))
    return dot / norms if norms else 0.0


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
    """Also limits characters, because an unknown word of any length is one token."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_chars"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it has to be at least 1")
        if not 0 <= self.overlap_tokens <= self.max_tokens // 2:
            most = f"half of max_tokens ({self.max_tokens})"
            raise ValueError(f"overlap_tokens is {self.overlap_tokens}: it has to be from 0 to {most}")


@dataclass(frozen=True, slots=True)
class TextChunk:
    index: int
    text: str
    token_count: int
    spans: tuple[tuple[int, int], ...]
    """The spans in `body_raw`, one for each segment between quotes. The text joins them with blank lines."""
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
    """Return the chunks of a message's own text, or none if it has only quotes."""
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
    """Return the tokens where chunks end. The size leaves space for the overlap."""
    size = settings.max_tokens - settings.overlap_tokens
    if settings.strategy is Strategy.TOKEN_WINDOW:
        return _ends(tokens, lambda start: _fit(tokens, start, size))
    if settings.strategy is Strategy.SEMANTIC:
        if embedder is None:
            raise ValueError("the semantic strategy needs an embedder")
        return split_by_meaning(text, tokens, size, embedder)
    return split_recursively(text, tokens, size, settings.max_tokens)


def _with_overlap(
    text: str, tokens: TokenizedText, ends: list[int], settings: ChunkSettings
) -> Iterator[tuple[int, int, bool]]:
    """Yield each chunk's first token, its end, and whether it repeats the end of the chunk before."""
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
    """Yield the characters and token count of the chunk, in pieces of at most `max_chars`."""
    first, last = tokens.start(start), tokens.end(end - 1)
    line = text.rfind("\n", 0, first) + 1
    if text[line:first].isspace():  # Code and tables keep their indentation.
        first = line
    if last - first <= max_chars:
        yield first, last, end - start
        return
    for position in range(first, last, max_chars):
        piece_end = min(position + max_chars, last)
        piece = text[position:piece_end]
        yield position, piece_end, tokenizer.count(piece)
