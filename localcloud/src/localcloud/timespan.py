"""Durations in .NET's format: `[-][d.]hh:mm[:ss[.fffffff]]`, or a number of days."""

import re

_DAYS = re.compile(r"-?\d{1,8}")
_CLOCK = re.compile(
    r"(?P<sign>-?)(?:(?P<days>\d{1,8})\.)?(?P<hours>\d{1,2}):(?P<minutes>\d{1,2})"
    r"(?::(?P<seconds>\d{1,2})(?:\.(?P<fraction>\d{1,7}))?)?"
)
_LARGEST_HOUR = 23
_LARGEST_MINUTE = 59


def parse_timespan(text: str) -> float:
    """Return the duration in seconds."""
    text = text.strip()
    if _DAYS.fullmatch(text):
        return int(text) * 86_400.0
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time span: write it as hh:mm:ss")
    hours, minutes, seconds = int(match["hours"]), int(match["minutes"]), int(match["seconds"] or 0)
    if hours > _LARGEST_HOUR or max(minutes, seconds) > _LARGEST_MINUTE:
        raise ValueError(f"{text!r} is not a time span: hours end at 23, minutes and seconds at 59")
    days = int(match["days"] or 0)
    total = days * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds + float(f"0.{match['fraction'] or 0}")
    return -total if match["sign"] else total


def format_timespan(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02}:{minute:02}:{second:02}"
    return f"{days}.{clock}" if days else clock
