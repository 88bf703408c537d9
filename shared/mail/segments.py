"""Split a body into the author's own text, quotes, signatures and footers, without losing any text."""

import re
from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

from shared.mail.models import Segment, SegmentKind
from shared.mail.quotes import (
    ATTRIBUTION,
    BLANK,
    CODES,
    FOOTER,
    NEW,
    SIGNATURE,
    MarkedLines,
    mark_quotes,
)


def segment(body_raw: str, known: list[Segment] | None = None) -> list[Segment]:
    """Split the body into segments without gaps. MIME has already set the `known` segments."""
    if not body_raw:
        return []
    body = MarkedLines(body_raw)
    mark_quotes(body)
    mark_signatures(body)
    mark_footers(body)
    for kind, start, end in known or ():
        body.mark(body.line_at(start), body.line_at(end - 1) + 1, CODES[kind])
    return body.segments()


_RULE = re.compile(r"\s{0,3}(?:[_=*#~-]{10,}|(?:-=)+-?|\*{3,})\s*$")
# Also the signature separator. It starts a footer only if list text follows.
_DASHES = re.compile(r"--?\s*$")
_SAYS = re.compile(
    r"mailing[- ]list\b(?!s? (?:is|was|has))|listinfo/|to unsubscribe|unsubscribe (?:from|at|here|link)|"
    r"unsubscribe[:,]|"
    r"subscribed to the|majordomo|google groups|groups\.io|lists?manager|manage your subscription|"
    r"mailman/|mailman3/|-unsubscribe@|-leave@|list archives?:|subscription (?:options|settings)|"
    r"send an email to .{1,80}-leave|kill the .{1,40} list|faq is at|more majordomo info",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\s{0,3}(?:To unsubscribe\b|Unsubscribe:|You received this message because you are subscribed|"
    r"To (?:post|subscribe) to this (?:list|group)|More majordomo info at|Please read the FAQ at|"
    r"Kernelnewbies mailing list|List (?:info|archives?):)",
    re.IGNORECASE,
)
_LOCATION = re.compile(r"\s*(?:\S+:\s*)?<?(?:https?://\S+|mailto:\S+|[\w.+-]+(?:@| at )[\w.-]+)>?\s*$")
_CANDIDATES = re.compile(r"[_=*#~\-TUYMPKL ]")
_MAX_RULE_DISTANCE = 6
_MAX_FOOTER_LINES = 25
_MAX_OWN_LINES_AFTER = 40
_MAX_LOCATION = 500


def mark_footers(body: MarkedLines) -> None:
    """Mark footers: a rule with list text below it, or lines that only list software writes."""
    text = body.text
    if not ("nsubscribe" in text or "ailing" in text or "istinfo" in text or "ajordomo" in text):
        return
    done = 0
    for candidate in _CANDIDATES.finditer(body.firsts):
        number = candidate.start()
        if number >= done and (end := _footer_end(body, number)) > number:
            body.mark(number, end, FOOTER)
            done = end


def _footer_end(body: MarkedLines, number: int) -> int:
    """Return the line after the footer that starts here, or this line if none starts."""
    line = body.lines[number]
    if body.marks[number] in {ATTRIBUTION, BLANK} or line[:1] == ">":
        return number
    if _DASHES.match(line):
        talk = number + 1 < len(body) and _SAYS.search(body.lines[number + 1])
        end = _end_of_talk(body.lines, number + 1, talk_needed=True) if talk else number
    elif _RULE.match(line):
        end = _end_of_talk(body.lines, number + 1, talk_needed=True)
    elif _STRONG.match(line):
        end = _end_of_talk(body.lines, number, talk_needed=False)
    else:
        return number
    # If longer own text follows, the author discusses the lines, and they are not a footer.
    is_last = body.marks.count(NEW, end) <= _MAX_OWN_LINES_AFTER
    return end if end > number and is_last else number


def _is_footer_like(line: str, above: str) -> bool:
    # A long line of addresses could take quadratic time.
    is_location = len(line) <= _MAX_LOCATION and bool(_LOCATION.match(line))
    return is_location or bool(above.strip() and not above[:1].isspace() and _SAYS.search(above))


def _end_of_talk(lines: list[str], start: int, *, talk_needed: bool) -> int:
    """Return the line after the footer, or at most `start` if there is no footer."""
    end, talked = start if not talk_needed else start - 1, not talk_needed
    for number in range(start, min(len(lines), start + _MAX_FOOTER_LINES)):
        line = lines[number]
        if line.startswith(">"):
            break
        if _SAYS.search(line) or _STRONG.match(line):
            talked, end = True, number + 1
        elif not line.strip() or _RULE.match(line):
            continue
        elif talked and _is_footer_like(line, lines[number - 1]):
            end = number + 1
        elif number - start >= _MAX_RULE_DISTANCE or talked:
            break
    if not talked:
        return start - 1
    number = end
    while number < len(lines) and (not lines[number].strip() or _RULE.match(lines[number])):
        number += 1
        if lines[number - 1].strip():
            end = number
    return end


_MOBILE = re.compile(
    r"\s*(?:Sent from my .{1,40}|Sent from (?:Yahoo|Outlook|Mail|AOL|Proton).{0,60}|Get Outlook for .{1,40}|"
    r"Envoyé de mon .{1,40}|Von meinem .{1,40} gesendet|Enviado desde mi .{1,40})\s*$",
    re.IGNORECASE,
)
_IN_A_DIFF = re.compile(r"@@ -|diff --git |\+\+\+ |--- [ab]/")
_MAX_DASHED_LINES = 8
_MAX_MARKED_LINES = 60
_MAX_SIGNATURE_CHARS = 100
_MAX_PGP_LINES = 200


def mark_signatures(body: MarkedLines) -> None:
    """Mark signatures: after `-- `, after `--` near the end, of PGP, and of mobile mailers."""
    number = body.firsts.find("-")
    while number >= 0:
        line = body.lines[number]
        if line[:2] == "--" and body.marks[number] == NEW:
            if line.startswith("-----BEGIN PGP"):
                _mark_pgp(body, number)
            elif line.rstrip() == "--":
                _mark_after_dashes(body, number)
        number = body.firsts.find("-", number + 1)
    _mark_mobile(body)


def _mark_after_dashes(body: MarkedLines, start: int) -> None:
    exact = body.lines[start] == "-- "
    most = _MAX_MARKED_LINES if exact else _MAX_DASHED_LINES
    signature: list[str] = []
    end = start + 1
    while end < len(body) and body.marks[end] in {NEW, BLANK} and not body.lines[end].startswith("-- "):
        if not body.is_blank(end):
            signature.append(body.lines[end])
        if len(signature) > most:  # Bounded, because a hostile text may consist of such lines.
            return
        end += 1
    # In a patch, `-- ` may be a removed list item. A diff that continues after it shows that.
    if any(_IN_A_DIFF.match(line) for line in signature):
        return
    if not exact and any(len(line) > _MAX_SIGNATURE_CHARS for line in signature):
        return
    body.mark(start, end, SIGNATURE)


def _mark_pgp(body: MarkedLines, start: int) -> None:
    """Mark the PGP armor: the first lines of a signed text, and the signature block."""
    is_text = body.lines[start].startswith("-----BEGIN PGP SIGNED")
    end = start + 1
    while end < len(body) and end < start + _MAX_PGP_LINES:
        if is_text and body.is_blank(end):
            break
        end += 1
        if body.lines[end - 1].startswith("-----END PGP"):
            break
    body.mark(start, end, SIGNATURE)


def _mark_mobile(body: MarkedLines) -> None:
    """Mark the last own line if a mobile mailer wrote it."""
    last = body.marks.rfind(NEW)
    while last >= 0 and body.is_blank(last):
        last = body.marks.rfind(NEW, 0, last)
    if last >= 0 and _MOBILE.match(body.lines[last]):
        body.marks[last] = SIGNATURE


JOINER = "\n\n"
_BLANK_EDGE = re.compile(r"(?:[ \t\xa0]*\n)+")


class Piece(NamedTuple):
    start: int
    raw_start: int
    raw_end: int


class NormalizedBody:
    """The author's own text: the new segments of the raw body, joined by blank lines."""

    def __init__(self, body_raw: str, segments: list[Segment]) -> None:
        self.pieces: list[Piece] = []
        texts: list[str] = []
        position = 0
        for kind, start, end in segments:
            new_text = body_raw[start:end].rstrip() if kind is SegmentKind.NEW else ""
            if not new_text:
                continue
            blank = _BLANK_EDGE.match(new_text)
            skipped = blank.end() if blank else 0
            new_text = new_text[skipped:]
            self.pieces.append(Piece(position, start + skipped, start + skipped + len(new_text)))
            texts.append(new_text)
            position += len(new_text) + len(JOINER)
        self.text = JOINER.join(texts)

    def raw_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the spans in the raw body of the normalized text from `start` to `end`, by segment."""
        spans = []
        first = max(0, bisect_right(self.pieces, start, key=attrgetter("start")) - 1)
        for piece in self.pieces[first:]:
            if piece.start >= end:
                break
            shift = piece.raw_start - piece.start
            span = (max(start + shift, piece.raw_start), min(end + shift, piece.raw_end))
            if span[0] < span[1]:
                spans.append(span)
        return spans
