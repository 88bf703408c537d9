"""NCRONTAB, the cron expressions of Azure Functions, with six fields (seconds first) or five."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from croniter import CroniterBadCronError, CroniterBadDateError, croniter

WITH_SECONDS, WITHOUT_SECONDS = 6, 5
MINUTE, HOUR, DAY = 60, 3600, 86_400
_ANY_TIME = datetime(2024, 1, 1, tzinfo=UTC)
_ITEM = re.compile(r"(?:\*|(?P<low>\w+)(?:-(?P<high>\w+))?)(?:/(?P<step>\d{1,2}))?", re.ASCII)
_RANGES = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NAMES = {
    4: {name: number for number, name in enumerate(_MONTHS, 1)},
    5: {name: number for number, name in enumerate(_DAYS)},
}


class ScheduleError(ValueError):
    """The schedule expression is malformed."""


@dataclass(frozen=True)
class CronSchedule:
    expression: str

    def next_after(self, moment: datetime) -> datetime:
        # With day_or=False, the day of the month and the day of the week must both match, as in NCRONTAB.
        start = moment.astimezone(UTC)
        occurrences = croniter(self.expression, start, second_at_beginning=True, day_or=False)
        found: datetime = occurrences.get_next(datetime)
        return found


def parse_cron(text: str) -> CronSchedule:
    fields = text.split()
    if len(fields) not in {WITH_SECONDS, WITHOUT_SECONDS}:
        raise ScheduleError("a cron expression has five or six fields")
    full = fields if len(fields) == WITH_SECONDS else ["0", *fields]
    plain = [
        ",".join(_plain_item(item, field, position) for item in field.split(","))
        for position, field in enumerate(full)
    ]
    schedule = CronSchedule(" ".join(plain))
    try:
        schedule.next_after(_ANY_TIME)
    except (CroniterBadCronError, CroniterBadDateError) as error:
        raise ScheduleError(f"it never occurs ({error})") from error
    return schedule


def _plain_item(item: str, field: str, position: int) -> str:
    """Return the item with names as numbers. Refuse what NCRONTAB lacks (L, W, #, ?, 7 for Sunday)."""
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
    named = _NAMES.get(position, {}).get(text[:3].lower())
    if named is not None and text.isalpha():
        return named
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ScheduleError(f"field {field!r} is not within {low} to {high}")
    return int(text)


def interval_schedule(seconds: int) -> str:
    """Return an NCRONTAB expression that runs at least this often.

    Its interval divides a minute, hour or day.
    """
    if seconds >= HOUR:
        return f"0 0 */{_divisor(min(seconds, DAY) // HOUR, 24)} * * *".replace("*/24", "0")
    if seconds >= MINUTE:
        return f"0 */{_divisor(seconds // MINUTE, 60)} * * * *"
    return f"*/{_divisor(seconds, 60)} * * * * *"


def _divisor(at_most: int, whole: int) -> int:
    return max(number for number in range(1, at_most + 1) if whole % number == 0)
