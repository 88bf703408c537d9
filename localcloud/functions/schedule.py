"""When a timer is due: NCRONTAB, or a constant interval."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from localcloud.functions.ncrontab import MINUTE, ScheduleError, is_cron, parse_cron
from localcloud.timespan import format_timespan, parse_timespan


class Schedule(Protocol):
    def next_after(self, moment: datetime) -> datetime:
        """The first occurrence after the moment, in UTC."""

    def is_sub_minute(self, now: datetime) -> bool:
        """Whether it occurs more than once a minute: such a schedule is not persisted."""


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
    if is_cron(text):
        return parse_cron(text, _zone(zone_name))
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
