"""The header block of a message or a part: fields, parameters and message ids."""

import re
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from shared.mail import charsets
from shared.mail.charsets import decode_words

_NAME = re.compile(r"[!-9;-~]+[ \t]*\Z")
_FIELD = re.compile(r"[!-9;-~]{1,200}[ \t]*:")
_LINE_END = re.compile(r"\n(?![ \t])")
_FOLD = re.compile(r"\n[ \t]+")
_PARAMETER = re.compile(r""";\s*([^\s=;"]{1,200})\s*=\s*("(?:[^"\\]|\\.)*"?|[^;]*)""", re.DOTALL)
_ID = re.compile(r"<([^<>]{1,2000})>")
_PLAIN_ID = re.compile(r"<[!-;=?-~]{1,900}>")
_BARE_ID = re.compile(r"[^\s<>@,;\"']{1,300}@[^\s<>@,;\"']{1,300}")
_SPACE = re.compile(r"\s+")
_COMMENT_OR_QUOTED = re.compile(r'\([^()]*\)|"[^"]*"')
_CONTINUED = re.compile(r"^(.+?)\*(\d{1,3})?(\*)?$")
TRACE_FIELDS = ("received", "authentication-results", "arc-authentication-results", "dkim-signature")
"""The transport and authentication fields, which are kept apart from the other headers."""
# Large fields that no code reads. The original bytes have them.
_BULK_FIELDS = frozenset(
    {"arc-seal", "arc-message-signature", "received-spf",
     "domainkey-signature", "x-google-dkim-signature", "x-gm-message-state", "x-received",
     "x-google-smtp-source", "x-me-sender", "x-me-received", "x-me-proxy", "x-me-proxy-cause",
     "x-ms-exchange-antispam-messagedata", "x-ms-exchange-antispam-messagedata-0", "x-microsoft-antispam",
     "x-microsoft-antispam-message-info", "x-forefront-antispam-report", "x-proofpoint-virus-version",
     "x-proofpoint-spam-details", "x-spam-status", "x-spam-report", "x-ui-out-filterresults",
     "ui-outboundreport", "x-pobox-relay-id", "x-provags-id", "x-cmae-envelope", "x-ui-sender-class",
     "feedback-id", "x-sib-id", "x-mailin-eid", "autocrypt", "precedence", "list-subscribe",
     "list-unsubscribe", "list-unsubscribe-post", "list-help", "list-owner"}
)  # fmt: skip
_ESCAPED = re.compile(r"\\(.)")
_MAX_NAME = 200
_MAX_ID = 900
_MAX_PARAMETERS = 8000

Headers = dict[str, list[str]]
"""Lower-case names to values, in order. The values are folded (see `unfold`) and still encoded."""


def read_headers(data: bytes, header_limit: int) -> tuple[Headers, bytes, list[str]]:
    """Return the fields, the body (from the first text that is not a header) and warnings."""
    if data.startswith(b"\n"):
        return {}, data[1:], []
    end = data.find(b"\n\n")
    block, body = (data, b"") if end < 0 else (data[: end + 1], data[end + 2 :])
    headers, rest, warnings = _parse_headers(block[:header_limit])
    return headers, rest.encode("utf-8", "replace") + b"\n" + body if rest else body, warnings


def _parse_headers(block: bytes) -> tuple[Headers, str, list[str]]:
    """Return the fields, the text from the first line that cannot be a header, and warnings."""
    warnings: list[str] = []
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError:
        text, _ = charsets.decode(block)
        warnings.append("raw-8bit-header")
    headers: Headers = {}
    names, lines = _names, _LINE_END.split(text)
    for number, line in enumerate(lines):
        raw_name, colon, value = line.partition(":")
        name = names.get(raw_name) or _field_name(raw_name)
        if name == _BULK:
            continue
        if name and colon:
            headers.setdefault(name, []).append(value.strip())
            continue
        if not _may_be_skipped(lines, number):
            warnings.append("missing-blank-line")
            return headers, "\n".join(lines[number:]), warnings
        warnings += ["malformed-header"] if line else []
    return headers, "", warnings


_BULK = ":"
"""The name of fields that are not kept."""
_names: dict[str, str] = {}
"""Header names to lower case. There are few names, and each is looked up millions of times."""
_MAX_NAMES = 4096


