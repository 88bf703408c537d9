"""Where words of a mail stand in it: what an address with `?quote=` marks."""

import re

from shared.documents.threads import Message
from shared.domain.mail.models import SegmentKind

LONGEST_QUOTE = 2000


def place_of(message: Message, quoted: str) -> tuple[int, int] | None:
    """The first place in what its writer wrote, however the lines are wrapped; None where it is not there."""
    words = quoted.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
    for start, end in _own_text(message):
        found = pattern.search(message.body_raw, start, end)
        if found:
            return found.span()
    return None


def _own_text(message: Message) -> list[tuple[int, int]]:
    """Not what it quotes: these are another's words."""
    segments = message.segments or [{"kind": SegmentKind.NEW, "start": 0, "end": len(message.body_raw)}]
    return [(segment["start"], segment["end"]) for segment in segments if segment["kind"] == SegmentKind.NEW]
