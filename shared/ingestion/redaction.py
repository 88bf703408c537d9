"""Archives without mails that were erased: each leaves a stub with its id and place, or nothing.

Redacting twice gives the same bytes: a file that is fetched or uploaded again is the archive that is there.
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
SHORTEST_QUOTE = 24  # a shorter line is nobody's own
PIECE = 1024 * 1024
_QUOTED = re.compile(r"^[ \t]*(?:[A-Za-z]{0,3}>[ \t]*)+(.*)$", re.MULTILINE)
_FROM = re.compile(rb"^(>*From )", re.MULTILINE)


def hidden_name(text: str) -> str:
    """How an address or a line stands in the list: the list itself names nobody."""
    return hashlib.sha256(" ".join(text.split()).lower().encode()).hexdigest()[:32]


def quotable_lines(text: str) -> Iterator[str]:
    """The lines of a mail that would be known again in another's quote."""
    for line in text.splitlines():
        words = " ".join(line.split())
        if len(words) >= SHORTEST_QUOTE and not words.startswith(">"):
            yield hidden_name(words)


def quoted_lines(text: str) -> Iterator[str]:
    for found in _QUOTED.finditer(text):
        words = " ".join(found[1].split())
        if len(words) >= SHORTEST_QUOTE:
            yield hidden_name(words)


@dataclass
class SuppressionList:
    """What must not come in, for the archives of one source."""

    tombstones: set[str] = field(default_factory=set)  # keys of messages
    dropped: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    quotes: set[str] = field(default_factory=set)
    before: str | None = None  # an older mail is no longer kept

    @classmethod
    def of(
        cls, documents: Sequence[Suppression], *, fetched: bool, before: datetime | None = None
    ) -> "SuppressionList":
        """What was only deleted may be uploaded again."""
        found = cls(before=stored_time(before) if before else None)
        for one in documents:
            if one.mode is ErasureMode.DELETED and not fetched:
                continue
            kept = found.tombstones if one.mode is ErasureMode.TOMBSTONE else found.dropped
            kept.update(one.messages)
            found.people.update(one.people)
            found.quotes.update(one.quotes)
        return found

    def __bool__(self) -> bool:
        return bool(self.tombstones or self.dropped or self.people or self.quotes or self.before)

    def mode_of(self, key: str, sender: str, body: str, date: str | None) -> ErasureMode | None:
        """How the mail with this key, sender and text goes; None where it stays, as a stub does."""
        if key in self.dropped or (self.before is not None and date is not None and date < self.before):
            return ErasureMode.DROPPED
        erased = (
            key in self.tombstones
            or (bool(sender) and hidden_name(sender) in self.people)
            or (bool(self.quotes) and not self.quotes.isdisjoint(quoted_lines(body)))
        )
        return ErasureMode.TOMBSTONE if erased and (sender or body.strip()) else None

    def hides(self, document: Mapping[str, Any]) -> bool:
        """Whether a message that was read may not be stored."""
        sender, body = document["from"]["email"], document["body_raw"]
        return self.mode_of(document["message_key"], sender, body, document["date"]) is not None

    def stub_of(self, mail: ParsedMail) -> bytes | None:
        """What stands in the place of the mail; None where it stays."""
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
"""Where a mail begins and ends, and what it leaves; None where it stays."""


def redact(path: Path, target: Path, hidden: SuppressionList, limits: UnpackLimits) -> Redacted:
    """Write the archive as one mbox without what is hidden; nothing where nothing is."""
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
    """Byte for byte where it is an mbox; mails that are kept apart in another way become one."""
    head = stream.read(spans[0][0]) if spans else b""
    source = _Rest(stream, len(head))
    if head.strip().startswith(b"From "):
        out.write(b"" if spans[0][2] is not None else head)
        for (start, end, stub), following in zip(spans, [*spans[1:], None], strict=True):
            source.move(start, out)
            source.move(end, None if stub is not None else out)
            out.write(stub or b"")
            # The line between two mails names the sender of the second.
            goes = following is None or following[2] is not None
            source.move(following[0] if following else source.END, None if goes and following else out)
            if goes and following and stub is None:
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
    """A stream from where it is on: parts of it are copied, and others passed over."""

    END = 2**62

    def __init__(self, stream: BinaryStream, at: int) -> None:
        self._stream, self._at = stream, at

    def move(self, to: int, out: BinaryIO | None) -> None:
        while self._at < to and (piece := self._stream.read(min(to - self._at, PIECE))):
            self._at += len(piece)
            if out is not None:
                out.write(piece)
