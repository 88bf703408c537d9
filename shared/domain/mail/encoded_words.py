"""Encoded words in headers (RFC 2047), as real mailers write them."""

import base64
import binascii
import re

from shared.domain.mail import charsets

# Bounded, so that a header full of beginnings cannot cost the square of its length.
_WORD = re.compile(r"=\?([\w.:+-]{1,60})(?:\*[\w-]{0,20})?\?([bBqQ])\?([^\n]{0,2000}?)\?=", re.ASCII)
_BETWEEN = re.compile(r"\s*")


def decode_words(value: str) -> str:
    """A header's text with its encoded words decoded; what is no encoded word stays as it is."""
    if "=?" not in value:
        return value
    out: list[str] = []
    end = 0
    charset, pending = "", b""
    for match in _WORD.finditer(value):
        gap = value[end : match.start()]
        adjacent = end > 0 and _BETWEEN.fullmatch(gap)
        # A character may be cut in two by the word's end, so bytes of one charset are joined first.
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
    return charsets.decode(data, charset)[0] if data else ""


def _word_bytes(encoding: str, text: str) -> bytes:
    if encoding in "bB":
        return _base64(text)
    return binascii.a2b_qp(text.replace(" ", "_").encode("utf-8", "replace"), header=True)


def _base64(text: str) -> bytes:
    kept = re.sub(r"[^A-Za-z0-9+/]", "", text)
    kept = kept[: len(kept) - 1] if len(kept) % 4 == 1 else kept
    return base64.b64decode(kept + "=" * (-len(kept) % 4))
