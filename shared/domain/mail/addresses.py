"""Address lists, as real mailers and archivers write them.

`a@b (Alan Cox)`, `"Smith, John" <js@x.org>`, `Smith, John <js@x.org>`, `js at x.org (John)`,
groups, comments.
"""

import re
from functools import lru_cache

from shared.domain.mail.charsets import decode_words, printable
from shared.domain.mail.models import ParsedAddress

# The common case: one plain name, one address, nothing to decode.
_PLAIN = re.compile(r"""\s*(?!['\s])([^<>()"@,:;=\\]*?)\s*<([^\s<>()"@,:;=\\]+)@([^\s<>()"@,:;=\\]+)>\s*""")
_BARE = re.compile(r"""\s*([^\s<>()"@,:;=\\]+)@([^\s<>()"@,:;=\\]+)\s*""")
_AT = re.compile(r"(?:\s+at\s+|\s*[\[({]\s*at\s*[\])}]\s*)", re.IGNORECASE)
_DOT = re.compile(r"\s*(?:[\[({]\s*dot\s*[\])}]|\sdot\s)\s*", re.IGNORECASE)
_OBFUSCATED = re.compile(
    r"[\w.+=~-]{1,100}(?:\s+at\s+|\s*[\[({]\s*at\s*[\])}]\s*)[\w.-]{1,200}", re.IGNORECASE
)
_ESCAPED = re.compile(r"\\(.)")
_MAX_VALUE = 100_000
_MAX_CACHED = 500


def parse_addresses(value: str, limit: int = 1000) -> list[ParsedAddress]:
    """The addresses of a From, To or Cc field, unfolded but still encoded."""
    # A long one without its runs of spaces: patterns would look for a run's end from each of its spaces.
    found = _cached(value) if len(value) <= _MAX_CACHED else _parse(" ".join(value[:_MAX_VALUE].split()))
    return list(found[:limit])


@lru_cache(maxsize=4096)
def _cached(value: str) -> tuple[ParsedAddress, ...]:
    return _parse(value)


def _parse(value: str) -> tuple[ParsedAddress, ...]:
    if simple := _PLAIN.fullmatch(value):
        return (ParsedAddress(" ".join(simple[1].split()), f"{simple[2]}@{simple[3].lower()}"),)
    if simple := _BARE.fullmatch(value):
        return (ParsedAddress("", f"{simple[1]}@{simple[2].lower()}"),)
    pieces = _with_comma_names(_split(value))
    if len(pieces) == 1:
        found = [_one(pieces[0])]
    else:
        found = [address for piece in pieces for address in _piece(piece)]
    return tuple(address for address in found if address.name or address.email)


def _piece(piece: str) -> tuple[ParsedAddress, ...]:
    return _cached(piece) if len(piece) <= _MAX_CACHED else (_one(piece),)


def _split(value: str) -> list[str]:
    """Cut at commas and semicolons outside quotes, comments and angle brackets; groups are opened."""
    pieces: list[str] = []
    start = depth = 0
    quoted = angle = False
    for match in _DELIMITER.finditer(value):
        char = match[0]
        if len(char) > 1:
            continue
        if char == '"' and not depth:
            quoted = not quoted and '"' in value[match.end() : match.end() + 1000]
        elif quoted:
            continue
        elif char in "()":
            depth = max(0, depth + (1 if char == "(" else -1))
        elif depth:
            continue
        elif char in "<>":
            angle = char == "<" and ">" in value[match.end() : match.end() + 1000]
        elif not angle:
            pieces.append("" if char == ":" else value[start : match.start()])
            start = match.end()
    pieces.append(value[start:])
    return [stripped for piece in pieces if (stripped := piece.strip())]


_DELIMITER = re.compile(r'\\.|["()<>,;:]')


def _with_comma_names(pieces: list[str]) -> list[str]:
    """`Smith, John <js@x.org>` is one person whose mailer forgot the quotes."""
    joined: list[str] = []
    for piece in pieces:
        if joined and "<" in piece and _is_bare_name(joined[-1]):
            joined[-1] = f'"{joined[-1]}, {piece.split("<", 1)[0].strip()}" <{piece.split("<", 1)[1]}'
        else:
            joined.append(piece)
    return joined


def _is_bare_name(piece: str) -> bool:
    return not any(char in piece for char in '@<>()"') and not _AT.search(piece)


def _one(piece: str) -> ParsedAddress:
    rest, comments = _without_comments(piece)
    name, angle, inside = rest.rpartition("<")
    email = inside.split(">", 1)[0] if angle else rest
    if not angle:
        name = ""
    name = _clean_name(name) or _clean_name(" ".join(comments))
    email, leftover = _clean_email(email)
    return ParsedAddress(name or leftover, email)


def _without_comments(piece: str) -> tuple[str, list[str]]:
    """The text outside of parentheses, and the comments. `(at)` is an obfuscated at sign, no comment."""
    if "(" not in piece:
        return piece, []
    piece = re.sub(r"\(\s*(at|dot)\s*\)", r"[\1]", piece, flags=re.IGNORECASE)
    outside: list[str] = []
    comments: list[str] = []
    depth, quoted, start = 0, False, 0
    for match in re.finditer(r'\\.|["()]', piece):
        char = match[0]
        if char == '"' and not depth:
            quoted = not quoted
        elif char == "(" and not quoted:
            if depth == 0:
                outside.append(piece[start : match.start()])
                start = match.end()
            depth += 1
        elif char == ")" and depth:
            depth -= 1
            if depth == 0:
                comments.append(piece[start : match.start()])
                start = match.end()
    (comments if depth else outside).append(piece[start:])
    return "".join(outside), comments


def _clean_name(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    if '"' in text or "\\" in text:
        text = _ESCAPED.sub(r"\1", text.replace('\\"', "\x01").replace('"', "")).replace("\x01", '"')
    return printable(" ".join(decode_words(text).split())).strip("'\" ") if text else ""


def _clean_email(text: str) -> tuple[str, str]:
    """The address, and what stood there instead if it is none."""
    text = text.strip().strip("'\"")
    if "dot" in text.lower():
        text = _DOT.sub(".", text)
    if "@" not in text and (hidden := _OBFUSCATED.search(text)):
        text = _AT.sub("@", hidden[0], count=1)
    elif "@" not in text:
        return "", _clean_name(text)
    text = "".join(text.split())
    local, _, domain = text.rpartition("@")
    return printable(f"{local}@{domain.lower()}"), ""
