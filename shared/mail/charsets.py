"""Decode bytes of a correct, wrong or missing charset to storable text, and encoded words (RFC 2047)."""

import base64
import binascii
import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    import chardet
else:
    chardet = lazy("chardet")  # A reader process starts sooner, and most mail declares its charset.

_ALIASES = {
    alias: codec
    for codec, aliases in {
        "cp1252": "iso-8859-1 iso8859-1 iso_8859-1 latin-1 latin1 ansi x-ansi x-user-defined",
        "latin-1": "ansi_x3.110-1983",
        "cp850": "cp-850",
        "cp932": "shift_jis shift-jis x-sjis",
        "cp949": "euc-kr ks_c_5601 ks_c_5601-1987 ks_c_5601-1989",
        "cp1254": "iso-8859-9",
        "gb18030": "gb2312 gb_2312-80 gbk",
        "iso-8859-8": "iso-8859-8-i iso-8859-8-e",
        "iso2022_jp_ext": "iso-2022-jp",
        "mac-roman": "x-mac-roman macintosh",
        "us-ascii": "ascii",
        "utf-7": "unicode-1-1-utf-7",
        "utf-8": "unicode-1-1-utf-8 utf8mb4 utf-8-sig",
    }.items()
    for alias in aliases.split()
}
# Codecs that transform instead of decode, or that need quadratic time.
_REFUSED = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"})
_DETECT_BYTES = 20_000
_UNENCODABLE = re.compile("[\x00\ud800-\udfff]")
# The charsets that mail without a known charset uses in practice. Fewer candidates make fewer mistakes.
_PLAUSIBLE = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "iso-8859-2", "koi8-r"),
    *("cp932", "euc-jp", "gb18030", "big5", "cp949", "tis-620"),
)
# Short western texts fit several code pages. Another code page must be clearly more likely.
_WESTERN = "cp1252"
_CLEARLY = 2
_SINGLE_BYTE = re.compile(r"ascii|us-ascii|cp\d+|iso8859|koi8|mac-|mac_|tis", re.IGNORECASE)


@lru_cache(maxsize=512)
def _codec(charset: str) -> str | None:
    """Return the name of Python's codec for a charset, or None if it does not decode text."""
    name = charset.strip().strip("'\"").lower()
    name = _ALIASES.get(name, name)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    # Only the codec registry knows this, and has no public name for it.
    is_text: bool = info._is_text_encoding  # noqa: SLF001
    if not is_text or info.name.replace("-", "_") in _REFUSED:
        return None
    return _ALIASES.get(info.name, info.name)


def decode(data: bytes, charset: str = "") -> tuple[str, str]:
    """Return the text, and a warning if the declared charset was wrong (else an empty string)."""
    if data.isascii() and b"\x1b" not in data and not _is_wide(charset):
        return printable(data.decode("ascii")), ""
    codec = _codec(charset) if charset else None
    if codec is None:
        return _detected(data), (f"unknown-charset:{charset[:40]}" if charset else "undeclared-charset")
    if _SINGLE_BYTE.match(codec) and (text := _as_utf8(data)) is not None:
        return text, f"charset-mismatch:{charset[:40]}"
    try:
        return printable(data.decode(codec)), ""
    except (UnicodeError, ValueError):
        return _decode_damaged(data, codec), f"bad-bytes-for-charset:{charset[:40]}"


@lru_cache(maxsize=512)
def _is_wide(charset: str) -> bool:
    """Return whether ASCII bytes can mean other characters than ASCII in this charset."""
    codec = _codec(charset) or ""
    return codec.startswith(("utf-16", "utf-32", "utf-7", "hz", "iso2022"))


def _as_utf8(data: bytes) -> str | None:
    """Return the text if the bytes are valid UTF-8, which text in another charset hardly ever is."""
    try:
        return printable(data.decode("utf-8"))
    except UnicodeDecodeError:
        return None


def _decode_damaged(data: bytes, codec: str) -> str:
    """Decode text that is invalid in its charset: in another that fits, or with replacement characters."""
    if _SINGLE_BYTE.match(codec):
        return _detected(data) if codec in {"ascii", "us-ascii"} else printable(data.decode("latin-1"))
    text = data.decode(codec, errors="replace")
    if codec == "utf-8" and text.replace("\ufffd", "").isascii():
        # No character beyond ASCII was valid, so the text is not UTF-8.
        return _detected(data)
    return printable(text)


def _detected(data: bytes) -> str:
    if (text := _as_utf8(data)) is not None:
        return text
    likely = {
        found["encoding"].lower().replace("windows-", "cp"): found["confidence"]
        for found in chardet.detect_all(data[:_DETECT_BYTES], include_encodings=_PLAUSIBLE)
        if found["encoding"]
    }
    best = max(likely, key=likely.__getitem__, default=_WESTERN)
    is_clear = likely.get(best, 0) > _CLEARLY * likely.get(_WESTERN, 0)
    try:
        return printable(data.decode(best if is_clear else _WESTERN))
    except (UnicodeError, LookupError):
        return printable(data.decode("latin-1"))


def printable(text: str) -> str:
    """Return the text without NULs and lone surrogates, which document stores reject."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNENCODABLE.sub("\ufffd", text) if _UNENCODABLE.search(text) else text


# Limited lengths, so that a header with many beginnings does not take quadratic time.
_WORD = re.compile(r"=\?([\w.:+-]{1,60})(?:\*[\w-]{0,20})?\?([bBqQ])\?([^\n]{0,2000}?)\?=", re.ASCII)
_BETWEEN = re.compile(r"\s*")


def decode_words(value: str) -> str:
    """Decode the encoded words in a header's text. Other text is unchanged."""
    if "=?" not in value:
        return value
    out: list[str] = []
    end = 0
    charset, pending = "", b""
    for match in _WORD.finditer(value):
        gap = value[end : match.start()]
        adjacent = end > 0 and _BETWEEN.fullmatch(gap)
        # A character may be split between two words, so the bytes of words in one charset are joined first.
        if not (adjacent and match[1].lower() == charset):
            out.append(_flush(pending, charset))
            charset, pending = match[1].lower(), b""
            if not adjacent:
                out.append(gap)
        pending += _word_bytes(match[2], match[3])
        end = match.end()
    out.append(_flush(pending, charset))
    out.append(value[end:])
    return "".join(out)


def _flush(data: bytes, charset: str) -> str:
    return decode(data, charset)[0] if data else ""


def _word_bytes(encoding: str, text: str) -> bytes:
    if encoding in "qQ":
        return binascii.a2b_qp(text.replace(" ", "_").encode("utf-8", "replace"), header=True)
    kept = re.sub(r"[^A-Za-z0-9+/]", "", text)
    kept = kept[: len(kept) - 1] if len(kept) % 4 == 1 else kept
    return base64.b64decode(kept + "=" * (-len(kept) % 4))
