"""Parse the bytes of an archive or a message to `ParsedMail`."""

from collections.abc import Iterator

from shared.core.ids import message_key, message_key_without_id
from shared.mail import charsets
from shared.mail.authentication import MAX_RESULTS
from shared.mail.charsets import decode_words
from shared.mail.header_values import best_date, parse_addresses
from shared.mail.headers import (
    TRACE_FIELDS,
    Headers,
    ids_in,
    one_id,
    parent_ids,
    read_headers,
    text_of,
    unfold,
)
from shared.mail.mbox import BinaryStream, read_archive
from shared.mail.mentions import find_mentions
from shared.mail.mime import Content, PartReader
from shared.mail.models import Limits, ParsedAddress, ParsedMail, RawMessage, Segment, Share, Skipped
from shared.mail.segments import NormalizedBody, segment

_OWN_FIELDS = frozenset(
    {"message-id", "in-reply-to", "references", "subject", "from", "to", "cc", "date", "content-type",
     "content-transfer-encoding", "mime-version", *TRACE_FIELDS}
)  # fmt: skip
_MAX_TRACE = dict.fromkeys(TRACE_FIELDS, 4) | {"received": 1}
_MAX_TRACE_VALUE = 1_000
_MAX_HEADER_VALUE = 2_000
_MAX_HEADERS = 200
_MAX_REPEATS = 50
_MAX_IDS_VALUE = 100_000
_MAX_SUBJECT = 1_000
_MAX_CLAIMED_DATE = 100


def parse_archive(
    stream: BinaryStream, limits: Limits | None = None, share: Share | None = None
) -> Iterator[ParsedMail | Skipped]:
    """Yield the messages of an archive, or a share of them, and a `Skipped` for each part that fails."""
    limits = limits or Limits()
    for raw in read_archive(stream, limits, share):
        if isinstance(raw, Skipped):
            yield raw
            continue
        try:
            yield parse_message(raw, limits)
        except Exception as error:  # noqa: BLE001 -- whatever one message trips over, the others still count
            reason = f"cannot be parsed: {type(error).__name__}: {error}"
            yield Skipped(raw.index, raw.offset, len(raw.data), reason)


def parse_message(raw: RawMessage | bytes, limits: Limits | None = None) -> ParsedMail:
    limits = limits or Limits()
    if isinstance(raw, bytes):
        raw = RawMessage(raw)
    # Searching for one byte is ten times as fast as for two.
    data = raw.data.replace(b"\r\n", b"\n") if b"\r" in raw.data else raw.data
    headers, body, warnings = read_headers(data, limits.header_bytes)
    if not headers and not body.strip():
        raise ValueError("neither headers nor a body")
    content = PartReader(limits).read(headers, body)
    return _build(raw, headers, content, warnings + content.warnings, limits)


def _build(
    raw: RawMessage, headers: Headers, content: Content, warnings: list[str], limits: Limits
) -> ParsedMail:
    body_raw, known = _joined(content, limits, warnings)
    segments = segment(body_raw, known)
    normalized = NormalizedBody(body_raw, segments).text
    subject = text_of(headers, "subject")[:_MAX_SUBJECT]
    sender, received = _sender(headers, warnings), headers.get("received", ())
    date, problem = best_date(_first(headers, "date"), received, raw.envelope.decode("latin-1"))
    warnings += [problem] if problem else []
    to, cc = (
        parse_addresses(unfold(", ".join(headers.get(name, ()))), limits.recipients) for name in ("to", "cc")
    )
    message_id = one_id(_first(headers, "message-id"))
    warnings += [] if message_id else ["missing-message-id"]
    unnamed = (date, sender.email or sender.name, subject, body_raw)
    key = message_key(message_id) if message_id else message_key_without_id(*unnamed)
    return ParsedMail(
        message_key=key,
        message_id=message_id,
        in_reply_to=parent_ids(
            _first(headers, "in-reply-to")[:_MAX_IDS_VALUE],
            {address.email.lower() for address in (sender, *to, *cc)},
        ),
        references=ids_in(" ".join(headers.get("references", ()))[:_MAX_IDS_VALUE], limits.references),
        subject=subject,
        sender=sender,
        to=to,
        cc=cc,
        date=date,
        body_raw=body_raw,
        body_normalized=normalized,
        body_html=content.html,
        segments=segments,
        headers=_other_headers(headers),
        trace=_trace(headers),
        claimed_date=charsets.printable(_first(headers, "date"))[:_MAX_CLAIMED_DATE] if problem else "",
        hidden_text=content.hidden,
        attachments=content.attachments,
        draft_mentions=find_mentions(f"{subject}\n{normalized}"),
        warnings=list(dict.fromkeys(warnings)),
        offset=raw.offset,
        index=raw.index,
        size=raw.size or len(raw.data),
    )


def _joined(content: Content, limits: Limits, warnings: list[str]) -> tuple[str, list[Segment]]:
    """Return the texts as one body with line ends, and the segments whose kind MIME defines."""
    if len(content.texts) == 1 and content.texts[0][1] is None:
        return content.texts[0][0], []
    body: list[str] = []
    known: list[Segment] = []
    size = 0
    for text, kind in content.texts:
        ended = text if text.endswith("\n") or not text else f"{text}\n"
        if size + len(ended) > limits.body_chars:
            warnings.append("body-truncated")
            break
        if kind is not None and ended:
            known.append(Segment(kind, size, size + len(ended)))
        body.append(ended)
        size += len(ended)
    return "".join(body), known


def _first(headers: Headers, name: str) -> str:
    values = headers.get(name)
    return values[0] if values else ""


def _sender(headers: Headers, warnings: list[str]) -> ParsedAddress:
    for name in ("from", "sender", "reply-to"):
        for value in headers.get(name, ()):
            if found := parse_addresses(unfold(value), 1):
                return found[0]
    warnings.append("missing-sender")
    return ParsedAddress("", "")


def _trace(headers: Headers) -> dict[str, list[str]]:
    trace = {
        name: [value[: _longest(name)] for value in headers[name][: _MAX_TRACE[name]]]
        for name in TRACE_FIELDS
        if name in headers
    }
    if signed := trace.get("dkim-signature"):  # The numbers mean nothing without the original bytes.
        trace["dkim-signature"] = [
            ";".join([tag for tag in value.split(";") if not tag.lstrip().startswith(_SIGNATURE)])
            for value in signed
        ]
    return trace


def _longest(trace_field: str) -> int:
    return MAX_RESULTS if trace_field == "authentication-results" else _MAX_TRACE_VALUE


_SIGNATURE = ("b=", "bh=", "h=", "v=", "c=", "x=", "q=", "z=")


def _other_headers(headers: Headers) -> dict[str, str]:
    kept: dict[str, str] = {}
    for name, values in headers.items():
        if name in _OWN_FIELDS or len(kept) >= _MAX_HEADERS:
            continue
        value = values[0]
        if len(values) > 1 or "\n" in value or "=?" in value:
            value = "\n".join([decode_words(unfold(value)) for value in values[:_MAX_REPEATS]])
        kept[name] = charsets.printable(value)[:_MAX_HEADER_VALUE]
    return kept
