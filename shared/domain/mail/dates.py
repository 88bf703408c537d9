"""Dates of mail: the standard's, the obsolete, the broken. Always UTC, never guessed."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan janv ene gen",
            "feb fév fev févr",
            "mar mär mrz mars maa",
            "apr avr abr",
            "may mai mei maj mag",
            "jun juin giu",
            "jul juil lug",
            "aug aoû aou ago",
            "sep sept set",
            "oct okt out ott",
            "nov",
            "dec dez déc dic",
        ),
        start=1,
    )
    for name in names.split()
}
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "bst": 60, "west": 60, "cet": 60, "met": 60, "mez": 60,
    "cest": 120, "mest": 120, "mesz": 120, "eet": 120, "eest": 180, "msk": 180, "msd": 240, "ist": 330,
    "sgt": 480, "hkt": 480, "jst": 540, "kst": 540, "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780,
    "nst": -210, "ndt": -150, "ast": -240, "adt": -180, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
    "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480, "hst": -600,
}  # fmt: skip
_CLOCK = r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d)(?:[.,]\d+)?)?"
# What nearly all mail has: Fri, 8 Dec 2023 15:19:20 -0800
_STANDARD = re.compile(
    r"(?:[A-Z][a-z]{2}, {1,2})?(\d{1,2}) ([A-Z][a-z]{2}) ((?:19|20)\d\d) "
    r"(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)(?!\d)"
)
# The same with all that mailers do to it: two-digit years, names of zones, other languages, no seconds
_DAY_FIRST = re.compile(
    r"(?:[^\W\d]+\.?,?\s*)?(\d{1,2})[\s-]+([^\W\d]{3,9})\.?,?[\s-]+(\d{2,4}),?\s+"
    + _CLOCK
    + r"\s*([AaPp][Mm])?"
    r"\s*(?:\(?\s*(?:GMT|UTC)?\s*([+-]\s?\d{1,2}:?\d{2}|[A-Za-z]{1,5}\b))?"
)
# Thu Nov  1 11:19:12 2001, also with a zone before or after the year
_MONTH_FIRST = re.compile(
    r"(?:[^\W\d]+\.?,?\s+)?([^\W\d]{3,9})\.?\s+(\d{1,2}),?\s+(?:(\d{4}),?\s+)?" + _CLOCK + r"\s*([AaPp][Mm])?"
    r"\s*([+-]\d{4}|[A-Za-z]{1,5}(?=\s+\d))?\s*(?:[A-Za-z]{3,4}\s+)?(\d{4}(?!\d))?\s*([+-]\d{4}|[A-Z]{3,4}\b)?"
)
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T\s]+" + _CLOCK + r"\s*(Z|[+-]\d\d:?\d\d|[A-Za-z]{1,5}\b)?")
_DAY_ONLY = re.compile(r"(?:[^\W\d]+,?\s*)?(\d{1,2})[\s-]+([^\W\d]{3,9})\.?,?[\s-]+(\d{4})\s*$")
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)
_CENTURY, _PIVOT, _TWO_DIGITS = 100, 70, 1000
_MAX_OFFSET = 16 * 60
_WIDEST = timedelta(minutes=_MAX_OFFSET)
_MAX_TEXT = 200
_NOON, _LEAP_SECOND = 12, 60


def best_date(declared: str, received: Iterable[str], envelope: str) -> tuple[datetime | None, str]:
    """The date and a warning: from Date, else the oldest Received that makes sense, else the From line."""
    date = parse_date(declared) if declared else None
    if date is not None:
        return date, ""
    problem = "bad-date" if declared else "missing-date"
    hops = [found for hop in received if (found := parse_date(hop.rpartition(";")[2]))]
    if hops:
        return min(hops), f"{problem}:from-received"
    found = _from_line_date(envelope)
    return found, f"{problem}:from-envelope" if found else f"{problem}:none"


def _from_line_date(envelope: str) -> datetime | None:
    """The From line's date comes after an address that may have any number of words."""
    words = envelope.split()
    for start in range(1, min(len(words), 8)):
        if (found := parse_date(" ".join(words[start:]))) is not None:
            return found
    return None


def parse_date(text: str) -> datetime | None:
    """A date in UTC, or None where there is none that a mail can have."""
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
    for read in (_day_first, _month_first, _iso, _day_only):
        try:
            found = read(text)
        except (ValueError, OverflowError):
            continue
        if found is not None and _EARLIEST <= found <= _LATEST:
            return found
    return None


def _day_first(text: str) -> datetime | None:
    match = _DAY_FIRST.match(text)
    if match is None:
        return None
    day, month, year, hour, minute, second, half, zone = match.groups()
    return _build(_year(year), _month(month), int(day), (hour, minute, second, half), zone)


def _month_first(text: str) -> datetime | None:
    match = _MONTH_FIRST.match(text)
    if match is None:
        return None
    month, day, early_year, hour, minute, second, half, zone, year, late_zone = match.groups()
    if not (year or early_year):
        return None
    return _build(
        int(early_year or year), _month(month), int(day), (hour, minute, second, half), zone or late_zone
    )


def _iso(text: str) -> datetime | None:
    match = _ISO.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    return _build(int(year), int(month), int(day), (hour, minute, second, None), zone)


def _day_only(text: str) -> datetime | None:
    match = _DAY_ONLY.match(text)
    if match is None:
        return None
    return _build(int(match[3]), _month(match[2]), int(match[1]), ("0", "0", None, None), None)


_Clock = tuple[str, str, str | None, str | None]


def _build(year: int, month: int, day: int, clock: _Clock, zone: str | None) -> datetime:
    hour = int(clock[0])
    if clock[3]:
        hour = hour % _NOON + (_NOON if clock[3].lower() == "pm" else 0)
    # A leap second, and nothing else, may be 60.
    second = int(clock[2] or 0)
    second -= second == _LEAP_SECOND
    offset = timezone(timedelta(minutes=_offset(zone))) if zone else UTC
    return datetime(year, month, day, hour, int(clock[1]), second, tzinfo=offset).astimezone(UTC)


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return _ZONES.get(zone.lower(), 0)
    digits = zone[1:].replace(":", "").strip().rjust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    # An offset that no place on earth has says nothing about the time.
    return 0 if minutes > _MAX_OFFSET else (-minutes if zone[0] == "-" else minutes)


def _year(text: str) -> int:
    year = int(text)
    if year < _CENTURY:
        return year + (2000 if year < _PIVOT else 1900)
    # 100 and up: a year that a broken clock counted from 1900.
    return year + 1900 if year < _TWO_DIGITS else year


def _month(name: str) -> int:
    name = name.lower()
    for length in (3, 4, 5):
        if name[:length] in _MONTHS:
            return _MONTHS[name[:length]]
    raise ValueError(f"no month is called {name}")
