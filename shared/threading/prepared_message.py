"""A message before it is stored, as plain values, because another process may send it."""

import hashlib
import json
import marshal
import re
import zlib
from datetime import datetime
from typing import Any, NamedTuple

from shared.core.json_size import json_bytes_at_most
from shared.core.times import stored_time
from shared.mail.header_values import CLOCK_SKEW
from shared.mail.models import ParsedMail, Segment, SegmentKind
from shared.mail.segments import NormalizedBody
from shared.threading.assignment import ReplyLinks, links_of

MAX_DOCUMENT_BYTES = 1_900_000


class PreparedMessage(NamedTuple):
    links: ReplyLinks
    document: dict[str, Any]
    """The fields to store, without source, thread and archive.

    The key is the key without a source, because several sources may have the message.
    """
    json_bytes: int
    """The most bytes that the document can have as JSON."""

    @property
    def node(self) -> str:
        return self.links.node

    def not_after(self, latest: str) -> "PreparedMessage":
        """Return the message without a date after `latest`. Such a date neither orders nor links."""
        date = self.document["date"]
        if date is None or date <= latest:
            return self
        undated = {"date": None, "claimed_date": self.document["claimed_date"] or date}
        return self._replace(document=self.document | undated, links=self.links._replace(entries=[]))

    @property
    def size(self) -> int:
        """The number of characters of its text and HTML."""
        return len(self.document["body_raw"]) + len(self.document["body_html"] or "")


def latest_date(arrived: str) -> str:
    """Return the latest date that a mail may have, given the time at which its archive arrived."""
    return stored_time(datetime.fromisoformat(arrived) + CLOCK_SKEW)


def prepare_message(message: ParsedMail, member: int = 0) -> PreparedMessage:
    """Return the message as it is stored. `member` is the number of its mailbox in the archive."""
    document = _document(message)
    while (size := json_bytes_at_most(document)) > MAX_DOCUMENT_BYTES:
        if (size := len(json.dumps(document))) <= MAX_DOCUMENT_BYTES:
            break
        document = _document(_shortened(message))
    document["identity"], rest = _identity(message, document["date"])
    # The variant tells copies apart. A checksum of the HTML is enough, because the text comes from it.
    html = document["body_html"]
    written = [document[name] for name in _WRITTEN]
    written += [rest, zlib.crc32(html.encode("utf-8", "surrogatepass")) if html else 0]
    document["variant"] = _digest(marshal.dumps(written, 2))
    document["place"] = [member, message.offset, message.size]
    return PreparedMessage(links_of(message), document, size)


def _shortened(message: ParsedMail) -> ParsedMail:
    """Remove the HTML or half of the text, because a document has at most 2 MB and escapes count."""
    if message.body_html is not None:
        message.body_html, message.hidden_text = None, ""
        message.warnings.append("html-too-large")
        return message
    end = len(message.body_raw) // 2
    message.warnings += ["body-truncated"] if "body-truncated" not in message.warnings else []
    message.segments = [Segment(s.kind, s.start, min(s.end, end)) for s in message.segments if s.start < end]
    message.body_raw = message.body_raw[:end]
    message.body_normalized = NormalizedBody(message.body_raw, message.segments).text
    return message


_WRITTEN = ("identity", "subject", "from", "to", "cc", "date", "references", "in_reply_to", "headers",
            "attachments", "warnings")  # fmt: skip
"""The other fields follow from these and the texts."""


def _identity(message: ParsedMail, date: str | None) -> tuple[str, str | int]:
    """Return a digest without a list's footer and tags, and a value that tells such copies apart."""
    text, subject = message.body_raw, message.subject
    footers = [s for s in message.segments if s.kind is SegmentKind.FOOTER]
    rest: str | int
    if footers:
        rest = zlib.crc32(text.encode("utf-8", "surrogatepass"))
        parts = [text[s.start : s.end] for s in message.segments if s.kind is not SegmentKind.FOOTER]
        content = "".join(parts).rstrip()
    else:
        content = text.rstrip()
        rest = text[len(content) :]
    fields = [
        (_LIST_TAGS.sub("", subject) if "[" in subject else subject).replace(" ", ""),
        *message.sender,
        date or "",
        *message.in_reply_to,
        *message.references,
        *[f"{attachment.filename} {attachment.size}" for attachment in message.attachments],
        content,
    ]
    return _digest("\0".join(fields).encode("utf-8", "surrogatepass")), rest


_LIST_TAGS = re.compile(r"\[[^\[\]]{1,40}\]")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content, usedforsecurity=False).hexdigest()[:16]


def _document(message: ParsedMail) -> dict[str, Any]:
    return {
        "id": message.message_key,
        "message_key": message.message_key,
        "message_id": message.node,
        "in_reply_to": message.in_reply_to[0] if message.in_reply_to else None,
        "references": message.references,
        "subject": message.subject,
        "from": message.sender._asdict(),
        "to": [address._asdict() for address in message.to],
        "cc": [address._asdict() for address in message.cc],
        "date": stored_time(message.date) if message.date else None,
        "body_raw": message.body_raw,
        "body_normalized": message.body_normalized,
        "body_html": message.body_html,
        "segments": [{"kind": s.kind.value, "start": s.start, "end": s.end} for s in message.segments],
        "headers": message.headers,
        "trace": message.trace,
        "attachments": [
            {
                "filename": attachment.filename,
                "content_type": attachment.content_type,
                "size_bytes": attachment.size,
                "content_id": None,
            }
            for attachment in message.attachments
        ],
        "draft_mentions": message.draft_mentions,
        "warnings": message.warnings,
        "claimed_date": message.claimed_date,
        "hidden_text": message.hidden_text,
    }
