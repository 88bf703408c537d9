"""The stored format of times, and the displayed format of durations."""

from datetime import datetime

_UP_TO_MICROSECONDS = len("2024-01-01T00:00:00.000000")


def stored_time(value: datetime) -> str:
    """Return a UTC time with microseconds and Z, so that strings sort like times."""
    return f"{value.isoformat(timespec='microseconds')[:_UP_TO_MICROSECONDS]}Z"


def format_duration(seconds: float, space: str = " ") -> str:
    """Return a duration in one unit: `42 s`, `7 min`, `3 d`."""
    seconds = max(0.0, seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f}{space}{unit}"
    return f"{seconds:.0f}{space}s"
