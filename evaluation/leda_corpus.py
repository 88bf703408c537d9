"""LEDA: segments of IETF mail with dialogue-act labels."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_MARKS = re.compile(r"^(?:[ \t]*>)+ ?")


@dataclass(frozen=True)
class LedaSegment:
    sid: int
    text: str
    labels: frozenset[str]
    """The labels of all annotators together."""
    context: tuple[int, ...]


def read_leda(paths: Iterable[Path]) -> list[LedaSegment]:
    return [_segment(entry) for path in paths for entry in json.loads(path.read_text("utf-8"))]


def _segment(entry: dict[str, object]) -> LedaSegment:
    current, context = entry["current_segment"], entry["context_segments"]
    if not isinstance(current, dict) or not isinstance(context, list):
        raise TypeError("not a LEDA entry: current_segment has to be an object, context_segments a list")
    labels = frozenset(label.strip() for label in current["labels"].split(","))
    return LedaSegment(current["sid"], _newest(current["content"]), labels, tuple(s["sid"] for s in context))


def _newest(content: str) -> str:
    """Return the segment's least quoted lines, without marks. Some labeled segments are quoted as a whole."""
    lines = [line for line in content.splitlines() if line.strip()]
    depth = min((_depth(line) for line in lines), default=0)
    return "\n".join(_MARKS.sub("", line) for line in lines if _depth(line) == depth)


def _depth(line: str) -> int:
    marks = _MARKS.match(line)
    return marks[0].count(">") if marks else 0
