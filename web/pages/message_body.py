"""The body of a message for pages: paragraphs, collapsed quotes and marked sentences.

Marks are offsets into `body_raw`, from the spans of a chunk or from the normalized text. The blocks are plain
text that the template escapes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shared.mail.models import Segment, SegmentKind, read_segments
from shared.mail.segments import NormalizedBody
from shared.models.threads import Chunk, Message
from shared.models.values import Citation, rejoined
from web.pages.patch_text import are_trailers, diffs_in, looks

MOST_CHARS = 20_000  # shown of one message on the page of a thread
WRAPPED = 45  # longer lines were wrapped by a mail client and are shown as prose
_LAID_OUT = re.compile(
    r"^(?: {2,}|\t)|\S {3,}\S|^(?:\||\+(?! ?\d))|[-=_*~]{6,}|^ \S[^|\n]{0,200} \| +\d", re.MULTILINE
)
_ROW_END = re.compile(r"\n(?![ \t])")
DIFF, FENCE, PATCH_NOTES = "diff", "```", "---"
_ITEM = re.compile(r" {0,2}(?:[-*o+•]|\(?\d{1,2}[.)]|\([a-z]\))\s")


@dataclass(frozen=True)
class TextMark:
    """A span of `body_raw` that is cited or shows a stance, and its anchors."""

    start: int
    end: int
    anchors: tuple[str, ...]
    cited: bool = True


@dataclass(frozen=True)
class TextRun:
    text: str
    mark: TextMark | None = None
    anchors: tuple[str, ...] = ()  # on the first run of a mark
    look: str = ""  # the CSS class of a line in a diff


@dataclass(frozen=True)
class Block:
    """`prose` flows, `lines` keeps line breaks, and `code` keeps spaces. `trailers` is a list.

    `quote` has its attribution, and `diff` has CSS classes for its lines.
    """

    kind: str
    runs: tuple[TextRun, ...]
    attribution: str = ""

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def line_count(self) -> int:
        return self.text.count("\n") + 1

    @property
    def rows(self) -> list[list[TextRun]]:
        """Return the lines as runs. An indented line continues the previous line."""
        rows: list[list[TextRun]] = [[]]
        for run in self.runs:
            for number, part in enumerate(_ROW_END.split(run.text)):
                if number:
                    rows.append([])
                if part:
                    rows[-1].append(replace(run, text=part, anchors=() if number else run.anchors))
        return [row for row in rows if row]


def body_blocks(message: Message, marks: Iterable[TextMark] = (), *, most: int = MOST_CHARS) -> list[Block]:
    """Return the blocks of a body in order. A long body is cut, but not before its last mark."""
    placed = _merge_overlapping(marks)
    limit = max(most, placed[-1].end if placed else 0)
    blocks: list[Block] = []
    attribution = ""
    for kind, start, end in _with_diffs(message):
        text = message.body_raw[start : min(end, limit)]
        if not text.strip():
            continue
        if kind == SegmentKind.ATTRIBUTION:
            attribution = text
        elif kind == SegmentKind.NEW:
            blocks += _paragraphs(message.body_raw, start, min(end, limit), placed)
        elif kind == DIFF:
            blocks.append(_diff(message.body_raw, start, min(end, limit), placed))
        else:
            blocks.append(Block(kind, (TextRun(text.strip("\n")),), attribution))
            attribution = ""
    return blocks


def _with_diffs(message: Message) -> Iterator[tuple[str, int, int]]:
    """Yield segments with complete diffs. A line of a hunk may look like a quote or a signature."""
    diffs, place, covered = diffs_in(message.body_raw), 0, 0
    for kind, start, end in _segments(message):
        at = max(start, covered)
        while place < len(diffs) and diffs[place][0] < end:
            first, last = diffs[place]
            place += 1
            if first < at or kind is not SegmentKind.NEW:
                continue  # a quoted diff
            if at < first:
                yield kind.value, at, first
            yield DIFF, first, last
            at = covered = last
        if at < end:
            yield kind.value, at, end


def is_cut(message: Message, blocks: Sequence[Block]) -> bool:
    return len(message.body_raw) > MOST_CHARS and sum(len(block.text) for block in blocks) < len(
        message.body_raw.strip()
    )


def _segments(message: Message) -> list[Segment]:
    return read_segments(message.segments) or [Segment(SegmentKind.NEW, 0, len(message.body_raw))]


def _paragraphs(body: str, start: int, end: int, marks: Sequence[TextMark]) -> Iterator[Block]:
    for kind, first, last in _joined(body, start, end):
        runs = _runs(body, first, last, marks)
        # Line breaks in prose become spaces, except within words.
        yield Block(
            kind, tuple(replace(run, text=rejoined(run.text)) if kind == "prose" else run for run in runs)
        )


def _joined(body: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the paragraphs with their kinds. Code and tables may contain blank lines."""
    pending: tuple[str, int, int] | None = None
    for first, last in _stretches(body, start, end):
        kind = _kind(body[first:last])
        if pending is not None and pending[0] == kind == "code":
            pending = (kind, pending[1], last)
            continue
        if pending is not None:
            yield pending
        pending = (kind, first, last)
    if pending is not None:
        yield pending


