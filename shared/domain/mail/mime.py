"""The parts of a message: which of them are its text, which are attachments.

Depth and number of parts are bounded; what is beyond is left out with a warning.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.core.lazy_import import lazy
from shared.domain.mail import charsets
from shared.domain.mail.flowed import unflow
from shared.domain.mail.headers import Headers, parameters, read_headers, text_of
from shared.domain.mail.models import Limits, ParsedAttachment, SegmentKind
from shared.domain.mail.transfer import decode_transfer

if TYPE_CHECKING:
    from shared.domain.mail import html
else:
    html = lazy("shared.domain.mail.html")  # it brings a browser's parser, which plain text does not need

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s{0,5}=\s{0,5}[\"']?([\w-]{1,40})", re.IGNORECASE)
_LINE_END = re.compile(r"\r+\n|\r")
_DELIMITER_REST = re.compile(rb"(--)?[ \t]*(?:\r?\n|\Z)")
_NOT_TO_READ = frozenset(
    {"text/calendar", "text/vcard", "text/x-vcard", "text/directory", "text/rtf", "text/css"}
)
_MESSAGES = frozenset({"message/rfc822", "message/global", "message/news"})
_META_SEARCH = 2048


@dataclass(slots=True)
class Content:
    """What a part and the parts in it hold."""

    texts: list[tuple[str, SegmentKind | None]] = field(default_factory=list)
    """In order; with a kind where the structure, not the text, says what it is."""
    html: str | None = None
    has_plain: bool = False
    attachments: list[ParsedAttachment] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, other: "Content") -> None:
        self.texts += other.texts
        self.html = self.html or other.html
        self.has_plain |= other.has_plain
        self.attachments += other.attachments
        self.warnings += other.warnings

    def has_text(self) -> bool:
        return any(text.strip() for text, _ in self.texts)


def read_content(headers: Headers, body: bytes, limits: Limits) -> Content:
    return _PartReader(limits).read(headers, body, 0, "text/plain")


class _PartReader:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parts = 0

    def read(self, headers: Headers, body: bytes, depth: int, default_type: str) -> Content:
        content_type, options = _content_type(headers, default_type)
        encoding = _encoding(headers)
        if content_type.startswith("multipart/"):
            return self._multipart(content_type, options.get("boundary", ""), encoding, body, depth)
        disposition, disposition_options = _disposition(headers)
        if content_type in _MESSAGES:
            return self._message(body, encoding, depth)
        filename = disposition_options.get("filename") or options.get("name") or ""
        if disposition != "attachment" and _is_readable(content_type):
            return self._text(content_type, options, encoding, body)
        data, _, warning = decode_transfer(body, encoding)
        attachment = ParsedAttachment(charsets.printable(filename)[:500], content_type[:200], len(data))
        return Content(attachments=[attachment], warnings=[warning] if warning else [])

    def _text(self, content_type: str, options: dict[str, str], encoding: str, body: bytes) -> Content:
        data, tail, warning = decode_transfer(body, encoding)
        charset = options.get("charset", "")
        is_html = content_type == "text/html"
        if is_html and not charset and (meta := _META_CHARSET.search(data[:_META_SEARCH])):
            charset = meta[1].decode("ascii")
        text, problem = charsets.decode(data, charset)
        warnings = [one for one in (warning, problem) if one]
        text = self._bounded(text, warnings)
        if "\r" in text:
            text = _LINE_END.sub("\n", text)
        content = Content(has_plain=not is_html, warnings=warnings)
        if is_html:
            read = html.html_to_text(text)
            content.html, text = text, self._bounded(read.text, warnings)
            warnings += ["hidden-text"] if read.has_hidden else []
        elif "format" in options and options["format"].strip().lower() == "flowed":
            text = unflow(text, delsp=options.get("delsp", "").strip().lower() == "yes")
        content.texts.append((text, None))
        if tail.strip():
            content.texts.append((charsets.decode(tail)[0], None))
        return content

    def _bounded(self, text: str, warnings: list[str]) -> str:
        if len(text) <= self._limits.body_chars:
            return text
        warnings.append(f"body-truncated:{len(text)}")
        return text[: self._limits.body_chars]

    def _multipart(self, content_type: str, boundary: str, encoding: str, body: bytes, depth: int) -> Content:
        if depth >= self._limits.depth:
            return Content(warnings=["parts-too-deep"])
        parts, epilogue = _split_parts(body, boundary, self._limits.parts)
        if not parts and encoding in {"base64", "quoted-printable"}:
            body = decode_transfer(body, encoding)[0]
            parts, epilogue = _split_parts(body, boundary, self._limits.parts)
        if not parts:
            content = self._text("text/plain", {}, "", body)
            content.warnings.append("multipart-without-parts")
            return content
        default_type = "message/rfc822" if content_type == "multipart/digest" else "text/plain"
        found = [part for part in (self._part(raw, depth, default_type) for raw in parts) if part]
        content = _best_of(found) if content_type == "multipart/alternative" else _all_of(found)
        if len(found) < len(parts):
            content.warnings.append("too-many-parts")
        if epilogue.strip():
            content.texts.append((_LINE_END.sub("\n", charsets.decode(epilogue)[0]), SegmentKind.FOOTER))
        return content

    def _part(self, raw: bytes, depth: int, default_type: str) -> Content | None:
        self._parts += 1
        if self._parts > self._limits.parts:
            return None
        headers, body, _ = read_headers(raw, self._limits.header_bytes)
        return self.read(headers, body, depth + 1, default_type)

    def _message(self, body: bytes, encoding: str, depth: int) -> Content:
        """A message inside the message: somebody else's words, so its text counts as a quote."""
        if depth >= self._limits.depth:
            return Content(warnings=["parts-too-deep"])
        if encoding in {"base64", "quoted-printable"}:
            body = decode_transfer(body, encoding)[0]
        headers, inner, _ = read_headers(body.lstrip(b"\n"), self._limits.header_bytes)
        content = self.read(headers, inner, depth + 1, "text/plain")
        subject = text_of(headers, "subject")
        heading = "".join(
            f"{name.title()}: {value}\n"
            for name in ("from", "date", "subject")
            if (value := text_of(headers, name))
        )
        content.texts = [
            (f"{heading}\n", SegmentKind.QUOTE),
            *((text, SegmentKind.QUOTE) for text, _ in content.texts),
        ]
        content.attachments.insert(0, ParsedAttachment(subject[:500], "message/rfc822", len(body)))
        content.html = None
        return content


