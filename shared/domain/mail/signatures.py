"""Which lines of a body sign it."""

import re

from shared.domain.mail.lines import BLANK, NEW, SIGNATURE, MarkedLines

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


def mark(body: MarkedLines) -> None:
    """Mark signatures: after `-- `, after a bare `--` near the end, PGP's, and a mobile mailer's."""
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
        if len(signature) > most:  # not looked at further: a text may be made of such lines
            return
        end += 1
    # In a patch, `-- ` may be a removed list item: a diff that goes on after it shows that.
    if any(_IN_A_DIFF.match(line) for line in signature):
        return
    if not exact and any(len(line) > _MAX_SIGNATURE_CHARS for line in signature):
        return
    body.mark(start, end, SIGNATURE)


def _mark_pgp(body: MarkedLines, start: int) -> None:
    """The armour around a signed text: its first lines, and the whole signature block."""
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
    """The last own line, if a mailer wrote it."""
    last = body.marks.rfind(NEW)
    while last >= 0 and body.is_blank(last):
        last = body.marks.rfind(NEW, 0, last)
    if last >= 0 and _MOBILE.match(body.lines[last]):
        body.marks[last] = SIGNATURE
