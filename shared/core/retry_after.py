"""How long a service asks its callers to wait: the one parser of Retry-After and Azure's variants of it."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER_SECONDS = 3600.0  # a hostile or broken server cannot park the work for longer
# The most precise one first. Azure sends the first two beside the standard header.
_HEADERS = (("x-ms-retry-after-ms", 0.001), ("retry-after-ms", 0.001), ("retry-after", 1.0))
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,12})?")


def retry_after_seconds(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """The wait in seconds, at most an hour; None where no header says it in a form that we know.

    An HTTP date is understood where `now` is given, and ignored otherwise.
    """
    values = {name.lower(): str(value).strip() for name, value in headers.items()}
    for name, factor in _HEADERS:
        value = values.get(name, "")
        seconds = float(value) * factor if _NUMBER.fullmatch(value) else _seconds_until(value, now)
        if seconds is not None:
            return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)
    return None


def _seconds_until(date: str, now: datetime | None) -> float | None:
    if now is None or not date:
        return None
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - now).total_seconds()
