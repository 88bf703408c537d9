"""Split an archive into messages as a stream. Only the current message and block are in memory."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from shared.mail.models import EmptyArchiveError, Limits, NotAMailboxError, RawMessage, Share, Skipped

LOOKAHEAD = 2048
"""Bytes after a separator that a dialect may read."""

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
_BLANK = b"\xef\xbb\xbf \t\r\n"


@dataclass(frozen=True)
class Dialect:
    """The separator between messages. Every pattern starts with a line end."""

    name: str
    pattern: re.Pattern[bytes]
    accepts: Callable[[re.Match[bytes]], bool] = lambda _match: True
    """Return whether a match of the pattern really separates two messages."""


def _follows_blank_line(match: re.Match[bytes]) -> bool:
    before = match.string[max(0, match.start() - 2) : match.start()]
    return before in {b"", b"\r"} or before.endswith((b"\n", b"\n\r"))


def _follows_headers(match: re.Match[bytes]) -> bool:
    """Return whether the message before has no body, and so no blank line after its headers."""
    above = match.string[max(0, match.start() - LOOKAHEAD) : match.start()]
    last = above.rfind(b"\nFrom ")
    return last >= 0 and not _BLANK_LINE.search(above, last)


_BLANK_LINE = re.compile(rb"\n\r?\n")
_FROM_LINE = re.compile(rb"\nFrom ([^\n]{0,1000})\n(?=" + _HEADER_LINE + rb")")
# Four control-A on a line of their own, before and after each message.
MMDF = Dialect("mmdf", re.compile(rb"\n\x01\x01\x01\x01\r?(?:\n|\Z)"))
# A year on a line of its own, as in some LISTSERV exports.
YEAR = Dialect("year", re.compile(rb"\n(?:19|20)\d\d\r?\n(?=" + _HEADER_LINE + rb")"), _follows_blank_line)
# A long rule of equals signs, as in LISTSERV notebooks.
NOTEBOOK = Dialect("notebook", re.compile(rb"\n={60,80}\r?\n(?=" + _HEADER_LINE + rb")"))
# A single message.
EML = Dialect("eml", re.compile(rb"(?!)"))


def _mbox(*, dated: bool = True, patches: bool = False, spaced: bool = True) -> Dialect:
    """Create the dialect of From lines between a blank line and a header, dated if the first one is.

    A From line inside a paragraph is text, unless the archive has no blank lines before its From lines.
    """

    def accepts(match: re.Match[bytes]) -> bool:
        if (dated and not _is_dated(match[1])) or (not patches and _GIT_PATCH.match(match[0], 1)):
            return False
        return (dated and not spaced) or _follows_blank_line(match) or (dated and _follows_headers(match))

    return Dialect("mbox", _FROM_LINE, accepts)


_UNSPACED = 3


def _is_spaced(beginning: bytes) -> bool:
    """Return whether blank lines precede the From lines. The default is true without clear evidence."""
    found = [match for match in _FROM_LINE.finditer(beginning, 1) if _is_dated(match[1])]
    return len(found) < _UNSPACED or any(map(_follows_blank_line, found))


def _is_dated(from_line: bytes) -> bool:
    return bool(_TIME.search(from_line) and _YEAR.search(from_line))


def detect(beginning: bytes) -> Dialect:
    text = beginning.lstrip(_BLANK)
    if not text:
        raise EmptyArchiveError
    if text.startswith(b"\x01\x01\x01\x01"):
        return MMDF
    if text.startswith(b"From "):
        line = text.split(b"\n", 1)[0]
        dated, patches = _is_dated(line), bool(_GIT_PATCH.match(line))
        return _mbox(dated=dated, patches=patches, spaced=_is_spaced(text))
    for dialect in (YEAR, NOTEBOOK):
        if dialect.pattern.match(b"\n" + text):
            return dialect
    if re.search(rb"\nFrom ", beginning) and not _looks_like_mail(text):
        return _mbox(spaced=_is_spaced(beginning))
    if _looks_like_mail(text):
        return EML
    raise NotAMailboxError


def _looks_like_mail(text: bytes) -> bool:
    headers = re.split(rb"\r?\n\r?\n", text, maxsplit=1)[0]
    return bool(_STARTS_WITH_HEADER.match(text)) and len(_MAIL_HEADER.findall(headers)) >= 2  # noqa: PLR2004 -- two known headers are no accident


_BLOCK = 1024 * 1024
_DETECT_BYTES = 64 * 1024
_CONTENT_LENGTH = re.compile(rb"\n[Cc]ontent-[Ll]ength:[ \t]*(\d{1,10})[ \t]*\r?\n")
_HEADER_SEARCH = 64 * 1024
_TRUSTED = 3
"""An archive declares lengths if so many messages do."""
_FIRST_LINE = re.compile(rb"\nFrom [^\n]*(?:\n|\Z)")
_HAS_ESCAPED_FROM = re.compile(rb"\n>{1,20}From ")
_ESCAPED_FROM = re.compile(rb"(?m)^>(>*From )")
_TIGHT_QUOTE = re.compile(rb">[^ >\r\n]")


class BinaryStream(Protocol):
    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, or no bytes at the end."""


