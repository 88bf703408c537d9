"""The sentences of a message that are its sender's own."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from shared.domain.chunking.sentences import sentence_starts
from shared.domain.consensus.text_folding import hide_quotes

_EDGES = " \t\r\n"
_LONGEST = 1000
"""What runs on for longer is read in pieces: every pattern over a sentence may take its square."""
# A list item, or a mark of approval that stands alone on its line, is a sentence though no full stop ends it.
_LINE_SENTENCE = re.compile(
    r"\n[ \t]*(?=(?:[-*•o]|\d{1,2}[.)])[ \t]+\S|[+-]\s?[01]\b|(?:acked|nacked|reviewed|tested)-by:"
    r"|(?:hi|hello|dear|thanks|regards|cheers)\b[^\n]{0,40}\n)",
    re.IGNORECASE,
)
_GREETING_END = re.compile(
    r"(?:\A|\n)[ \t]*(?:hi|hello|dear|hey)\b[^\n.!?]{0,40}[,!:-]?[ \t]*\n", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and where it stands in the message's normalised text."""

    start: int
    end: int
    text: str


@lru_cache(maxsize=16)  # a message is read several times in a row
def own_sentences(text: str) -> tuple[Sentence, ...]:
    """The sender's own sentences, in order: quoted lines are passed over."""
    shown = hide_quotes(text)
    starts = {0, *sentence_starts(shown)}
    starts.update(match.end() for match in _LINE_SENTENCE.finditer(shown))
    starts.update(match.end() for match in _GREETING_END.finditer(shown))
    ordered = _cut([*sorted(starts), len(shown)], shown)
    found = (_trimmed(text, shown, start, end) for start, end in pairwise(ordered))
    return tuple(sentence for sentence in found if sentence is not None)


def _cut(bounds: list[int], shown: str) -> list[int]:
    """With bounds more where two are too far apart: at a space, where there is one."""
    found = bounds[:1]
    for end in bounds[1:]:
        while end - found[-1] > _LONGEST:
            limit = found[-1] + _LONGEST
            space = max(shown.rfind(" ", found[-1] + 1, limit), shown.rfind("\n", found[-1] + 1, limit))
            found.append(limit if space < 0 else space)
        found.append(end)
    return found


def _trimmed(text: str, shown: str, start: int, end: int) -> Sentence | None:
    while start < end and shown[start] in _EDGES:
        start += 1
    while end > start and shown[end - 1] in _EDGES:
        end -= 1
    return Sentence(start, end, text[start:end]) if end > start else None
