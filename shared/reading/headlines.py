"""A reading in words: the outcome's sentence, a headline of three lines, and open calls."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from shared.mail.subjects import split_subject
from shared.models.values import (
    Authority,
    ConsensusBasis,
    Fate,
    Headline,
    Objection,
    OpenCall,
    OutcomeKind,
    Position,
    PositionStance,
    Preset,
    PropositionForm,
    VoteCount,
    clipped,
)
from shared.reading.cues import Cue
from shared.reading.endings import Ending
from shared.reading.linked_thread import LinkedMail, LinkedThread, display_name
from shared.reading.mails import OwnSentence
from shared.reading.proposal import Proposal
from shared.reading.rulings import EndingWord

MAX_WORDS = 25
_SUBJECT_WORDS, _NAME_WORDS = 10, 6
_NOTHING = "No decision found."
KINDS = {
    OutcomeKind.ACCEPTED: "Accepted",
    OutcomeKind.REVISED: "Revised",
    OutcomeKind.REJECTED: "Rejected or withdrawn",
    OutcomeKind.CONTESTED: "Contested, no decision found",
    OutcomeKind.UNRESOLVED: "No decision found",
    OutcomeKind.ANSWERED: "Answered",
    OutcomeKind.UNANSWERED: "No answer found",
    OutcomeKind.INFORMATIONAL: "For information",
}
# More exact than the kind, because the rule shows which case it is.
_BY_RULE = {
    (OutcomeKind.REJECTED, "withdrawn"): "Withdrawn",
    (OutcomeKind.REJECTED, "vote cancelled"): "Vote canceled",
    (OutcomeKind.REJECTED, "turned down"): "Rejected",
    (OutcomeKind.ACCEPTED, "chosen"): "Option chosen",
    (OutcomeKind.REVISED, "new version"): "Changed in a new version",
    (OutcomeKind.REVISED, "ruled"): "Accepted with changes",
    (OutcomeKind.REVISED, "accepted by authority"): "Accepted with changes",
    (OutcomeKind.REVISED, "passed on"): "Accepted with changes",
    (OutcomeKind.REVISED, "taken"): "Accepted with changes",
}
_PROMISED = frozenset({"taken over", "remarks taken over", "will be edited", "will be done"})


CLOSING_STATEMENT = "closing statement"
_RULED = {
    "no consensus": "No consensus found",
    "not ready": "Found not ready",
    "put off": "Put off",
    CLOSING_STATEMENT: "Closing statement",
}
"""Outcomes in the words of the person with a role."""


def authority_of(thread: LinkedThread, verdict: Ending) -> Authority | None:
    """Return who decided, if that was a person with a role."""
    settled = verdict.settled_by
    decided = verdict.basis in {ConsensusBasis.RULED, ConsensusBasis.CALLED}
    if settled is None or not decided or settled.role in {None, "proposer"}:
        return None
    return authority_by(thread, settled)


def authority_by(thread: LinkedThread, word: EndingWord) -> Authority:
    mail = thread.mail_of(word.sentence).mail
    return Authority(mail.address.lower(), display_name(mail.name, mail.address), word.role or "")


def outcome_sentence(
    thread: LinkedThread,
    proposal: Proposal,
    verdict: Ending,
    said: Sequence[Position],
    votes: VoteCount | None,
) -> str:
    """Return one sentence for a headline, which states only what is sure."""
    if not verdict.sure and verdict.rule != CLOSING_STATEMENT:
        return _NOTHING
    if _is_promised(verdict) and verdict.evidence is not None:
        mail = thread.mail_of(verdict.evidence)
        return _with_full_stop(clipped(f"{_name(mail)} promised changes{_on_day(mail)}", MAX_WORDS))
    words = _RULED.get(verdict.rule) or _BY_RULE.get((verdict.kind, verdict.rule)) or KINDS[verdict.kind]
    if votes is not None and (votes.binding_for or votes.other_for):
        words = f"{words}: {_tally(votes)}"
    elif verdict.basis is ConsensusBasis.COUNTED and verdict.evidence is None:
        words = _counted(thread, verdict.kind, words, said)
    name, suffix = decided_by(thread, proposal, verdict), _evidence_suffix(thread, verdict)
    by = f" by {name}" if name else ""
    return _with_full_stop(clipped(f"{words}{',' if by and ',' in words else ''}{by}{suffix}", MAX_WORDS))


def decided_by(thread: LinkedThread, proposal: Proposal, verdict: Ending) -> str:
    """Return who decided, withdrew or promised changes, or the only person who can have answered."""
    authority = authority_of(thread, verdict)
    if authority is not None:
        return f"{authority.name} ({authority.role})"
    if (verdict.rule == "withdrawn" or _is_promised(verdict)) and verdict.evidence is not None:
        return _name(thread.mail_of(verdict.evidence))
    if verdict.kind is OutcomeKind.ANSWERED:
        others = {mail.person: mail for mail in thread.mails if mail.person != proposal.mail.person}
        return _name(next(iter(others.values()))) if len(others) == 1 else ""
    return ""


def _is_promised(verdict: Ending) -> bool:
    return verdict.kind is OutcomeKind.REVISED and verdict.rule in _PROMISED


def _name(mail: LinkedMail) -> str:
    return clipped(display_name(mail.mail.name, mail.mail.address), _NAME_WORDS)


def _evidence_suffix(thread: LinkedThread, verdict: Ending) -> str:
    """Return the date of the evidence, with its writer unless the writer decided."""
    if verdict.evidence is None:
        return ""
    mail = thread.mail_of(verdict.evidence)
    decided = authority_of(thread, verdict) is not None or verdict.rule == "withdrawn"
    at = _on_day(mail)
    return at if decided else f" ({_name(mail)}{at})"


def _on_day(mail: LinkedMail) -> str:
    return f", {mail.mail.date.day} {mail.mail.date:%B %Y}" if mail.mail.date else ""


def _counted(thread: LinkedThread, kind: OutcomeKind, words: str, said: Sequence[Position]) -> str:
    in_favour, against = (
        thread.voices(said, stance) for stance in (PositionStance.SUPPORT, PositionStance.OPPOSE)
    )
    if kind is OutcomeKind.CONTESTED:
        return f"Contested: at least {in_favour} in support, {against} objecting, no ruling found"
    objecting = f", {against} objecting" if against else ""
    return f"{words}: at least {in_favour} in support{objecting}, not declared"


def plain_sentence(kind: OutcomeKind | None, subject: str) -> str:
    """Return the sentence of an outcome without a person, or "No decision found." for None."""
    return _NOTHING if kind is None else _with_full_stop(f"{KINDS[kind]}: {subject_words(subject)}")


def _with_full_stop(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!", ".")) else f"{sentence}."


def _tally(votes: VoteCount) -> str:
    in_favour = votes.binding_for + votes.other_for
    against = votes.binding_against + votes.other_against
    bound = f" ({votes.binding_for} binding)" if votes.binding_for else ""
    return f"{in_favour} for{bound}, {against} against"


def summary_lines(
    proposal: Proposal,
    sentence: str,
    objections: Sequence[Objection],
    open_issues: Sequence[OwnSentence],
    open_call: OpenCall | None,
) -> Headline:
    asked = (
        clipped(proposal.words.text, MAX_WORDS)
        if proposal.words
        else split_subject(proposal.mail.mail.subject).text
    )
    outstanding = [objection for objection in objections if objection.fate is Fate.OUTSTANDING]
    left = ""
    if outstanding:
        left = clipped(outstanding[-1].citation.quote, MAX_WORDS)
    elif open_issues:
        left = clipped(open_issues[-1].text, MAX_WORDS)
    elif open_call is not None and open_call.ends is not None:
        left = f"The call is open until {open_call.ends.isoformat()}."
    return Headline(asked=asked, came_out=sentence, left=left)


def subject_words(subject: str) -> str:
    """Return a subject without its tags, short enough for a headline."""
    return clipped(split_subject(subject).text or "the proposal", _SUBJECT_WORDS)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_ENDS = Cue(
    "end|ends|ending|close|closes|closing|until|later|before|by|open|deadline|weeks|week|hours|days|due|last",
    r"\b(?:ends?|ending|closes?|closing|until|no later than|deadline|"
    r"by|before|due|open for|remain open|runs? (?:for|until|through)|in the next|for the next|within)\b",
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
"""The assumed duration of a call that names no end."""


def read_open_call(
    thread: LinkedThread, proposal: Proposal, objections: Sequence[Objection]
) -> OpenCall | None:
    if proposal.form not in {PropositionForm.VOTE, PropositionForm.CALL}:
        return None
    ends, words = find_end(thread, proposal)
    if not _is_running(thread, proposal, ends):
        return None
    spoken: dict[str, str] = {}  # each person once, however many addresses they write from
    for mail in thread.mails:
        if mail.person not in proposal.proposers:
            spoken.setdefault(mail.person, mail.mail.address.lower())
    return OpenCall(
        question=thread.cite(proposal.words) if proposal.words else None,
        ends=ends,
        ends_text=words,
        spoken=tuple(dict.fromkeys(spoken.values())),
        outstanding=tuple(
            objection.citation for objection in objections if objection.fate is Fate.OUTSTANDING
        ),
    )


def _is_running(thread: LinkedThread, proposal: Proposal, ends: date | None) -> bool:
    """Return whether the people who may end the call did not write after its end."""
    sent = proposal.mail.mail.date
    may_end_it = [mail for mail in thread.mails if _may_end(thread, proposal, mail)]
    written = [mail.mail.date for mail in may_end_it if mail.mail.date is not None]
    if ends is None and sent is not None and proposal.form is PropositionForm.CALL:
        ends = (sent + _USUAL_TIME).date()
    return ends is not None and bool(written) and max(written).date() <= ends


def _may_end(thread: LinkedThread, proposal: Proposal, mail: LinkedMail) -> bool:
    """Return whether the writer asked, has a role, or is heard by such people."""
    return mail.person in proposal.owners or thread.is_heard(mail, proposal.owners)


def find_end(thread: LinkedThread, proposal: Proposal) -> tuple[date | None, str]:
    """Return the day on which a call ends and its words. An Apache vote lasts at least 72 hours."""
    sent = proposal.mail.mail.date
    for sentence in proposal.mail.sentences:
        if not _ENDS.finds(sentence):
            continue
        named = _named_day(sentence.folded, sent) or _after_duration(sentence.folded, sent)
        if named is not None:
            return named, sentence.text
    if proposal.form is PropositionForm.VOTE and thread.preset is Preset.APACHE and sent is not None:
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
    # A call in December that ends in January names no year.
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
