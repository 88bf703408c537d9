"""Parse address lists and dates in header fields, as real mailers and archivers write them."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from shared.mail.charsets import decode_words, printable
from shared.mail.models import ParsedAddress

# The common case: a plain name and an address, with nothing to decode.
_PLAIN = re.compile(r"""\s*(?!['\s])([^<>()"@,:;=\\]*?)\s*<([^\s<>()"@,:;=\\]+)@([^\s<>()"@,:;=\\]+)>\s*""")
_BARE = re.compile(r"""\s*([^\s<>()"@,:;=\\]+)@([^\s<>()"@,:;=\\]+)\s*""")
_AT = re.compile(r"(?:\s+at\s+|\s*[\[({]\s*at\s*[\])}]\s*)", re.IGNORECASE)
_NO_BARE_NAME = re.compile(rf'[@<>()"]|{_AT.pattern}', re.IGNORECASE)
_DOT = re.compile(r"\s*(?:[\[({]\s*dot\s*[\])}]|\sdot\s)\s*", re.IGNORECASE)
_OBFUSCATED = re.compile(
    r"[\w.+=~-]{1,100}(?:\s+at\s+|\s*[\[({]\s*at\s*[\])}]\s*)[\w.-]{1,200}", re.IGNORECASE
)
_ESCAPED = re.compile(r"\\(.)")
_MAX_VALUE = 100_000
_MAX_CACHED = 500


def parse_addresses(value: str, limit: int = 1000) -> list[ParsedAddress]:
    """Return the addresses of a From, To or Cc field, which is unfolded but still encoded."""
    # Long runs of spaces are removed from a long value, because patterns would search from each space.
    found = _cached(value) if len(value) <= _MAX_CACHED else _parse(" ".join(value[:_MAX_VALUE].split()))
    return list(found[:limit])


def _parse(value: str) -> tuple[ParsedAddress, ...]:
    if simple := _PLAIN.fullmatch(value):
        return (ParsedAddress(" ".join(simple[1].split()), f"{simple[2]}@{simple[3].lower()}"),)
    if simple := _BARE.fullmatch(value):
        return (ParsedAddress("", f"{simple[1]}@{simple[2].lower()}"),)
    pieces = _with_comma_names(_split(value))
    if len(pieces) == 1:
        found = [_parse_one(pieces[0])]
    else:
        short = (_cached(piece) if len(piece) <= _MAX_CACHED else (_parse_one(piece),) for piece in pieces)
        found = [address for group in short for address in group]
    return tuple(address for address in found if address.name or address.email)


_cached = lru_cache(maxsize=4096)(_parse)


def _split(value: str) -> list[str]:
    """Split at commas and semicolons outside of quotes, comments and angle brackets. Unpack groups."""
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
    """Join `Smith, John <js@x.org>`, one person whose mailer omitted the quotes."""
    joined: list[str] = []
    for piece in pieces:
        first, angle, rest = piece.partition("<")
        if joined and angle and not _NO_BARE_NAME.search(joined[-1]):
            joined[-1] = f'"{joined[-1]}, {first.strip()}" <{rest}'
        else:
            joined.append(piece)
    return joined


def _parse_one(piece: str) -> ParsedAddress:
    rest, comments = _without_comments(piece)
    name, angle, inside = rest.rpartition("<")
    email, leftover = _clean_email(inside.split(">", 1)[0] if angle else rest)
    name = _clean_name(name if angle else "") or _clean_name(" ".join(comments))
    return ParsedAddress(name or leftover, email)


def _without_comments(piece: str) -> tuple[str, list[str]]:
    """Return the text without comments, and the comments. `(at)` is an obfuscated at sign, not a comment."""
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
    """Return the address, or an empty address and the text if it is not an address."""
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


_MONTH_NAMES = (
    "jan janv ene gen", "feb fév fev févr", "mar mär mrz mars maa", "apr avr abr", "may mai mei maj mag",
    "jun juin giu", "jul juil lug", "aug aoû aou ago", "sep sept set", "oct okt out ott", "nov",
    "dec dez déc dic",
)  # fmt: skip
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "bst": 60, "west": 60, "cet": 60, "met": 60, "mez": 60,
    "cest": 120, "mest": 120, "mesz": 120, "eet": 120, "eest": 180, "msk": 180, "msd": 240, "ist": 330,
    "sgt": 480, "hkt": 480, "jst": 540, "kst": 540, "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780,
    "nst": -210, "ndt": -150, "ast": -240, "adt": -180, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
    "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480, "hst": -600,
}  # fmt: skip
_CLOCK = r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d)(?:[.,]\d+)?)?"
# The usual form: Fri, 8 Dec 2023 15:19:20 -0800
_STANDARD = re.compile(
    r"(?:[A-Z][a-z]{2}, {1,2})?(\d{1,2}) ([A-Z][a-z]{2}) ((?:19|20)\d\d) "
    r"(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)(?!\d)"
)
# The same with two-digit years, zone names, other languages, or no seconds
_DAY_FIRST = re.compile(
    r"(?:[^\W\d]+\.?,?\s*)?(?P<day>\d{1,2})[\s-]+(?P<month>[^\W\d]{3,9})\.?,?[\s-]+"
    r"(?P<any_year>\d{2,4}),?\s+" + _CLOCK + r"\s*(?P<half>[AaPp][Mm])?"
    r"\s*(?:\(?\s*(?:GMT|UTC)?\s*(?P<zone>[+-]\s?\d{1,2}:?\d{2}|[A-Za-z]{1,5}\b))?"
)
# Thu Nov  1 11:19:12 2001, also with a zone before or after the year
_MONTH_FIRST = re.compile(
    r"(?:[^\W\d]+\.?,?\s+)?(?P<month>[^\W\d]{3,9})\.?\s+(?P<day>\d{1,2}),?\s+"
    r"(?:(?P<early_year>\d{4}),?\s+)?" + _CLOCK + r"\s*(?P<half>[AaPp][Mm])?"
    r"\s*(?P<zone>[+-]\d{4}|[A-Za-z]{1,5}(?=\s+\d))?\s*(?:[A-Za-z]{3,4}\s+)?(?P<year>\d{4}(?!\d))?"
    r"\s*(?P<late_zone>[+-]\d{4}|[A-Z]{3,4}\b)?"
)
_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[T\s]+"
    + _CLOCK
    + r"\s*(?P<zone>Z|[+-]\d\d:?\d\d|[A-Za-z]{1,5}\b)?"
)
_DAY_ONLY = re.compile(
    r"(?:[^\W\d]+,?\s*)?(?P<day>\d{1,2})[\s-]+(?P<month>[^\W\d]{3,9})\.?,?[\s-]+(?P<year>\d{4})\s*$"
)
_EARLIEST = datetime(1975, 1, 1, tzinfo=UTC)
_LATEST = datetime(2038, 1, 1, tzinfo=UTC)
"""Dates outside of this range are wrong: no list existed, or a 32-bit clock overflowed."""
_LONGEST_WAY, CLOCK_SKEW = timedelta(days=3_650), timedelta(days=2)
_CENTURY, _PIVOT, _TWO_DIGITS = 100, 70, 1000
_MAX_OFFSET = 16 * 60
_WIDEST = timedelta(minutes=_MAX_OFFSET)
_MAX_TEXT = 200
_NOON, _LEAP_SECOND = 12, 60


