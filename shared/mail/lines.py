"""A body as lines, each with a mark. Marks are bytes, so that runs of them are found at C speed."""

import re
from bisect import bisect_right
from itertools import accumulate

from shared.mail.models import Kind, Segment

__all__ = ["ATTRIBUTION", "BLANK", "FOOTER", "NEW", "QUOTE", "SIGNATURE", "MarkedLines"]

NEW, QUOTE, ATTRIBUTION, SIGNATURE, FOOTER, BLANK = range(6)
_KINDS = (Kind.NEW, Kind.QUOTE, Kind.ATTRIBUTION, Kind.SIGNATURE, Kind.FOOTER)
CODES = {kind: code for code, kind in enumerate(_KINDS)}
_FIRST_MARK = {"": BLANK, ">": QUOTE}
# Blank lines go with the lines before them, so that they never cut a stretch in two.
_STRETCH = re.compile(rb"\x05*([^\x05])(?:\1|\x05)*")
_RUNS = {mark: re.compile(re.escape(bytes([mark])) + b"+") for mark in range(6)}


class MarkedLines:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.marks = bytearray([_FIRST_MARK.get(line[:1], NEW) for line in self.lines])
        self._ends: list[int] = []

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def ends(self) -> list[int]:
        """Where each line ends, its line end included."""
        if not self._ends:
            self._ends = list(accumulate([len(line) + 1 for line in self.lines]))
        return self._ends

    def line_at(self, offset: int) -> int:
        """The number of the line that holds this character."""
        return bisect_right(self.ends, offset)

    def mark(self, start: int, end: int, mark: int) -> None:
        self.marks[start:end] = bytes([mark]) * (end - start)

    def runs(self, mark: int) -> list[tuple[int, int]]:
        return [match.span() for match in _RUNS[mark].finditer(self.marks)]

    def is_blank(self, number: int) -> bool:
        return not self.lines[number].strip()

    def segments(self) -> list[Segment]:
        """Stretches of one kind each, without gaps."""
        size, last = len(self.text), len(self.lines) - 1
        segments, start = [], 0
        for match in _STRETCH.finditer(self.marks):
            end_line = match.end() - 1
            end = size if end_line == last else self.ends[end_line]
            if end > start:
                segments.append(Segment(_KINDS[match[1][0]], start, end))
                start = end
        if start < size:
            segments.append(Segment(Kind.NEW, start, size))
        return segments
