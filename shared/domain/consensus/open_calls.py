"""A call or vote that has no result yet: its question, when it ends, who has spoken, what is outstanding."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from shared.documents.values import Fate, Objection, OpenCall, Preset, PropositionForm
from shared.domain.consensus.cues import Cue
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.proposition import Put

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_ENDS = Cue(
    "end|ends|ending|close|closes|closing|until|later|before|by|open|deadline|weeks|week|hours|days|due|last",
    r"\b(?:ends?|ending|closes?|closing|until|no later than|deadline|by|before|due|open for|remain open|"
    r"runs? (?:for|until|through)|in the next|for the next|within)\b",
)
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -]{_MONTH}\.?(?:[ ,-]{{1,2}}(\d{{4}}))?", re.IGNORECASE
)
_MONTH_DAY = re.compile(rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.IGNORECASE)
_DAY_ONLY = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b")
_LASTS = re.compile(r"\b(\d{1,3}|one|two|three|four|a)[ -](hours?|days?|weeks?)\b")
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_HOURS = {"h": 1, "d": 24, "w": 168}
_APACHE_WINDOW = timedelta(hours=72)
_USUAL_TIME = timedelta(days=14)
"""Of a call that names no end."""


def read_open_call(thread: LinkedThread, put: Put, objections: Sequence[Objection]) -> OpenCall | None:
    if put.form not in {PropositionForm.VOTE, PropositionForm.CALL}:
        return None
    ends, words = find_end(thread, put)
    if not _is_running(thread, put, ends):
        return None
    spoken: dict[str, str] = {}  # each person once, however many addresses they write from
    for mail in thread.mails:
        if mail.person not in put.proposers:
            spoken.setdefault(mail.person, mail.mail.address.lower())
    return OpenCall(
        question=thread.cite(put.words) if put.words else None,
        ends=ends,
        ends_text=words,
        spoken=tuple(dict.fromkeys(spoken.values())),
        outstanding=tuple(one.citation for one in objections if one.fate is Fate.OUTSTANDING),
    )


def _is_running(thread: LinkedThread, put: Put, ends: date | None) -> bool:
    """Nobody wrote after its end: what is written then may be the result, in words that are not known."""
    sent = put.mail.mail.date
    written = [mail.mail.date for mail in thread.mails if mail.mail.date is not None]
    if ends is None and sent is not None and put.form is PropositionForm.CALL:
        ends = (sent + _USUAL_TIME).date()
    return ends is not None and bool(written) and max(written).date() <= ends


def find_end(thread: LinkedThread, put: Put) -> tuple[date | None, str]:
    """The day on which the call ends, with the words that name it; an Apache vote lasts at least 72 hours."""
    sent = put.mail.mail.date
    for sentence in put.mail.sentences:
        if not _ENDS.finds(sentence):
            continue
        named = _named_day(sentence.folded, sent) or _after_duration(sentence.folded, sent)
        if named is not None:
            return named, sentence.text
    if put.form is PropositionForm.VOTE and thread.preset is Preset.APACHE and sent is not None:
        return (sent + _APACHE_WINDOW).date(), ""
    return None, ""


def _named_day(text: str, sent: datetime | None) -> date | None:
    if iso := _ISO.search(text):
        return _day(int(iso[1]), int(iso[2]), int(iso[3]))
    if found := _DAY_MONTH.search(text):
        return _in_year(_month(found[2]), int(found[1]), found[3], sent)
    if found := _MONTH_DAY.search(text):
        return _in_year(_month(found[1]), int(found[2]), found[3], sent)
    if (found := _DAY_ONLY.search(text)) and sent is not None:
        day = _day(sent.year, sent.month, int(found[1]))
        return day if day is not None and day >= sent.date() else None
    return None


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _in_year(month: int, day: int, year: str | None, sent: datetime | None) -> date | None:
    if year:
        return _day(int(year), month, day)
    if sent is None:
        return None
    this_year = _day(sent.year, month, day)
    # A call of December that ends in January names no year.
    if this_year is not None and this_year < sent.date():
        return _day(sent.year + 1, month, day)
    return this_year


def _after_duration(text: str, sent: datetime | None) -> date | None:
    found = _LASTS.search(text)
    if found is None or sent is None:
        return None
    number = _NUMBERS.get(found[1]) or int(found[1])
    return (sent + timedelta(hours=number * _HOURS[found[2][0]])).date()


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
