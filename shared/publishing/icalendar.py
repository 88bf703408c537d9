"""The ends of calls and votes as a calendar (RFC 5545). What comes from mails is text, never a property."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from shared.core.ids import feed_id

MEDIA_TYPE = "text/calendar"
OCTETS = 73  # of a line, beside its end; one of its folds begins with a space
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class CallEnd:
    """A call with the day on which it ends; `scope` is what it keeps when its report is made anew."""

    scope: str
    title: str
    question: str
    ends: date
    published: datetime
    address: str


def calendar_of(name: str, calls: Sequence[CallEnd]) -> bytes:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Rough Consensus//calls//EN"]
    lines += [f"NAME:{_text(name)}", f"X-WR-CALNAME:{_text(name)}"]
    for call in sorted(calls, key=lambda open_call: (open_call.ends, open_call.scope)):
        lines += _event(call)
    lines.append("END:VCALENDAR")
    return "".join(f"{folded}\r\n" for line in lines for folded in _folded(line)).encode()


def _event(call: CallEnd) -> list[str]:
    return [
        "BEGIN:VEVENT",
        f"UID:{feed_id('call', call.scope)}",
        f"DTSTAMP:{call.published.astimezone(UTC):%Y%m%dT%H%M%SZ}",
        f"DTSTART;VALUE=DATE:{call.ends:%Y%m%d}",
        f"DTEND;VALUE=DATE:{call.ends + timedelta(days=1):%Y%m%d}",
        f"SUMMARY:{_text(f'Deadline: {call.title}')}",
        *([f"DESCRIPTION:{_text(call.question)}"] if call.question else []),
        f"URL:{call.address}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _text(text: str) -> str:
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return re.sub(r"([\\;,])", r"\\\1", flat)


def _folded(line: str) -> Iterator[str]:
    """Lines of at most 75 octets; no character is cut in two."""
    part, size = "", 0
    for character in line:
        width = len(character.encode())
        if size + width > OCTETS:
            yield part
            part, size = " ", 1
        part += character
        size += width
    yield part
