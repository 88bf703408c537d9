"""The results of parsing an archive: messages, and skipped parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from shared.core.ids import node_without_id


class SegmentKind(StrEnum):
    NEW = "new"
    QUOTE = "quote"
    ATTRIBUTION = "attribution"
    SIGNATURE = "signature"
    FOOTER = "footer"


class Segment(NamedTuple):
    """A part of `body_raw`, from `start` up to `end`."""

    kind: SegmentKind
    start: int
    end: int


def read_segments(stored: Iterable[Mapping[str, Any]]) -> list[Segment]:
    return [Segment(SegmentKind(part["kind"]), part["start"], part["end"]) for part in stored]


class ParsedAddress(NamedTuple):
    name: str
    email: str


class ParsedAttachment(NamedTuple):
    filename: str
    content_type: str
    size: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for a hostile or damaged archive."""

    message_bytes: int = 20 * 1024 * 1024
    header_bytes: int = 512 * 1024
    body_chars: int = 500_000
    parts: int = 200
    depth: int = 20
    references: int = 100
    recipients: int = 1_000


@dataclass(slots=True)
class RawMessage:
    """The original bytes of one message, without its separator."""

    data: bytes
    envelope: bytes = b""
    """The From line, if the archive has From lines."""
    offset: int = 0
    index: int = 0
    size: int = 0
    """The size in the archive, before the quoting of From lines was undone."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of the archive that could not become a message, and the reason."""

    index: int
    offset: int
    size: int
    reason: str


@dataclass(slots=True)
class Share:
    """One of several equal shares of an archive's messages, assigned by blocks across all its mailboxes."""

    number: int
    of: int
    position: int = 0

    BLOCK: ClassVar[int] = 20

    def takes_next(self) -> bool:
        turn = self.position // self.BLOCK % self.of
        self.position += 1
        return turn == self.number


@dataclass(slots=True)
class ParsedMail:
    message_key: str
    message_id: str | None
    """With angle brackets. None if the mail has no id."""
    in_reply_to: list[str]
    references: list[str]
    subject: str
    sender: ParsedAddress
    to: list[ParsedAddress]
    cc: list[ParsedAddress]
    date: datetime | None
    """In UTC. None if the mail has no plausible date."""
    body_raw: str
    body_normalized: str
    body_html: str | None
    segments: list[Segment]
    headers: dict[str, str]
    attachments: list[ParsedAttachment]
    draft_mentions: list[str]
    warnings: list[str] = field(default_factory=list)
    trace: dict[str, list[str]] = field(default_factory=dict)
    """The transport and authentication fields (`headers.TRACE_FIELDS`), the last hop first."""
    claimed_date: str = ""
    """The text of an implausible Date field."""
    hidden_text: str = ""
    """Text of the HTML that a reader cannot see. Nothing is read from it."""
    offset: int = 0
    index: int = 0
    size: int = 0

    @property
    def node(self) -> str:
        return self.message_id or node_without_id(self.message_key)


class MailboxError(ValueError):
    """The archive cannot be read as mail."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class EmptyArchiveError(MailboxError):
    """The archive contains only white space. Fetch it again or remove it from the source."""


class NotAMailboxError(MailboxError):
    """The archive has no From line and no MMDF separator. Check that it is a mailbox."""
