"""Schedules of timers: a constant interval, or NCRONTAB.

NCRONTAB is the cron format of Azure Functions: six fields (seconds first), or five (at second 0).
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import CroniterBadCronError, CroniterBadDateError, croniter

from localcloud.timespan import format_timespan, parse_timespan

MINUTE = timedelta(minutes=1)
_FIELD_COUNTS = (5, 6)
_PART = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d{1,2}))?", re.ASCII)
_LIMITS = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTH, _WEEKDAY = 4, 5
_NAMES = {
    _MONTH: ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    _WEEKDAY: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}


class ScheduleError(ValueError):
    """The schedule expression is malformed."""


class Schedule(Protocol):
    def next_after(self, moment: datetime) -> datetime:
        """Return the first occurrence after the moment, in UTC."""

    def is_sub_minute(self, now: datetime) -> bool:
        """Return whether it occurs more than once a minute. The status of such a schedule is not stored."""


class ConstantSchedule:
    def __init__(self, seconds: float) -> None:
        self.interval = timedelta(seconds=seconds)

    def next_after(self, moment: datetime) -> datetime:
        return moment + self.interval

    def is_sub_minute(self, now: datetime) -> bool:  # noqa: ARG002 - the same at any time
        return self.interval < MINUTE

    def __str__(self) -> str:
        return f"Constant: {format_timespan(self.interval.total_seconds())}"


class CronSchedule:
    def __init__(self, expression: str, zone: tzinfo) -> None:
        self.expression = expression
        self.zone = zone

    def next_after(self, moment: datetime) -> datetime:
        start = moment.astimezone(self.zone)
        # day_or=False: in NCRONTAB, both the day of the month and the day of the week must match.
        occurrences = croniter(self.expression, start, second_at_beginning=True, day_or=False)
        found: datetime = occurrences.get_next(datetime)
        return found.astimezone(UTC)

    def is_sub_minute(self, now: datetime) -> bool:
        return self.next_after(self.next_after(now)) <= now + MINUTE

    def __str__(self) -> str:
        return f"Cron: '{self.expression}'"


def _parse_cron(text: str, zone: tzinfo) -> CronSchedule:
    fields = text.split()
    fields = fields if len(fields) == max(_FIELD_COUNTS) else ["0", *fields]
    schedule = CronSchedule(" ".join(map(_in_numbers, fields, range(len(fields)))), zone)
    try:
        schedule.next_after(datetime.now(UTC))
    except (CroniterBadCronError, CroniterBadDateError) as error:
        raise ScheduleError(f"it never occurs ({error})") from error
    return schedule


def _in_numbers(field: str, position: int) -> str:
    """Return the field in croniter's syntax.

    Raise if NCRONTAB does not support it (L, W, #, ?, 7 for Sunday).
    """
    parts = []
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None or match[3] in ("0", "00"):
            raise ScheduleError(f"field {field!r} is malformed")
        low, high, step = match.groups()
        numbers = [_number(end, field, position) for end in (low, high) if end is not None]
        if low is not None and step and high is None:
            numbers.append(_LIMITS[position][1])  # 5/10 starts at 5
        if numbers != sorted(numbers):
            raise ScheduleError(f"field {field!r} has a range that runs backwards")
        parts.append(("-".join(map(str, numbers)) or "*") + (f"/{step}" if step else ""))
    return ",".join(parts)


def _number(text: str, field: str, position: int) -> int:
    names = _NAMES.get(position, [])
    if text.isalpha() and text[:3].lower() in names:
        return names.index(text[:3].lower())
    low, high = _LIMITS[position]
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ScheduleError(f"field {field!r} is not within {low} to {high}")
    return int(text)


def parse_schedule(text: str, zone_name: str | None = None) -> Schedule:
    if len(text.split()) in _FIELD_COUNTS:
        return _parse_cron(text, _zone(zone_name))
    try:
        seconds = parse_timespan(text)
    except ValueError as error:
        raise ScheduleError("it is neither a cron expression nor a time span") from error
    if seconds <= 0:
        raise ScheduleError("the interval is not positive")
    return ConstantSchedule(seconds)


def _zone(name: str | None) -> tzinfo:
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScheduleError(
            f"WEBSITE_TIME_ZONE {name!r} is not an IANA zone such as Europe/Berlin"
        ) from error
