"""When a timer is due: NCRONTAB with six fields (seconds first) or five, or a constant interval."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import CroniterBadCronError, CroniterBadDateError, croniter

from localcloud.functions.timespan import format_timespan, parse_timespan

__all__ = ["Schedule", "ScheduleError", "parse_schedule"]

SECONDS_FIELDS = 6
MINUTES_FIELDS = 5
MINUTE = timedelta(minutes=1)
_ITEM = re.compile(r"(?:\*|(?P<low>\w+)(?:-(?P<high>\w+))?)(?:/(?P<step>\d{1,2}))?", re.ASCII)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_RANGES = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_NAMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {},
    {name: number for number, name in enumerate(_MONTHS, 1)},
    {name: number for number, name in enumerate(_DAYS)},
)


class ScheduleError(ValueError):
    """The schedule expression is malformed."""


class Schedule(Protocol):
    def next_after(self, moment: datetime) -> datetime:
        """The first occurrence after the moment, in UTC."""

    def is_sub_minute(self, now: datetime) -> bool:
        """Whether it occurs more than once a minute: such a schedule is not persisted."""


class CronSchedule:
    def __init__(self, expression: str, zone: tzinfo) -> None:
        self.expression = expression
        self.zone = zone

    def next_after(self, moment: datetime) -> datetime:
        start = moment.astimezone(self.zone)
        # day_or=False: NCRONTAB wants the day of the month and the day of the week both to match.
        occurrences = croniter(self.expression, start, second_at_beginning=True, day_or=False)
        found: datetime = occurrences.get_next(datetime)
        return found.astimezone(UTC)

    def is_sub_minute(self, now: datetime) -> bool:
        return self.next_after(self.next_after(now)) <= now + MINUTE

    def __str__(self) -> str:
        return f"Cron: '{self.expression}'"


class ConstantSchedule:
    def __init__(self, seconds: float) -> None:
        self.interval = timedelta(seconds=seconds)

    def next_after(self, moment: datetime) -> datetime:
        return moment + self.interval

    def is_sub_minute(self, now: datetime) -> bool:  # noqa: ARG002 - the same at any time
        return self.interval < MINUTE

    def __str__(self) -> str:
        return f"Constant: {format_timespan(self.interval.total_seconds())}"


def parse_schedule(text: str, zone_name: str | None = None) -> Schedule:
    fields = text.split()
    if len(fields) in {MINUTES_FIELDS, SECONDS_FIELDS}:
        return _cron(fields, _zone(zone_name))
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


def _cron(fields: list[str], zone: tzinfo) -> CronSchedule:
    full = fields if len(fields) == SECONDS_FIELDS else ["0", *fields]
    expression = " ".join(_plain_field(field, position) for position, field in enumerate(full))
    schedule = CronSchedule(expression, zone)
    try:
        schedule.next_after(datetime.now(UTC))
    except (CroniterBadCronError, CroniterBadDateError) as error:
        raise ScheduleError(f"it never occurs ({error})") from error
    return schedule


def _plain_field(field: str, position: int) -> str:
    """The field with names as numbers; what NCRONTAB does not know (L, W, #, ?, 7 for Sunday) is refused."""
    return ",".join(_plain_item(item, field, position) for item in field.split(","))


def _plain_item(item: str, field: str, position: int) -> str:
    match = _ITEM.fullmatch(item)
    if match is None or match["step"] in {"0", "00"}:
        raise ScheduleError(f"field {field!r} is malformed")
    step = f"/{match['step']}" if match["step"] else ""
    if match["low"] is None:
        return f"*{step}"
    low = _number(match["low"], field, position)
    if match["high"] is None:
        return f"{low}-{_RANGES[position][1]}{step}" if step else str(low)
    high = _number(match["high"], field, position)
    if high < low:
        raise ScheduleError(f"field {field!r} has a range that runs backwards")
    return f"{low}-{high}{step}"


def _number(text: str, field: str, position: int) -> int:
    low, high = _RANGES[position]
    named = _NAMES[position].get(text[:3].lower())
    if named is not None and text.isalpha():
        return named
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ScheduleError(f"field {field!r} is not within {low} to {high}")
    return int(text)