def best_date(declared: str, received: Iterable[str], envelope: str) -> tuple[datetime | None, str]:
    """Return the date and a warning: from Date, else the oldest plausible Received, else the From line.

    The sender writes Date, and the list's server writes the last Received field. A Date far from that is
    wrong.
    """
    date = parse_date(declared) if declared else None
    hops = [found for hop in received if (found := parse_date(hop.rpartition(";")[2]))]
    if date is not None and (not hops or hops[0] - _LONGEST_WAY <= date <= hops[0] + CLOCK_SKEW):
        return date, ""
    problem = "bad-date" if declared else "missing-date"
    hops = [hop for hop in hops if hop >= hops[0] - _LONGEST_WAY]
    if hops:
        return min(hops), f"{problem}:from-received"
    words = envelope.split()  # The date follows an address of any number of words.
    for start in range(1, min(len(words), 8)):
        if (found := parse_date(" ".join(words[start:]))) is not None:
            return found, f"{problem}:from-envelope"
    return None, f"{problem}:none"


def parse_date(text: str) -> datetime | None:
    """Return the date in UTC, or None if there is no plausible date."""
    if (match := _STANDARD.match(text)) and (month := _MONTHS.get(match[2].lower())):
        day, _, year, hour, minute, second, sign, zone_hour, zone_minute = match.groups()
        try:
            local = datetime(int(year), month, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
        except ValueError:
            return _careful(text)
        offset = timedelta(hours=int(zone_hour), minutes=int(zone_minute))
        found = local + offset if sign == "-" else local - offset
        if _EARLIEST <= found <= _LATEST and offset <= _WIDEST:
            return found
    return _careful(text)


def _careful(text: str) -> datetime | None:
    text = " ".join(text[:_MAX_TEXT].split())
    for pattern in (_DAY_FIRST, _MONTH_FIRST, _ISO, _DAY_ONLY):
        match = pattern.match(text)
        try:
            found = _build(match.groupdict()) if match else None
        except (LookupError, ValueError, OverflowError):
            continue
        if found is not None and _EARLIEST <= found <= _LATEST:
            return found
    return None


def _build(given: Mapping[str, str | None]) -> datetime:
    any_year, month = given.get("any_year"), given["month"] or ""
    year = _year(any_year) if any_year else int(given.get("early_year") or given["year"] or 0)
    hour, half = int(given.get("hour") or 0), given.get("half")
    if half:
        hour = hour % _NOON + (_NOON if half.lower() == "pm" else 0)
    # Only a leap second is 60.
    second = int(given.get("second") or 0)
    second -= second == _LEAP_SECOND
    zone = given.get("zone") or given.get("late_zone")
    offset = timezone(timedelta(minutes=_offset(zone))) if zone else UTC
    # An unknown month raises KeyError.
    names = (month[:length].lower() for length in (3, 4, 5))
    number = int(month) if month.isdecimal() else _MONTHS[next(filter(_MONTHS.get, names), month)]
    minute = int(given.get("minute") or 0)
    return datetime(year, number, int(given["day"] or 0), hour, minute, second, tzinfo=offset).astimezone(UTC)


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return _ZONES.get(zone.lower(), 0)
    digits = zone[1:].replace(":", "").strip().rjust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    # An offset that no place on earth has is ignored.
    return 0 if minutes > _MAX_OFFSET else (-minutes if zone[0] == "-" else minutes)


def _year(text: str) -> int:
    year = int(text)
    if len(text) > len("126") and year < _TWO_DIGITS:
        raise ValueError(f"no mail is of the year {text}")
    if year < _CENTURY:
        return year + (2000 if year < _PIVOT else 1900)
    # A year of 100 or more comes from a broken clock that counts from 1900.
    return year + 1900 if year < _TWO_DIGITS else year
