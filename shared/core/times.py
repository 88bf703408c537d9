"""How times are written down, wherever they are stored."""

from datetime import datetime

_UP_TO_MICROSECONDS = len("2024-01-01T00:00:00.000000")


def stored_time(value: datetime) -> str:
    """Of a time in UTC, always with microseconds and Z: so that strings sort as the times do."""
    return f"{value.isoformat(timespec='microseconds')[:_UP_TO_MICROSECONDS]}Z"
