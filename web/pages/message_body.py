"""A message's body as a page shows it: paragraphs, collapsed quotes, and cited sentences marked.

Marks are offsets into `body_raw`: those of a citation come from its chunk's spans, those of a stance from the
normalised text. This module handles plain text only; the template escapes it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.domain.mail.models import Segment, SegmentKind
from shared.domain.mail.normalize import NormalizedBody
from shared.domain.summaries.models import Citation

MOST_CHARS = 60_000  # of one message on a page; the rest is in the raw message
WRAPPED = 45  # longer lines were wrapped by a mail client, so they flow as prose
_LAID_OUT = re.compile(r"^(?: {2,}|\t)|\S {3,}\S|^[|+]|[-=_*~]{6,}", re.MULTILINE)
_ITEM = re.compile(r" {0,2}(?:[-*o+•]|\(?\d{1,2}[.)]|\([a-z]\))\s")


@dataclass(frozen=True)
class TextMark:
    """A stretch of `body_raw` that is cited (or shows a stance), and the anchors that lead to it."""

    start: int
    end: int
    anchors: tuple[str, ...]
    cited: bool = True


@dataclass(frozen=True)
class TextRun:
    text: str
    mark: TextMark | None = None
    anchors: tuple[str, ...] = ()  # on the first run of a mark


@dataclass(frozen=True)
class Block:
    """`prose` flows, `lines` keeps its line ends, `code` its spaces; `quote` has who is quoted before it."""

    kind: str
    runs: tuple[TextRun, ...]
    attribution: str = ""

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def line_count(self) -> int:
        return self.text.count("\n") + 1


def body_blocks(message: Message, marks: Iterable[TextMark] = (), *, most: int = MOST_CHARS) -> list[Block]:
    """The blocks of a body, in order. A body that is too long is cut, though never before its last mark."""
    placed = _apart(marks)
    limit = max(most, placed[-1].end if placed else 0)
    blocks: list[Block] = []
    attribution = ""
    for kind, start, end in _segments(message):
        text = message.body_raw[start : min(end, limit)]
        if not text.strip():
            continue
        if kind is SegmentKind.ATTRIBUTION:
            attribution = text
        elif kind is SegmentKind.NEW:
            blocks += _paragraphs(message.body_raw, start, min(end, limit), placed)
        else:
            blocks.append(Block(kind.value, (TextRun(text.strip("\n")),), attribution))
            attribution = ""
    return blocks


def is_cut(message: Message, blocks: Sequence[Block]) -> bool:
    return len(message.body_raw) > MOST_CHARS and sum(len(block.text) for block in blocks) < len(
        message.body_raw.strip()
    )


def _segments(message: Message) -> list[Segment]:
    found = [
        Segment(SegmentKind(segment["kind"]), segment["start"], segment["end"])
        for segment in message.segments
    ]
    return found or [Segment(SegmentKind.NEW, 0, len(message.body_raw))]


def _paragraphs(body: str, start: int, end: int, marks: Sequence[TextMark]) -> Iterator[Block]:
    for first, last in _stretches(body, start, end):
        yield Block(_kind(body[first:last]), tuple(_runs(body, first, last, marks)))


def _stretches(body: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of lines without a blank line. Not by a regular expression: crafted mail could make it hang."""
    first, at = None, start
    for line in body[start:end].splitlines(keepends=True):
        if line.strip():
            first = at if first is None else first
        elif first is not None:
            yield first, first + len(body[first:at].rstrip("\n"))
            first = None
        at += len(line)
    if first is not None:
        yield first, first + len(body[first:end].rstrip("\n"))


def _kind(text: str) -> str:
    lines = text.split("\n")
    if _ITEM.match(text):
        return "lines"
    if _LAID_OUT.search(text):
        return "code"
    return "prose" if all(len(line) >= WRAPPED for line in lines[:-1]) else "lines"


def _runs(body: str, start: int, end: int, marks: Sequence[TextMark]) -> Iterator[TextRun]:
    at = start
    for mark in marks:
        first, last = max(mark.start, start), min(mark.end, end)
        if first >= last:
            continue
        if at < first:
            yield TextRun(body[at:first])
        # Only where the mark begins: a sentence that runs over several blocks has its anchors once.
        yield TextRun(body[first:last], mark, mark.anchors if first == mark.start else ())
        at = last
    if at < end:
        yield TextRun(body[at:end])


def _apart(marks: Iterable[TextMark]) -> list[TextMark]:
    """Marks that overlap become one, with the anchors of all."""
    apart: list[TextMark] = []
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.end)):
        if apart and mark.start < apart[-1].end:
            last = apart.pop()
            anchors = tuple(dict.fromkeys((*last.anchors, *mark.anchors)))
            mark = TextMark(last.start, max(last.end, mark.end), anchors, last.cited or mark.cited)  # noqa: PLW2901
        apart.append(mark)
    return apart


def marks_of_citation(citation: Citation, chunk: Chunk, message: Message, anchor: str) -> list[TextMark]:
    """The quote's offsets in the raw body; none if the chunk does not contain it verbatim."""
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


def marks_of_stance(message: Message, start: int, end: int, anchor: str) -> list[TextMark]:
    """The sentence that shows a stance, from its offsets in the normalised text."""
    body = NormalizedBody(message.body_raw, _segments(message))
    spans = body.raw_spans(start, end)
    return [
        TextMark(first, last, (anchor,) if number == 0 else (), cited=False)
        for number, (first, last) in enumerate(spans)
    ]