def _field_name(raw: str) -> str:
    """Return the name in lower case, `_BULK` for a field that is not kept, or "" if it is not a name."""
    if len(raw) > _MAX_NAME or not _NAME.match(raw):
        return ""
    name = raw.rstrip().lower()
    if len(_names) >= _MAX_NAMES:
        _names.clear()
    return _names.setdefault(raw, _BULK if name in _BULK_FIELDS else name)


def _may_be_skipped(lines: list[str], number: int) -> bool:
    """Return whether a line that is not a header is damage in the block, and not the start of the body."""
    line = lines[number]
    if not line.strip() or line.startswith((">From ", "From ")):
        return True
    return number + 1 < len(lines) and bool(_FIELD.match(lines[number + 1]))


def unfold(value: str) -> str:
    return _FOLD.sub(" ", value) if "\n" in value else value


def text_of(headers: Headers, name: str) -> str:
    """Return the decoded text of the first such field, with single spaces."""
    values = headers.get(name)
    return charsets.printable(" ".join(decode_words(unfold(values[0])).split())) if values else ""


def ids_in(value: str, limit: int) -> list[str]:
    """Return the distinct message ids of References. Beyond `limit`, keep the root and the nearest ids."""
    found = _PLAIN_ID.findall(value)
    if len(found) != value.count("<") or not found:
        found = [_clean_id(inner) for inner in _ID.findall(value)]
        if not found and "@" in value:
            found = [_clean_id(bare) for bare in _BARE_ID.findall(value)]
    ids = list(dict.fromkeys(filter(None, found)))
    return ids if len(ids) <= limit else [ids[0], *ids[len(ids) - limit + 1 :]]


def _clean_id(inner: str) -> str:
    inner = _SPACE.sub("", inner)
    return f"<{charsets.printable(inner)}>" if inner and len(inner) <= _MAX_ID else ""


def one_id(value: str) -> str | None:
    """Return the id of a Message-ID field, with brackets even if the field has none."""
    ids = ids_in(value, 10)
    if ids:
        return ids[0]
    bare = _SPACE.sub("", value).strip("<>")
    return _clean_id(bare) or None if bare else None


def parent_ids(value: str, addresses: Collection[str]) -> list[str]:
    """Return the ids of In-Reply-To, which in old mail is prose with an id, a date and addresses."""
    if _PLAIN_ID.fullmatch(value) and value[1:-1].lower() not in addresses:
        return [value]
    plain = _COMMENT_OR_QUOTED.sub(" ", value) if "(" in value or '"' in value else value
    ids = [id_ for id_ in ids_in(plain, 10) if id_.strip("<>").lower() not in addresses]
    return ids[-1:] if len(ids) > 1 and _ID.sub("", plain).strip(" ,;\n\t") else ids


def parameters(value: str) -> tuple[str, dict[str, str]]:
    """Return the main value of a structured header in lower case, and its parameters (RFC 2045 and 2231)."""
    return _parameters(value[:_MAX_PARAMETERS])


@lru_cache(maxsize=1024)
def _parameters(value: str) -> tuple[str, dict[str, str]]:
    value = unfold(value)
    main = value.split(";", 1)[0].strip().lower()
    plain: dict[str, str] = {}
    pieces: dict[str, dict[int, tuple[str, bool]]] = {}
    for name, raw in _PARAMETER.findall(value):
        text = raw.strip()
        if text.startswith('"'):
            text = _ESCAPED.sub(r"\1", text[1:-1] if len(text) > 1 and text.endswith('"') else text[1:])
        continued = _CONTINUED.match(name.lower())
        if continued and (continued[2] or name.endswith("*")):
            number = int(continued[2] or 0)
            pieces.setdefault(continued[1], {})[number] = (text, name.endswith("*"))
        else:
            plain.setdefault(name.lower(), decode_words(text))
    for name, parts in pieces.items():
        plain[name] = _rfc2231(parts)
    return main, plain


def _rfc2231(parts: dict[int, tuple[str, bool]]) -> str:
    charset = ""
    data = b""
    for number in sorted(parts):
        text, encoded = parts[number]
        if encoded and number == min(parts) and text.count("'") >= 2:  # noqa: PLR2004 -- charset'language'text
            charset, _, text = text.split("'", 2)
        data += unquote_to_bytes(text) if encoded else text.encode("utf-8", "replace")
    return charsets.decode(data, charset or "utf-8")[0]
