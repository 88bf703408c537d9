"""Verification of quotes: whether words are in a mail as its sender's own."""

from dataclasses import dataclass

from shared.mail.models import SegmentKind, read_segments
from shared.model_reading.evidence import find_words
from shared.models.threads import Message
from shared.views.ranking import sentences_of

OWN = "The mail contains these words as its sender's own."
QUOTED = "The mail only quotes these words from another mail."
ABSENT = "The mail does not contain these words."
TOO_SHORT = "Give at least three words, or a whole sentence."
LEAST_WORDS = 3
QUOTATIONS = frozenset({SegmentKind.QUOTE, SegmentKind.ATTRIBUTION})


@dataclass(frozen=True)
class Verdict:
    is_confirmed: bool
    reason: str


def verify_quote(message: Message, quote: str) -> Verdict:
    """Search whole words, verbatim except for white space, in the mail without its quotations."""
    own = own_text(message)
    if len(quote.split()) < LEAST_WORDS and quote.strip() not in _sentences(own):
        return Verdict(is_confirmed=False, reason=TOO_SHORT)
    if find_words(quote, own):
        return Verdict(is_confirmed=True, reason=OWN)
    text = " ".join(line.lstrip("> \t") for line in message.body_raw.splitlines())
    is_quoted = find_words(quote, text) is not None
    return Verdict(is_confirmed=False, reason=QUOTED if is_quoted else ABSENT)


def _sentences(own: str) -> set[str]:
    return {part[start:end] for part in own.split("\0") for start, end in sentences_of(part)}


def own_text(message: Message) -> str:
    """Return the body with each quotation replaced by a null character, which separates sentences."""
    text, parts, at = message.body_raw, list[str](), 0
    for segment in sorted(read_segments(message.segments), key=lambda segment: segment.start):
        if segment.kind in QUOTATIONS and segment.start >= at:
            parts += [text[at : segment.start], "\0"]
            at = segment.end
    return "".join([*parts, text[at:]])
