"""Where to cut a tokenised text: at paragraphs, sentences, lines, words, or where the meaning changes.

Cuts are token numbers; a cut lies before its token, and always between two words.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from shared.domain.chunking.sentences import sentence_starts
from shared.domain.chunking.tokens import TokenizedText

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
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
    paragraphs = [tokens.at_or_after(match.end()) for match in _PARAGRAPH.finditer(text)]
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
