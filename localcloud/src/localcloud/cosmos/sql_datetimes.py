"""The date and time functions of Cosmos SQL, in ticks of 100 nanoseconds since 1970."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from localcloud.cosmos.sql_builtins import Builtins
from localcloud.cosmos.sql_values import UNDEFINED

TICKS_PER_SECOND = 10_000_000
_TICKS_PER_MILLISECOND = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"\.(\d{1,7})\d*(?=$|Z|[+-])")
_NAMES = {
    "year": ("year", "yyyy", "yy"),
    "month": ("month", "mm", "m"),
    "day": ("day", "dd", "d"),
    "hour": ("hour", "hh"),
    "minute": ("minute", "mi", "n"),
    "second": ("second", "ss", "s"),
    "millisecond": ("millisecond", "ms"),
    "microsecond": ("microsecond", "mcs"),
    "nanosecond": ("nanosecond", "ns"),
}
_PARTS = {name: part for part, names in _NAMES.items() for name in names}
# In hundredths of a tick, because a nanosecond is less than a tick.
_SIZES = {
    "day": 86_400 * TICKS_PER_SECOND * 100,
    "hour": 3_600 * TICKS_PER_SECOND * 100,
    "minute": 60 * TICKS_PER_SECOND * 100,
    "second": TICKS_PER_SECOND * 100,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
    "nanosecond": 1,
}


def _whole(number: float) -> int:
    if number != int(number):
        raise ValueError(number)
    return int(number)


def _part(name: str) -> str:
    if name.lower() not in _PARTS:
        raise ValueError(name)
    return _PARTS[name.lower()]


def _ticks(text: str) -> int:
    """Parse an ISO 8601 text. Raise ValueError, which makes the result undefined, for any other text."""
    fraction = _FRACTION.search(text)
    whole = text if fraction is None else text[: fraction.start()] + text[fraction.end() :]
    moment = datetime.fromisoformat(whole)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    ticks = (since.days * 86_400 + since.seconds) * TICKS_PER_SECOND
    return ticks + (int(fraction[1].ljust(7, "0")) if fraction else 0)


def _moment(ticks: int) -> datetime:
    return _EPOCH + timedelta(seconds=ticks // TICKS_PER_SECOND)


def _text(ticks: int) -> str:
    moment = _moment(ticks).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='seconds')}.{ticks % TICKS_PER_SECOND:07}Z"


def _number(ticks: int) -> int:
    """Return ticks rounded to a double, as the service does."""
    return int(float(ticks))


def _add(name: str, amount: float, text: str) -> str:
    part, ticks, count = _part(name), _ticks(text), _whole(amount)
    if part in ("year", "month"):
        return _text(_add_months(ticks, count * (12 if part == "year" else 1)))
    return _text(ticks + count * _SIZES[part] // 100)


def _add_months(ticks: int, months: int) -> int:
    """Return the same day of another month, or that month's last day if it is shorter."""
    moment = _moment(ticks)
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    first = datetime(year, month + 1, 1, tzinfo=UTC)
    following = datetime(year + month // 11, (month + 1) % 12 + 1, 1, tzinfo=UTC)
    day = min(moment.day, (following - first).days)
    since = moment.replace(year=year, month=month + 1, day=day) - _EPOCH
    return (since.days * 86_400 + since.seconds) * TICKS_PER_SECOND + ticks % TICKS_PER_SECOND


def _months(ticks: int) -> int:
    moment = _moment(ticks)
    return moment.year * 12 + moment.month - 1


def _difference(name: str, start: str, end: str) -> int:
    """Return the number of boundaries of this part between the two times."""
    part, first, last = _part(name), _ticks(start), _ticks(end)
    if part == "year":
        return _months(last) // 12 - _months(first) // 12
    if part == "month":
        return _months(last) - _months(first)
    return last * 100 // _SIZES[part] - first * 100 // _SIZES[part]


def _part_of(name: str, text: str) -> int:
    part, ticks = _part(name), _ticks(text)
    if part in ("millisecond", "microsecond", "nanosecond"):
        return ticks % TICKS_PER_SECOND * 100 // _SIZES[part]
    return int(getattr(_moment(ticks), part))


def _bin(text: str, name: str, size: float = 1, origin: str = "1970-01-01T00:00:00Z") -> Any:
    """Return the start of the bin that contains the time. Bins are counted from the origin."""
    part, ticks, start, count = _part(name), _ticks(text), _ticks(origin), _whole(size)
    if count < 1:
        return UNDEFINED
    if part in ("year", "month"):
        months = count * (12 if part == "year" else 1)
        bins = (_months(ticks) - _months(start)) // months
        return _text(_add_months(start, bins * months))
    width = count * _SIZES[part]
    return _text(start + (ticks - start) * 100 // width * width // 100)


def _from_parts(*numbers: float) -> str:
    parts = [_whole(number) for number in numbers]
    fraction = parts[6] if len(parts) > 6 else 0  # noqa: PLR2004 - index of the fraction, in ticks
    if not 0 <= fraction < TICKS_PER_SECOND:
        raise ValueError(fraction)
    year, month, day, hour, minute, second = [*parts[:6], 0, 0, 0][:6]
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    return _text((since.days * 86_400 + since.seconds) * TICKS_PER_SECOND + fraction)


def _now() -> int:
    return time.time_ns() // 100


DATETIMES = Builtins()
_CURRENT: dict[str, Callable[[], Any]] = {
    "DATETIME": lambda: _text(_now()),
    "TIMESTAMP": lambda: _now() // _TICKS_PER_MILLISECOND,
    "TICKS": lambda: _number(_now()),
}
for _name, _function in _CURRENT.items():
    for _suffix in ("", "STATIC"):
        DATETIMES.add(f"GETCURRENT{_name}{_suffix}", "", _function, deterministic=False)
DATETIMES.add("DATETIMEADD", "sns", _add)
DATETIMES.add("DATETIMEDIFF", "sss", _difference)
DATETIMES.add("DATETIMEPART", "ss", _part_of)
DATETIMES.add("DATETIMEBIN", "ssns", _bin, optional=2)
DATETIMES.add("DATETIMEFROMPARTS", "nnnnnnn", _from_parts, optional=4)
DATETIMES.add("DATETIMETOTIMESTAMP", "s", lambda text: _ticks(text) // _TICKS_PER_MILLISECOND)
DATETIMES.add("TIMESTAMPTODATETIME", "n", lambda number: _text(_whole(number) * _TICKS_PER_MILLISECOND))
DATETIMES.add("DATETIMETOTICKS", "s", lambda text: _number(_ticks(text)))
DATETIMES.add("TICKSTODATETIME", "n", lambda number: _text(_whole(number)))
