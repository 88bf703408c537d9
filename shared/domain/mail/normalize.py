"""The author's own text of a body, and where each part of it stands in the body."""

import re
from bisect import bisect_right
from typing import NamedTuple

from shared.domain.mail.models import Segment, SegmentKind

JOINER = "\n\n"
_BLANK_EDGE = re.compile(r"(?:[ \t\xa0]*\n)+")


class Piece(NamedTuple):
    """A stretch of the normalised text, and where it stands in `body_raw`."""

    start: int
    raw_start: int
    raw_end: int


class NormalizedBody:
    """The author's own text: the new stretches of the raw body, joined by blank lines."""

    def __init__(self, body_raw: str, segments: list[Segment]) -> None:
        self.pieces: list[Piece] = []
        texts: list[str] = []
        position = 0
        for kind, start, end in segments:
            shown = body_raw[start:end].rstrip() if kind is SegmentKind.NEW else ""
            if not shown:
                continue
            blank = _BLANK_EDGE.match(shown)
            skipped = blank.end() if blank else 0
            shown = shown[skipped:]
            self.pieces.append(Piece(position, start + skipped, start + skipped + len(shown)))
            texts.append(shown)
            position += len(shown) + len(JOINER)
        self.text = JOINER.join(texts)

    def raw_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """Where the normalised text from `start` to `end` stands in the raw body, stretch by stretch."""
        spans = []
        first = max(0, bisect_right(self.pieces, start, key=_start_of) - 1)
        for piece in self.pieces[first:]:
            if piece.start >= end:
                break
            shift = piece.raw_start - piece.start
            span = (max(start + shift, piece.raw_start), min(end + shift, piece.raw_end))
            if span[0] < span[1]:
                spans.append(span)
        return spans


def _start_of(piece: Piece) -> int:
    return piece.start


def normalize(body_raw: str, segments: list[Segment]) -> NormalizedBody:
    return NormalizedBody(body_raw, segments)
