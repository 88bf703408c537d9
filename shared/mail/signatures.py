"""Which lines of a body sign it."""

import re

from shared.mail.lines import BLANK, NEW, SIGNATURE, MarkedLines

__all__ = ["mark"]

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
_MOBILE_HINTS = ("ent from ", "Get Outlook", "nvoyé de", "on meinem", "nviado desde")


def mark(body: MarkedLines) -> None:
    """Mark signatures: after `-- `, after a bare `--` near the end, PGP's, and a mobile mailer's."""
    position = 0 if body.text.startswith("--") else body.text.find("\n--") + 1
    while position > 0 or (position == 0 and body.text.startswith("--")):
        number = body.line_at(position)
        line = body.lines[number]
        if body.marks[number] == NEW:
            if line.startswith("-----BEGIN PGP"):
                _mark_pgp(body, number)
            elif line.rstrip() == "--":
                _mark_after_dashes(body, number)
        position = body.text.find("\n--", position) + 1
        if position == 0:
            break
    if any(hint in body.text for hint in _MOBILE_HINTS):
        _mark_mobile(body)


def _mark_after_dashes(body: MarkedLines, start: int) -> None:
    end = start + 1
    while end < len(body) and body.marks[end] in {NEW, BLANK} and not body.lines[end].startswith("-- "):
        end += 1
    signature = [line for line in body.lines[start + 1 : end] if line.strip()]
    # In a patch, `-- ` may be a removed list item: a diff that goes on after it shows that.
    if any(_IN_A_DIFF.match(line) for line in signature):
        return
    exact = body.lines[start] == "-- "
    if len(signature) > (_MAX_MARKED_LINES if exact else _MAX_DASHED_LINES):
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
    for number in range(len(body) - 1, -1, -1):
        if body.marks[number] == NEW and not body.is_blank(number):
            if _MOBILE.match(body.lines[number]):
                body.marks[number] = SIGNATURE
            return