def read_archive(
    stream: BinaryStream, limits: Limits | None = None, share: Share | None = None
) -> Iterator[RawMessage | Skipped]:
    """Yield the messages (or a share) of an mbox, an MMDF mailbox, a LISTSERV export or an .eml file."""
    return _Reader(stream, limits or Limits(), share).messages()


class _Window:
    """The part of the stream that is in memory, after an added line end."""

    def __init__(self, stream: BinaryStream) -> None:
        self._stream = stream
        self.data = b"\n"
        self.base = -1
        self.ended = False

    def fill(self) -> None:
        """Read a full block, even if the stream returns less at a time."""
        blocks, size = [self.data], _BLOCK
        while size > 0 and (block := self._stream.read(size)):
            blocks.append(block)
            size -= len(block)
        self.data = b"".join(blocks)
        self.ended = len(blocks) == 1

    def fill_to(self, size: int) -> None:
        while len(self.data) < size and not self.ended:
            self.fill()

    def drop(self, size: int) -> None:
        self.data = self.data[size:]
        self.base += size


class _Reader:
    def __init__(self, stream: BinaryStream, limits: Limits, share: Share | None) -> None:
        self._window = _Window(stream)
        self._share = share
        self._limits = limits
        self._dialect = EML
        self._dropped = 0
        self._declared = 0
        """The number of messages from the first on that declared their length. -1 after one did not."""

    def messages(self) -> Iterator[RawMessage | Skipped]:
        self._begin()
        start, envelope, junk = self._first()
        if junk and self._takes():
            yield Skipped(0, 0, junk, "text before the first separator")
        index = 0
        while True:
            offset = self._window.base + start
            following = self._following(start)
            if self._dialect is not MMDF and not self._takes():
                index += 1
            elif (message := self._cut(start, following, envelope, offset, index)) is not None:
                if self._dialect is not MMDF or self._takes():
                    if isinstance(message, RawMessage):
                        message.data = _unescape(message.data)
                    yield message
                index += 1
            if following is None:
                return
            start, envelope = following.end(), following[0]
            if start > _BLOCK:
                self._window.drop(start - 1)
                start = 1

    def _takes(self) -> bool:
        return self._share is None or self._share.takes_next()

    def _begin(self) -> None:
        """Read enough to detect the dialect. Drop white space before the first separator."""
        window = self._window
        window.fill_to(_DETECT_BYTES)
        beginning = window.data.lstrip(_BLANK)
        while not beginning and not window.ended:
            window.drop(len(window.data))
            window.fill()
            beginning = window.data.lstrip(_BLANK)
        self._dialect = detect(beginning[:_DETECT_BYTES])
        window.base += len(window.data) - len(beginning) - 1
        window.data = b"\n" + beginning

    def _first(self) -> tuple[int, bytes, int]:
        """Return the start of the first message, its separator, and the size of the text before it."""
        if self._dialect is EML:
            return 1, b"", 0
        if self._dialect.name == "mbox" and (line := _FIRST_LINE.match(self._window.data)):
            return line.end(), line[0], 0
        begin = self._window.base
        match = self._following(1)
        if match is None:
            raise NotAMailboxError
        return match.end(), match[0], self._window.base + match.start() - begin

    def _following(self, start: int) -> re.Match[bytes] | None:
        """Return the separator after the message at `start`, or None at the end of the archive."""
        self._dropped = 0
        declared = self._by_content_length(start)
        if declared is None:
            self._declared = -1
        elif self._declared >= 0:
            self._declared += 1
        # Unescaped From lines in a body (mboxcl2) are text only if every mail declares its length. Otherwise
        # one mail could declare a length that includes the mails after it.
        if declared and self._declared > _TRUSTED and self._declared_length(declared.end()):
            return declared
        return self._by_search(start)

    def _by_search(self, start: int) -> re.Match[bytes] | None:
        window, position = self._window, start - 1
        while (match := self._search(position)) is None and not window.ended:
            if len(window.data) - start > self._limits.message_bytes:
                cut = len(window.data) - LOOKAHEAD
                window.drop(cut)
                self._dropped += cut - start
                start = 0
            position = max(start - 1, len(window.data) - LOOKAHEAD, 0)
            window.fill()
        return match

    def _search(self, position: int) -> re.Match[bytes] | None:
        window = self._window
        for match in self._dialect.pattern.finditer(window.data, position):
            if not window.ended and match.start() + LOOKAHEAD > len(window.data):
                return None
            if self._dialect.accepts(match):
                return match
        return None

    def _by_content_length(self, start: int) -> re.Match[bytes] | None:
        """Return the separator at the end that Content-Length declares, or None if there is none."""
        declared = self._declared_length(start)
        if declared is None:
            return None
        body, length = declared
        end = body + length
        self._window.fill_to(end + LOOKAHEAD)
        for position in (end - 1, end, end + 1):
            match = self._dialect.pattern.match(self._window.data, position)
            if match and self._dialect.accepts(match):
                return match
        return None

    def _declared_length(self, start: int) -> tuple[int, int] | None:
        """Return the start of the body and the length that its header declares."""
        window = self._window
        window.fill_to(start + _HEADER_SEARCH)
        blank = _BLANK_LINE.search(window.data, start - 1, start + _HEADER_SEARCH)
        body = blank.end() if blank else start
        declared = _CONTENT_LENGTH.search(window.data, start - 1, body)
        if declared is None or (length := int(declared[1])) > self._limits.message_bytes:
            return None
        return body, length

    def _cut(
        self, start: int, following: re.Match[bytes] | None, envelope: bytes, offset: int, index: int
    ) -> RawMessage | Skipped | None:
        end = len(self._window.data) if following is None else following.start() + 1
        if self._dropped or end - start > self._limits.message_bytes:
            size = self._dropped + end - (0 if self._dropped else start)
            return Skipped(
                index, offset, size, f"larger than the limit of {self._limits.message_bytes} bytes"
            )
        data = self._window.data[start:end]
        if not data or data.isspace():
            return None if self._dialect is MMDF else Skipped(index, offset, len(data), "empty message")
        if self._dialect is MMDF and data.startswith(b"From "):
            envelope, _, data = data.partition(b"\n")
        return RawMessage(data, envelope.strip(), offset, index, end - start)


def _unescape(data: bytes) -> bytes:
    """Undo the quoting of From lines (mboxo and mboxrd, not mboxcl2) and drop the last blank line."""
    if data.endswith(b"\n\n"):
        data = data[:-1]
    elif data.endswith(b"\r\n\r\n"):
        data = data[:-2]
    if not _HAS_ESCAPED_FROM.search(data) or b"\nFrom " in data:
        return data
    return _ESCAPED_FROM.sub(_unescaped_line, data)


def _unescaped_line(match: re.Match[bytes]) -> bytes:
    """Remove one `>`, unless the line belongs to a quote that has no space after `>`."""
    data, start = match.string, match.start()
    above = data[data.rfind(b"\n", 0, max(0, start - 1)) + 1 : start]
    below_start = data.find(b"\n", match.end()) + 1 or len(data)
    below = data[below_start : below_start + 3]
    quoted = _TIGHT_QUOTE.match(above) or _TIGHT_QUOTE.match(below)
    single = match[1] == b"From "
    if single and quoted and not above.startswith(b">From ") and not below.startswith(b">Fr"):
        return match[0]
    return match[1]
