"""How the messages of an archive are told apart: one dialect for each kind of archive."""

import re
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.mail.errors import EmptyArchiveError, NotAMailboxError

LOOKAHEAD = 2048
"""Bytes that a dialect may look at from a separator on."""

_HEADER_LINE = rb"(?:[!-9;-~]+[ \t]*:|>From )"
_TIME = re.compile(rb"\b\d{1,2}:\d\d\b")
_YEAR = re.compile(rb"(?<!\d)(?:19|20)\d\d(?!\d)")
_GIT_PATCH = re.compile(rb"From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001")
_STARTS_WITH_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:[^\n]*\n", re.ASCII)
_MAIL_HEADER = re.compile(
    rb"^(?:from|to|date|subject|message-id|received|return-path|mime-version|content-type|"
    rb"delivered-to)[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_BLANK_START = b"\xef\xbb\xbf \t\r\n"


class Dialect(Protocol):
    """Where one message ends and the next begins. Every pattern starts with a line's end."""

    name: str
    pattern: "re.Pattern[bytes]"

    def accepts(self, match: "re.Match[bytes]") -> bool:
        """Whether a match of the pattern really separates two messages."""


@dataclass
class MboxDialect:
    """From lines that carry a date and are followed by a header.

    Where the archive's first From line has no date, none is asked for; then a blank line has to stand before.
    """

    dated: bool = True
    patches: bool = False
    name: str = field(default="mbox", init=False)
    pattern: "re.Pattern[bytes]" = field(
        default=re.compile(rb"\nFrom ([^\n]{0,1000})\n(?=" + _HEADER_LINE + rb")"), init=False
    )

    def accepts(self, match: "re.Match[bytes]") -> bool:
        line = match[1]
        if self.dated and not (_TIME.search(line) and _YEAR.search(line)):
            return False
        if not self.patches and _GIT_PATCH.match(match[0], 1):
            return False
        return self.dated or _follows_blank_line(match)


def _follows_blank_line(match: "re.Match[bytes]") -> bool:
    before = match.string[max(0, match.start() - 2) : match.start()]
    return before in {b"", b"\r"} or before.endswith((b"\n", b"\n\r"))


@dataclass
class MmdfDialect:
    """Four control-A on a line of their own, before and after each message."""

    name: str = field(default="mmdf", init=False)
    pattern: "re.Pattern[bytes]" = field(default=re.compile(rb"\n\x01\x01\x01\x01\r?(?:\n|\Z)"), init=False)

    def accepts(self, match: "re.Match[bytes]") -> bool:  # noqa: ARG002 -- the dialects' common call
        return True


@dataclass
class YearDialect:
    """A bare year on a line of its own, as some LISTSERV exports have it."""

    name: str = field(default="year", init=False)
    pattern: "re.Pattern[bytes]" = field(
        default=re.compile(rb"\n(?:19|20)\d\d\r?\n(?=" + _HEADER_LINE + rb")"), init=False
    )

    def accepts(self, match: "re.Match[bytes]") -> bool:
        return _follows_blank_line(match)


@dataclass
class NotebookDialect:
    """A long rule of equals signs, as in LISTSERV's notebooks."""

    name: str = field(default="notebook", init=False)
    pattern: "re.Pattern[bytes]" = field(
        default=re.compile(rb"\n={60,80}\r?\n(?=" + _HEADER_LINE + rb")"), init=False
    )

    def accepts(self, match: "re.Match[bytes]") -> bool:  # noqa: ARG002 -- the dialects' common call
        return True


@dataclass
class EmlDialect:
    """One message and nothing else."""

    name: str = field(default="eml", init=False)
    pattern: "re.Pattern[bytes]" = field(default=re.compile(rb"(?!)"), init=False)

    def accepts(self, match: "re.Match[bytes]") -> bool:  # noqa: ARG002 -- the dialects' common call
        return False


def detect(beginning: bytes) -> Dialect:
    """The dialect of an archive that begins like this."""
    text = beginning.lstrip(_BLANK_START)
    if not text:
        raise EmptyArchiveError
    if text.startswith(b"\x01\x01\x01\x01"):
        return MmdfDialect()
    if text.startswith(b"From "):
        return _mbox_like(text)
    for dialect in (YearDialect(), NotebookDialect()):
        if dialect.pattern.match(b"\n" + text):
            return dialect
    if re.search(rb"\nFrom ", beginning) and not _looks_like_mail(text):
        return MboxDialect()
    if _looks_like_mail(text):
        return EmlDialect()
    raise NotAMailboxError


def _mbox_like(text: bytes) -> MboxDialect:
    line = text.split(b"\n", 1)[0]
    dated = bool(_TIME.search(line) and _YEAR.search(line))
    return MboxDialect(dated=dated, patches=bool(_GIT_PATCH.match(line)))


def _looks_like_mail(text: bytes) -> bool:
    headers = re.split(rb"\r?\n\r?\n", text, maxsplit=1)[0]
    return bool(_STARTS_WITH_HEADER.match(text)) and len(_MAIL_HEADER.findall(headers)) >= 2  # noqa: PLR2004 -- two known headers are no accident
