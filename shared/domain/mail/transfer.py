"""Content-Transfer-Encoding undone, also where it is broken."""

import binascii
import re

_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=\s]")
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]{1,2000}={0,3}\s*")
_SOFT_BREAK_WITH_SPACE = re.compile(rb"=[ \t]{1,20}\n")
_UU_BEGIN = re.compile(rb"(?m)^begin [0-7]{3,4} [^\n]*\n")
_QUANTUM = 4


def decode_transfer(data: bytes, encoding: str) -> tuple[bytes, bytes, str]:
    """The bytes, text that was appended to them unencoded (a list's footer), and a warning."""
    encoding = encoding.strip().strip("\"'").lower()
    if encoding in _IDENTITY:
        return data, b"", ""
    if encoding == "quoted-printable":
        return _quoted_printable(data), b"", ""
    if encoding == "base64":
        return _base64(data)
    if encoding in _UUENCODE:
        return _uuencode(data)
    return data, b"", f"unknown-transfer-encoding:{encoding[:40]}"


_IDENTITY = frozenset({"", "7bit", "8bit", "binary", "7-bit", "8-bit", "none", "7bits", "8bits"})
_UUENCODE = frozenset({"x-uuencode", "uuencode", "x-uue", "uue"})


def _quoted_printable(data: bytes) -> bytes:
    if b"= " in data or b"=\t" in data:
        data = _SOFT_BREAK_WITH_SPACE.sub(b"=\n", data)
    return binascii.a2b_qp(data)


def _base64(data: bytes) -> tuple[bytes, bytes, str]:
    """Mailman appends its footer to an encoded body as plain text: base64 ends where a line cannot be any."""
    tail, warning = b"", ""
    if _NOT_BASE64.search(data):
        data, tail = _cut_at_plain_text(data)
        if not data:
            return tail, b"", "not-base64"
        warning = "text-after-base64"
    return _base64_bytes(data), tail, warning


def _cut_at_plain_text(data: bytes) -> tuple[bytes, bytes]:
    end = 0
    for line in data.splitlines(keepends=True):
        if line.strip() and not _BASE64_LINE.fullmatch(line):
            break
        end += len(line)
    return data[:end].strip(), data[end:]


def _base64_bytes(data: bytes) -> bytes:
    kept = b"".join(data.split())
    try:
        return binascii.a2b_base64(kept)
    except binascii.Error:
        kept = kept.replace(b"=", b"")
        kept = kept[: len(kept) - (len(kept) % _QUANTUM == 1)]
        return binascii.a2b_base64(kept + b"=" * (-len(kept) % _QUANTUM))


def _uuencode(data: bytes) -> tuple[bytes, bytes, str]:
    begin = _UU_BEGIN.search(data)
    if begin is None:
        return data, b"", "not-uuencode"
    out: list[bytes] = []
    for line in data[begin.end() :].splitlines():
        if line in {b"end", b"`", b" ", b""}:
            break
        try:
            out.append(binascii.a2b_uu(line))
        except binascii.Error:
            # Trailing rubbish on the line: its first character says how many bytes count.
            wanted = (((line[0] - 32) & 63) * 4 + 5) // 3
            out.append(_uu_line(line[:wanted]))
    return b"".join(out), b"", ""


def _uu_line(line: bytes) -> bytes:
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        return b""
