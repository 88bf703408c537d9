"""The parts of a message: its texts and its attachments. Depth and number are limited."""

import binascii
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.core.lazy_import import lazy
from shared.mail import charsets
from shared.mail.headers import Headers, parameters, read_headers, text_of
from shared.mail.models import Limits, ParsedAttachment, SegmentKind

if TYPE_CHECKING:
    from shared.mail import html
else:
    html = lazy("shared.mail.html")  # Only HTML mail needs the HTML parser.

_SIGNATURE = "-- "


def unflow(text: str, *, delsp: bool) -> str:
    """Join the lines of flowed paragraphs, with the quote marks once before each paragraph."""
    paragraphs: list[list[str]] = []
    open_depth = -1
    for line in text.split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")
        # A trailing space continues the paragraph, except in the signature separator.
        flows = content.endswith(" ") and content != _SIGNATURE
        piece = content[:-1] if flows and delsp else content
        if open_depth == depth and content != _SIGNATURE:
            paragraphs[-1].append(piece)
        else:
            paragraphs.append([">" * depth, " " if depth and content else "", piece])
        open_depth = depth if flows else -1
    return "\n".join(map("".join, paragraphs))


_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=\s]")
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]{1,2000}={0,3}\s*")
_SOFT_BREAK_WITH_SPACE = re.compile(rb"=[ \t]{1,20}\n")
_UU_BEGIN = re.compile(rb"(?m)^begin [0-7]{3,4} [^\n]*\n")
_QUANTUM = 4


def decode_transfer(data: bytes, encoding: str) -> tuple[bytes, bytes, str]:
    """Return the decoded bytes, text that was appended unencoded (a list's footer), and a warning."""
    encoding = encoding.strip().strip("\"'").lower()
    if encoding in _IDENTITY:
        return data, b"", ""
    if encoding == "quoted-printable":
        if b"= " in data or b"=\t" in data:
            data = _SOFT_BREAK_WITH_SPACE.sub(b"=\n", data)
        return binascii.a2b_qp(data), b"", ""
    if encoding == "base64":
        return _base64(data)
    if encoding in _UUENCODE:
        return _uuencode(data)
    return data, b"", f"unknown-transfer-encoding:{encoding[:40]}"


_IDENTITY = frozenset({"", "7bit", "8bit", "binary", "7-bit", "8-bit", "none", "7bits", "8bits"})
_UUENCODE = frozenset({"x-uuencode", "uuencode", "x-uue", "uue"})


def _base64(data: bytes) -> tuple[bytes, bytes, str]:
    """Decode base64 up to the first invalid line, because Mailman appends its footer as plain text."""
    tail, warning = b"", ""
    if _NOT_BASE64.search(data):
        end = 0
        for line in data.splitlines(keepends=True):
            if line.strip() and not _BASE64_LINE.fullmatch(line):
                break
            end += len(line)
        data, tail, warning = data[:end].strip(), data[end:], "text-after-base64"
        if not data:
            return tail, b"", "not-base64"
    kept = b"".join(data.split())
    try:
        return binascii.a2b_base64(kept), tail, warning
    except binascii.Error:
        kept = kept.replace(b"=", b"")
        kept = kept[: len(kept) - (len(kept) % _QUANTUM == 1)]
        return binascii.a2b_base64(kept + b"=" * (-len(kept) % _QUANTUM)), tail, warning


def _uuencode(data: bytes) -> tuple[bytes, bytes, str]:
    begin = _UU_BEGIN.search(data)
    if begin is None:
        return data, b"", "not-uuencode"
    out: list[bytes] = []
    for line in data[begin.end() :].splitlines():
        if line in {b"end", b"`", b" ", b""}:
            break
        # The first character gives the number of bytes. Text after them is ignored.
        for piece in (line, line[: (((line[0] - 32) & 63) * 4 + 5) // 3]):
            with suppress(binascii.Error):
                out.append(binascii.a2b_uu(piece))
                break
    return b"".join(out), b"", ""


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
    texts: list[tuple[str, SegmentKind | None]] = field(default_factory=list)
    """The texts in order, with a kind if the MIME structure defines it."""
    html: str | None = None
    hidden: str = ""
    """Text of the HTML that a reader cannot see."""
    has_plain: bool = False
    attachments: list[ParsedAttachment] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, other: "Content") -> None:
        self.texts += other.texts
        self.html = self.html or other.html
        self.hidden = self.hidden or other.hidden
        self.has_plain |= other.has_plain
        self.attachments += other.attachments
        self.warnings += other.warnings


class PartReader:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parts = 0

    def read(
        self, headers: Headers, body: bytes, depth: int = 0, default_type: str = "text/plain"
    ) -> Content:
        content_type, options = parameters(headers.get("content-type", [default_type])[0])
        content_type = content_type if "/" in content_type else "text/plain"
        words = headers.get("content-transfer-encoding", [""])[0].split(";", 1)[0].split()
        encoding = words[0].strip("\"'").lower() if words else ""
        if content_type.startswith("multipart/"):
            return self._multipart(content_type, options.get("boundary", ""), encoding, body, depth)
        disposition, disposition_options = parameters(headers.get("content-disposition", [""])[0])
        if content_type in _MESSAGES:
            return self._message(body, encoding, depth)
        filename = disposition_options.get("filename") or options.get("name") or ""
        is_readable = content_type.startswith("text/") and content_type not in _NOT_TO_READ
        if disposition != "attachment" and is_readable:
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
        warnings = [text for text in (warning, problem) if text]
        text = self._bounded(text, warnings)
        if "\r" in text:
            text = _LINE_END.sub("\n", text)
        content = Content(has_plain=not is_html, warnings=warnings)
        if is_html:
            read = html.html_to_text(text)
            content.html, text = text, self._bounded(read.text, warnings)
            warnings += ["hidden-text"] if read.hidden else []
            content.hidden = read.hidden
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
        if content_type == "multipart/alternative":
            _keep_best(found)
        content = Content()
        for part in found:
            content.add(part)
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
        """Return the text of an attached message as a quote, because another author wrote it."""
        if depth >= self._limits.depth:
            return Content(warnings=["parts-too-deep"])
        if encoding in {"base64", "quoted-printable"}:
            body = decode_transfer(body, encoding)[0]
        headers, inner, _ = read_headers(body.lstrip(b"\n"), self._limits.header_bytes)
        content = self.read(headers, inner, depth + 1)
        fields = {name: text_of(headers, name) for name in ("from", "date", "subject")}
        heading = "".join(f"{name.title()}: {value}\n" for name, value in fields.items() if value)
        texts = [f"{heading}\n", *(text for text, _ in content.texts)]
        content.texts = [(text, SegmentKind.QUOTE) for text in texts]
        content.attachments.insert(0, ParsedAttachment(fields["subject"][:500], "message/rfc822", len(body)))
        content.html = None
        return content


def _keep_best(parts: list[Content]) -> None:
    """Of alternative versions, keep the plain text unless it is empty."""
    with_text = [part for part in parts if any(text.strip() for text, _ in part.texts)]
    chosen = next((part for part in with_text if part.has_plain), with_text[0] if with_text else None)
    for part in parts:
        if part is not chosen:
            part.texts = []


def _split_parts(body: bytes, boundary: str, limit: int) -> tuple[list[bytes], bytes]:
    """Return the raw parts between the boundary lines, and the text after the last part."""
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
