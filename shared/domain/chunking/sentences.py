"""Where sentences start."""

import re

from nupunkt import sent_spans

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")


def sentence_starts(text: str) -> list[int]:
    """Offsets at which a sentence starts; a blank line ends one, too."""
    starts = {start for start, _ in sent_spans(text)}
    starts.update(match.end() for match in _PARAGRAPH.finditer(text))
    return sorted(start for start in starts if start < len(text))
