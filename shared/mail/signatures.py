"""Which lines of a body sign it."""

import re

from shared.mail.models import Kind

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


def mark(lines: list[str], kinds: list[Kind]) -> None:
    """Mark signatures: after `-- `, after a bare `--` near the end, PGP's, and a mobile mailer's."""
    for number, line in enumerate(lines):
        if line[:2] != "--" or kinds[number] is not Kind.NEW:
            continue
        if line.startswith("-----BEGIN PGP"):
            _mark_pgp(lines, kinds, number)
        elif line.rstrip() == "--" or line == "-- ":
            _mark_after_dashes(lines, kinds, number)
    _mark_mobile(lines, kinds)


def _mark_after_dashes(lines: list[str], kinds: list[Kind], start: int) -> None:
    end = start + 1
    while end < len(lines) and kinds[end] is Kind.NEW and not lines[end].startswith("-- "):
        end += 1
    signature = [line for line in lines[start + 1 : end] if line.strip()]
    # In a patch, `-- ` may be a removed list item: a diff that goes on after it shows that.
    if any(_IN_A_DIFF.match(line) for line in signature):
        return
    exact = lines[start] == "-- "
    if len(signature) > (_MAX_MARKED_LINES if exact else _MAX_DASHED_LINES):
        return
    if not exact and any(len(line) > _MAX_SIGNATURE_CHARS for line in signature):
        return
    kinds[start:end] = [Kind.SIGNATURE] * (end - start)


def _mark_pgp(lines: list[str], kinds: list[Kind], start: int) -> None:
    """The armour around a signed text: its first lines, and the whole signature block."""
    is_text = lines[start].startswith("-----BEGIN PGP SIGNED")
    number = start
    while number < len(lines):
        kinds[number] = Kind.SIGNATURE
        number += 1
        line = lines[number] if number < len(lines) else ""
        if (is_text and not line.strip()) or lines[number - 1].startswith("-----END PGP"):
            return


def _mark_mobile(lines: list[str], kinds: list[Kind]) -> None:
    """The last own line, if a mailer wrote it."""
    for number in range(len(lines) - 1, -1, -1):
        if kinds[number] is Kind.NEW and lines[number].strip():
            if _MOBILE.match(lines[number]):
                kinds[number] = Kind.SIGNATURE
            return
