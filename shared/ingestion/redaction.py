"""Remove erased mails from archives, with a stub that keeps the mail's id, or without a trace.

Redaction is repeatable: the same file gives the same bytes, so a repeated upload is a duplicate.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from shared.core.times import stored_time
from shared.ingestion.archive_members import open_members
from shared.ingestion.unpacked_streams import UnpackLimits
from shared.mail.mbox import BinaryStream
from shared.mail.models import Limits, ParsedMail
from shared.mail.parse import parse_archive
from shared.models.erasure import ErasureMode, Suppression

FROM_LINE = b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n"
SHORTEST_QUOTE = 24  # Shorter lines are too common to identify a mail.
PIECE = 1024 * 1024
_QUOTED = re.compile(r"^[ \t]*(?:[A-Za-z]{0,3}>[ \t]*)+(.*)$", re.MULTILINE)
_FROM = re.compile(rb"^(>*From )", re.MULTILINE)


def suppression_hash(text: str) -> str:
    """Return the hash that the list stores for an address or a line, so that the list names no person."""
    return hashlib.sha256(" ".join(text.split()).lower().encode()).hexdigest()[:32]


def quotable_lines(text: str) -> Iterator[str]:
    """Yield the hashes of the lines that identify a mail in another mail's quote."""
    for line in text.splitlines():
        words = " ".join(line.split())
        if len(words) >= SHORTEST_QUOTE and not words.startswith(">"):
            yield suppression_hash(words)


def quoted_lines(text: str) -> Iterator[str]:
    for found in _QUOTED.finditer(text):
        words = " ".join(found[1].split())
        if len(words) >= SHORTEST_QUOTE:
            yield suppression_hash(words)


@dataclass
class SuppressionList:
    """The mails of one source that must not be stored."""

    tombstones: set[str] = field(default_factory=set)  # Keys of messages.
    dropped: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    quotes: set[str] = field(default_factory=set)
    before: str | None = None  # Older mails are no longer kept.

    @classmethod
    def of(
        cls, documents: Sequence[Suppression], *, fetched: bool, before: datetime | None = None
    ) -> "SuppressionList":
        """Create the list. A mail that was deleted, but not erased, may be uploaded again."""
        found = cls(before=stored_time(before) if before else None)
        for document in documents:
            if document.mode is ErasureMode.DELETED and not fetched:
                continue
            kept = found.tombstones if document.mode is ErasureMode.TOMBSTONE else found.dropped
            kept.update(document.messages)
            found.people.update(document.people)
            found.quotes.update(document.quotes)
        return found

    def __bool__(self) -> bool:
        return bool(self.tombstones or self.dropped or self.people or self.quotes or self.before)

    def mode_of(self, key: str, sender: str, body: str, date: str | None) -> ErasureMode | None:
        """Return how the mail must be removed, or None if it stays. A stub stays."""
        if key in self.dropped or (self.before is not None and date is not None and date < self.before):
            return ErasureMode.DROPPED
        erased = (
            key in self.tombstones
            or (bool(sender) and suppression_hash(sender) in self.people)
            or (bool(self.quotes) and not self.quotes.isdisjoint(quoted_lines(body)))
        )
        return ErasureMode.TOMBSTONE if erased and (sender or body.strip()) else None

    def hides(self, document: Mapping[str, Any]) -> bool:
        """Return whether a parsed message must not be stored."""
        sender, body = document["from"]["email"], document["body_raw"]
        return self.mode_of(document["message_key"], sender, body, document["date"]) is not None

    def stub_of(self, mail: ParsedMail) -> bytes | None:
        """Return the replacement of the mail (empty bytes if nothing remains), or None if it stays."""
        date = stored_time(mail.date) if mail.date else None
        mode = self.mode_of(mail.message_key, mail.sender.email, mail.body_raw, date)
        if mode is None:
            return None
        return _stub(mail) if mode is ErasureMode.TOMBSTONE else b""


def _stub(mail: ParsedMail) -> bytes:
    named = {
        "Message-ID": mail.message_id or "",
        "In-Reply-To": " ".join(mail.in_reply_to[:1]),
        "References": " ".join(mail.references),
        "Date": format_datetime(mail.date) if mail.date else "",
    }
    head = "".join(f"{name}: {value}\n" for name, value in named.items() if value)
    return FROM_LINE + f"{head}\n".encode("utf-8", "replace")


@dataclass(frozen=True)
class Redacted:
    erased: int
    left: int


Span = tuple[int, int, bytes | None]
"""The start and end of a mail, and its replacement. None keeps the mail."""


def redact(path: Path, target: Path, hidden: SuppressionList, limits: UnpackLimits) -> Redacted:
    """Write the archive as one mbox without the hidden mails. Write no file if none is hidden."""
    members: list[list[Span]] = []
    for member in open_members(path, limits):
        mails = parse_archive(member.stream, Limits())
        members.append(
            [
                (mail.offset, mail.offset + mail.size, hidden.stub_of(mail))
                for mail in mails
                if isinstance(mail, ParsedMail)
            ]
        )
    stubs = [stub for spans in members for _, _, stub in spans]
    erased = len(stubs) - stubs.count(None)
    if erased:
        with target.open("wb") as out:
            for member, spans in zip(open_members(path, limits), members, strict=True):
                _copy(member.stream, out, spans)
    return Redacted(erased, len(stubs) - stubs.count(b""))


def _copy(stream: BinaryStream, out: BinaryIO, spans: Sequence[Span]) -> None:
    """Copy an mbox byte for byte without the hidden mails. Convert any other mailbox to an mbox."""
    head = stream.read(spans[0][0]) if spans else b""
    source = _Rest(stream, len(head))
    if head.strip().startswith(b"From "):
        out.write(b"" if spans[0][2] is not None else head)
        for (start, end, stub), following in zip(spans, [*spans[1:], None], strict=True):
            source.move(start, out)
            source.move(end, None if stub is not None else out)
            out.write(stub or b"")
            # The From line between two mails belongs to the second.
            is_dropped = following is None or following[2] is not None
            source.move(following[0] if following else source.END, None if is_dropped and following else out)
            if is_dropped and following and stub is None:
                out.write(b"\n")
        return
    for start, end, stub in spans:
        source.move(start, None)
        if stub is not None:
            source.move(end, None)
            out.write(stub)
            continue
        kept = BytesIO()
        source.move(end, kept)
        out.write(FROM_LINE + _FROM.sub(rb">\1", kept.getvalue()) + b"\n\n")


class _Rest:
    """The rest of a stream: parts are copied, and others are skipped."""

    END = 2**62

    def __init__(self, stream: BinaryStream, at: int) -> None:
        self._stream, self._at = stream, at

    def move(self, to: int, out: BinaryIO | None) -> None:
        while self._at < to and (piece := self._stream.read(min(to - self._at, PIECE))):
            self._at += len(piece)
            if out is not None:
                out.write(piece)
