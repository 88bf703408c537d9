"""Formatting for pages: safe text, dates, counts and states in words."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from shared.mail.masking import masked
from shared.mail.subjects import split_subject
from shared.models.readings import ShownOpenCall, ShownOutcome, StoredOutcome
from shared.models.threads import Address
from shared.models.values import OutcomeKind, Tier
from shared.pipeline.progress import ArchiveProgress, StageProgress
from shared.reading.mails import ENGLISH, UNKNOWN, language_of
from shared.summaries.markdown import basis_words

MOST_SPEAKERS = 12  # names shown for a call in a list
STANCES = {"support": "in support", "objection": "objecting"}
# The label and the CSS class of an outcome.
KINDS = {
    OutcomeKind.ACCEPTED: ("Accepted", "agreement"),
    OutcomeKind.REVISED: ("Revised", "agreement"),
    OutcomeKind.REJECTED: ("Rejected or withdrawn", "dissent"),
    OutcomeKind.CONTESTED: ("Contested", "mixed"),
    OutcomeKind.UNRESOLVED: ("No decision found", ""),
    OutcomeKind.ANSWERED: ("Answered", ""),
    OutcomeKind.UNANSWERED: ("No answer found", ""),
    OutcomeKind.INFORMATIONAL: ("For information", ""),
}
_NO_DECISION = ("No decision found", "")
_CLOSED = ("Closing statement", "")
STATUSES = {
    "pending": "waiting",
    "processed": "done",
    "failed": "failed, will be retried",
    "failed_max_retries": "failed",
}
# Control characters except line ends and tabs, and invisible or direction-changing characters.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ue000\ue001\ufeff]"
)
LONGEST_WORD = 300
_ENDLESS = re.compile(rf"\S{{{LONGEST_WORD}}}(?=\S)")
_QUOTED = re.compile(r"^ {0,3}(?:[A-Z][A-Za-z]{0,2})?> ?", re.MULTILINE)


def plain(text: object) -> str:
    """Return untrusted text as one line without control characters and direction changes."""
    return _breakable(" ".join(_UNSEEN.sub("", str(text)).split()))


def printable_lines(text: str) -> str:
    return _breakable(_UNSEEN.sub("", text))


def _breakable(text: str) -> str:
    """Return the text with break points in very long words. Without them, the layout could hang a browser."""
    return _ENDLESS.sub("\\g<0>\u200b", text) if len(text) > LONGEST_WORD else text


def foreign_language(text: str) -> str:
    """Return the language code of the text, or an empty string if it is the page's language."""
    code = language_of(text)
    return "" if code in {ENGLISH, UNKNOWN} else code


def unquoted(text: str) -> str:
    """Return the quote without its first level of `>` marks, because the page marks quotes itself."""
    return _QUOTED.sub("", text)


def bare_subject(text: str) -> str:
    """Return the subject without the label of the list and without `Re:`."""
    flat = plain(text)
    return split_subject(flat).text or flat


def writer(person: Address) -> str:
    return person.name or (masked(person.email) if person.email else "unknown sender")


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def filename(path: str) -> str:
    return plain(path.rpartition("/")[2]) or "archive"


def day(moment: datetime | None) -> str:
    return f"{moment.day} {moment:%B %Y}" if moment else "no date"


def minute(moment: datetime | None) -> str:
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC" if moment else "no date"


def moment(at: datetime | None) -> str:
    """Return the time without its zone, for pages that state the time zone once."""
    return f"{at.day} {at:%b %Y, %H:%M}" if at else "no date"


def machine_time(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""


def counted(number: int, unit: str, units: str = "") -> str:
    return f"{number:,} {unit if number == 1 else units or unit + 's'}"


def stage_figures(stage: StageProgress) -> str:
    failed = f", {stage.failed:,} failed" if stage.failed else ""
    return f"{stage.done:,} of {counted(stage.total, stage.unit)}{failed}"


def progress_state(progress: ArchiveProgress) -> str:
    if progress.failed:
        return "This archive could not be read."
    if progress.complete:
        gaps = ", with the gaps listed below" if progress.gaps else ""
        return f"All threads are reported{gaps}."
    return f"In progress: {progress.percent}%."


def outcome_chip(outcome: ShownOutcome | None) -> tuple[str, str]:
    """Return the label and the CSS class. An uncertain outcome has no label of its own."""
    if outcome is not None and outcome.is_closing_statement:
        return _CLOSED
    return KINDS[outcome.kind] if outcome and outcome.kind else _NO_DECISION


def outcome_words(outcome: ShownOutcome | None) -> str:
    """Return the sentence of the outcome without the words of its label."""
    if outcome is None or (outcome.tier is not Tier.SAID and not outcome.is_closing_statement):
        return ""
    chip, _ = outcome_chip(outcome)
    rest = re.fullmatch(rf"{re.escape(chip)}(?:[ ,:]+|(?=\.))(.*)", outcome.sentence, re.DOTALL)
    words = rest[1].removeprefix(".") if rest else outcome.sentence
    source = re.fullmatch(r"\(([^()]*)\)\.", words)
    return f"{source[1]}." if source else words


def outcome_lead(outcome: ShownOutcome | None) -> str:
    """Return the sentence of the outcome, with a colon if a quote follows."""
    words = outcome_words(outcome)
    return f"{words.removesuffix('.')}:" if outcome and outcome.quote and words else words


def outcome_basis(outcome: StoredOutcome | None) -> str:
    if outcome is None or outcome.tier is not Tier.SAID:
        return ""
    return basis_words(outcome.basis, outcome.authority.role if outcome.authority else "")


def stance_shares(counts: Mapping[str, int]) -> list[tuple[str, int, float, float]]:
    """Return the segments of the stance bar: stance, number of people, start and width in percent."""
    total = sum(counts.get(stance, 0) for stance in STANCES)
    shares, at = [], 0.0
    for stance in STANCES:
        number = counts.get(stance, 0)
        if number:
            width = 100 * number / total
            shares.append((stance, number, round(at, 3), round(width, 3)))
            at += width
    return shares


def markdown_target(address: str) -> str:
    """Return the link target with escaped characters that could end it or act as markup."""
    return re.sub(r"[()<>\\*_~]", lambda found: f"%{ord(found[0]):02X}", address)


def spoken_in(call: ShownOpenCall, participants: Iterable[Address]) -> tuple[list[str], int]:
    """Return the names of people who spoke on a call, and the number of further people."""
    names = {participant.email.lower(): participant.name for participant in participants}
    known = [names.get(address.lower()) or masked(address) for address in call.spoken]
    return known[:MOST_SPEAKERS], max(0, len(known) - MOST_SPEAKERS)
