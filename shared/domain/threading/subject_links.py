"""Links by subject, for mail without threading headers.

Two rules, each a predicate on two messages, so that threads stay a function of the set of messages:
- a reply without threading headers goes with every mail of the same normalised subject in the three weeks
  before it;
- a mail of a numbered series without threading headers goes with the mails of the same series, from the same
  sender, that were sent within the hour (`git send-email` sends a series in one go).

The limits, on purpose: a subject that says nothing ("Re: question") links nothing; without a date nothing is
linked; two discussions under one subject become one thread if a headerless reply came within three weeks of
both.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shared.domain.mail.models import ParsedMail
from shared.domain.threading.subjects import read_subject

_HOUR = 3600
_DAY = 24 * _HOUR
REPLY_WINDOW = 21 * _DAY
"""How far before a reply the mail that it answers may lie."""
CLOCK_SKEW = _DAY
"""How far after it, by a wrong clock."""
SERIES_WINDOW = _HOUR
_SERIES_PREFIX = "#"


class SubjectEntry(NamedTuple):
    key: str
    at: int
    """Seconds since the epoch."""
    seeks: bool
    """Whether the message has nothing but this to be threaded by."""


def entries_of(message: ParsedMail) -> list[SubjectEntry]:
    if message.date is None:
        return []
    at = int(message.date.timestamp())
    headerless = not message.references and not message.in_reply_to
    subject = read_subject(message.subject)
    entries = []
    if subject.key:
        entries.append(SubjectEntry(subject.key, at, headerless and subject.is_reply))
    if subject.series and message.sender.email and not subject.is_reply:
        key = f"{_SERIES_PREFIX}{subject.series} {message.sender.email.lower()}"
        # The cover letter begins the series: it is found, it does not seek.
        entries.append(SubjectEntry(key, at, headerless and not subject.is_cover))
    return entries


def links(entries: Iterable[tuple[SubjectEntry, str]]) -> Iterator[tuple[str, str]]:
    """Pairs of owners to be linked: as many as it takes to connect what belongs together."""
    by_key: dict[str, list[tuple[int, bool, str]]] = defaultdict(list)
    for (key, at, seeks), owner in entries:
        by_key[key].append((at, seeks, owner))
    for key, group in by_key.items():
        if len(group) > 1 and any(seeks for _, seeks, _ in group):
            before, after = (
                (SERIES_WINDOW,) * 2 if key.startswith(_SERIES_PREFIX) else (REPLY_WINDOW, CLOCK_SKEW)
            )
            yield from _within(sorted(group), before, after)


def _within(group: list[tuple[int, bool, str]], before: int, after: int) -> Iterator[tuple[str, str]]:
    """Link each entry that seeks with all in its window.

    Windows move forward only, so what an earlier one has linked is not linked again: the work is linear.
    """
    low = high = done = 0
    for at, seeks, owner in group:
        if not seeks:
            continue
        while group[low][0] < at - before:
            low += 1
        while high < len(group) and group[high][0] <= at + after:
            high += 1
        for index in range(max(low, done), high):
            yield owner, group[index][2]
        if low < done:
            yield owner, group[done - 1][2]
        done = high
