"""A body as lines, each with a mark. Marks are bytes, so that runs of them are found at C speed."""

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from shared.domain.mail.models import Segment, SegmentKind

NEW, QUOTE, ATTRIBUTION, SIGNATURE, FOOTER, BLANK = range(6)
_KINDS = (
    SegmentKind.NEW,
    SegmentKind.QUOTE,
    SegmentKind.ATTRIBUTION,
    SegmentKind.SIGNATURE,
    SegmentKind.FOOTER,
)
CODES = {kind: code for code, kind in enumerate(_KINDS)}
# First characters to marks, for `bytes.translate`.
_FIRST_MARKS = bytes(
    QUOTE if char == ord(">") else BLANK if char == ord("\n") else NEW for char in range(256)
)
# Blank lines go with the lines before them, so that they never cut a stretch in two.
_STRETCH = re.compile(
    rb"\x05*(?:(\x00)[\x00\x05]*|(\x01)[\x01\x05]*|(\x02)[\x02\x05]*|(\x03)[\x03\x05]*|(\x04)[\x04\x05]*)"
)
_RUNS = {mark: re.compile(re.escape(bytes([mark])) + b"+") for mark in range(6)}


class MarkedLines:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.firsts = "".join([line[:1] or "\n" for line in self.lines])
        """The first character of each line, a line end for an empty one: rules lines out quickly."""
        self.marks = bytearray(self.firsts.encode("latin-1", "replace").translate(_FIRST_MARKS))

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(map(len, self.lines)))

    def end_of(self, number: int) -> int:
        """Where a line ends, its line end included."""
        return min(self._ends[number] + number + 1, len(self.text))

    def line_at(self, offset: int) -> int:
        """The number of the line that holds this character."""
        return bisect_right(range(len(self.lines)), offset, key=self.end_of)

    def mark(self, start: int, end: int, mark: int) -> None:
        self.marks[start:end] = bytes([mark]) * (end - start)

    def runs(self, mark: int) -> list[tuple[int, int]]:
        return [match.span() for match in _RUNS[mark].finditer(self.marks)]

    def is_blank(self, number: int) -> bool:
        return not self.lines[number].strip()

    def segments(self) -> list[Segment]:
        """Stretches of one kind each, without gaps."""
        if not self.marks.strip(b"\x00\x05"):
            return [Segment(SegmentKind.NEW, 0, len(self.text))]
        segments, start = [], 0
        for match in _STRETCH.finditer(self.marks):
            end = self.end_of(match.end() - 1)
            if end > start:
                segments.append(Segment(_KINDS[(match.lastindex or 1) - 1], start, end))
                start = end
        if start < len(self.text):
            segments.append(Segment(SegmentKind.NEW, start, len(self.text)))
        return segments