def _all_of(parts: list[Content]) -> Content:
    content = Content()
    for part in parts:
        content.add(part)
    return content


def _best_of(parts: list[Content]) -> Content:
    """Of several versions of the same text, the plain one, unless it is empty."""
    plain = [part for part in parts if part.has_plain and part.has_text()]
    chosen = next(iter(plain or [part for part in parts if part.has_text()]), None)
    content = Content()
    for part in parts:
        if part is not chosen:
            part.texts = []
        content.add(part)
    return content


def _content_type(headers: Headers, default: str) -> tuple[str, dict[str, str]]:
    values = headers.get("content-type")
    if not values:
        return default, {}
    content_type, options = parameters(values[0])
    return (content_type, options) if "/" in content_type else ("text/plain", options)


def _disposition(headers: Headers) -> tuple[str, dict[str, str]]:
    values = headers.get("content-disposition")
    return parameters(values[0]) if values else ("", {})


def _encoding(headers: Headers) -> str:
    values = headers.get("content-transfer-encoding")
    words = values[0].split(";", 1)[0].split() if values else []
    return words[0].strip("\"'").lower() if words else ""


def _is_readable(content_type: str) -> bool:
    return content_type.startswith("text/") and content_type not in _NOT_TO_READ


def _split_parts(body: bytes, boundary: str, limit: int) -> tuple[list[bytes], bytes]:
    """The raw parts between the boundary's lines, and the text after the last of them."""
    if not boundary:
        return [], b""
    delimiter = b"\n--" + boundary.encode("utf-8", "replace")
    data = b"\n" + body
    parts: list[bytes] = []
    start = -1
    position = data.find(delimiter)
    while position >= 0:
        rest = _DELIMITER_REST.match(data, position + len(delimiter))
        if rest is not None:
            if start >= 0:
                parts.append(data[start:position] if position >= start else b"")
            if rest[1] or len(parts) > limit:
                return parts, data[rest.end() :] if rest[1] else b""
            start = rest.end()
            position = start - 2 if start > 1 else position
        position = data.find(delimiter, position + 1)
    if start >= 0:
        parts.append(data[start:])
    return parts, b""
