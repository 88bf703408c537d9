"""NCRONTAB as the Functions host reads it: six fields (seconds first) or five, in the site's time zone.

The app has a parser of its own (for the schedules of sources): in Azure the two are different programs, too.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from croniter import CroniterBadCronError, CroniterBadDateError, croniter

__all__ = ["MINUTE", "CronSchedule", "ScheduleError", "is_cron", "parse_cron"]

SECONDS_FIELDS = 6
MINUTES_FIELDS = 5
MINUTE = 60
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
        return self.next_after(self.next_after(now)) <= now + timedelta(seconds=MINUTE)

    def __str__(self) -> str:
        return f"Cron: '{self.expression}'"


def is_cron(text: str) -> bool:
    """Whether it has as many fields as a cron expression."""
    return len(text.split()) in {MINUTES_FIELDS, SECONDS_FIELDS}


def parse_cron(text: str, zone: tzinfo = UTC) -> CronSchedule:
    if not is_cron(text):
        raise ScheduleError("a cron expression has five or six fields")
    fields = text.split()
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