def _stretches(body: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield spans of lines without a blank line. Fenced text and notes after `---` are one span.

    This does not use a regular expression, because crafted mail could make it hang.
    """
    first, at, fenced = None, start, False
    for line in body[start:end].splitlines(keepends=True):
        fence = line.startswith(FENCE)
        ends = (fence and not fenced) or (line.rstrip() == PATCH_NOTES and not fenced)
        if first is not None and (ends or not (line.strip() or fenced)):
            yield first, first + len(body[first:at].rstrip("\n"))
            first = None
        if first is None and line.strip():
            first = at
        at += len(line)
        if fence:
            fenced = not fenced and body.find("\n" + FENCE, at - 1, end) >= 0
    if first is not None:
        yield first, first + len(body[first:end].rstrip("\n"))


def _kind(text: str) -> str:
    lines = text.split("\n")
    if are_trailers(lines):
        return "trailers"
    if text.startswith(FENCE) or lines[0].rstrip() == PATCH_NOTES:
        return "code"
    if _ITEM.match(text):
        return "lines"
    if _LAID_OUT.search(text):
        return "code"
    return "prose" if all(len(line) >= WRAPPED for line in lines[:-1]) else "lines"


def _diff(body: str, start: int, end: int, marks: Sequence[TextMark]) -> Block:
    text = body[start:end].rstrip("\n")
    runs = (
        replace(run, look=look)
        for first, last, look in looks(text)
        for run in _runs(body, start + first, start + last, marks)
    )
    return Block(DIFF, tuple(runs))


def _runs(body: str, start: int, end: int, marks: Sequence[TextMark]) -> Iterator[TextRun]:
    at = start
    for mark in marks:
        first, last = max(mark.start, start), min(mark.end, end)
        if first >= last:
            continue
        if at < first:
            yield TextRun(body[at:first])
        # Only at the beginning of the mark, so that a sentence in several blocks has its anchors once.
        yield TextRun(body[first:last], mark, mark.anchors if first == mark.start else ())
        at = last
    if at < end:
        yield TextRun(body[at:end])


def _merge_overlapping(marks: Iterable[TextMark]) -> list[TextMark]:
    merged: list[TextMark] = []
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.end)):
        if merged and mark.start < merged[-1].end:
            last = merged.pop()
            anchors = tuple(dict.fromkeys((*last.anchors, *mark.anchors)))
            mark = TextMark(last.start, max(last.end, mark.end), anchors, last.cited or mark.cited)  # noqa: PLW2901
        merged.append(mark)
    return merged


def marks_of_citation(citation: Citation, chunk: Chunk, message: Message, anchor: str) -> list[TextMark]:
    """Return the marks of the quote in the raw body, or none if the chunk does not contain it verbatim."""
    start = chunk.text.find(citation.quote) if citation.offset is None else citation.offset
    end = start + len(citation.quote)
    if start < 0 or chunk.text[start:end] != citation.quote:
        return []
    marks: list[TextMark] = []
    at = 0
    for first, last in chunk.metadata.get("spans", []):
        text = message.body_raw[first:last]
        at = chunk.text.find(text, at)
        if at < 0:
            return []
        shift = first - at
        cut = (max(start, at) + shift, min(end, at + len(text)) + shift)
        if cut[0] < cut[1]:
            marks.append(TextMark(*cut, anchors=(anchor,) if not marks else ()))
        at += len(text)
    return marks


def marks_of_span(
    message: Message, start: int, end: int, anchor: str, *, cited: bool = True
) -> list[TextMark]:
    body = NormalizedBody(message.body_raw, _segments(message))
    spans = body.raw_spans(start, end)
    return [
        TextMark(first, last, (anchor,) if number == 0 else (), cited=cited)
        for number, (first, last) in enumerate(spans)
    ]
