"""What of a model's answer may be shown: every claim is held against the thread and against the rules' reading.

| claim | is dropped where |
|---|---|
| any quote | it is not verbatim in the own sentences of the mail that it names |
| a position | another person wrote the words; they point the other way, report others or set a condition; the rules are sure of another stance |
| an outcome | no quote shows it, its quotes point the other way, or the rules are sure of another |
| a sentence in the model's words | a quote under it is not found, or a number, name, date or stance in it is not in what it cites |

A part of a sentence is widened to the whole sentence before it is judged or shown.
"""  # noqa: E501

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shared.documents.values import (
    Fate,
    Objection,
    OutcomeKind,
    Position,
    PositionStance,
    ReadBy,
    ReadDifference,
    SentenceCitation,
    ThreadReading,
    Tier,
)
from shared.domain.chat_reading.answer import ClaimedPosition, ClaimedQuote, ModelAnswer
from shared.domain.chat_reading.evidence import LocatedQuote, Polarity, locate, polarity
from shared.domain.chat_reading.numbered import person_number
from shared.domain.consensus import cues
from shared.domain.consensus.linked_thread import LinkedThread, display_name
from shared.domain.consensus.mails import fold

_EXPLICIT, _ARGUED = 0.9, 0.7
_CONTRARY = {PositionStance.SUPPORT: Polarity.AGAINST, PositionStance.OPPOSE: Polarity.FOR}
_SAME = {PositionStance.SUPPORT: Polarity.FOR, PositionStance.OPPOSE: Polarity.AGAINST}
_SETTLED = frozenset({Fate.ANSWERED, Fate.TAKEN, Fate.WITHDRAWN})
_TURNS = re.compile(
    r"(?:n't|\b(?:not|never|no longer|cannot|nor|neither|hardly|without|nobody|no one|unless|"
    r"if|whether|who|he|she|they|rather than|instead of|pretend|claims?|said|says))(?:\W+[\w'-]+){0,6}\W*$"
)
"""Words before a quote that turn what it says: a negation, a condition, somebody else's view."""
_OWN_VIEW = re.compile(r"\b(?:i|i'm|i'd|i've|we|my|our|me|us|imo|imho)\b|^\W{0,4}[+-]\s?1\b")


@dataclass
class CheckedAnswer:
    """The claims that hold, and the reasons why others do not."""

    thread: LinkedThread
    answer: ModelAnswer
    rules: ThreadReading
    refused: list[str] = field(default_factory=list)
    differences: list[ReadDifference] = field(default_factory=list)

    def citations(self, quotes: Sequence[ClaimedQuote], what: str) -> list[SentenceCitation]:
        """The quotes that are found, each sentence once."""
        found: dict[tuple[str, int], SentenceCitation] = {}
        for quote in quotes:
            located = locate(self.thread, quote)
            if located is None:
                self.refused.append(f"{what}: the quote is not in the own words of mail {quote.mail}")
                continue
            citation = located.citation()
            found.setdefault((citation.message_id, citation.start), citation)
        return list(found.values())

    def positions(self) -> list[Position]:
        """One a person: what the rules are sure of, and what the model says of others."""
        said = {self._person(one): one for one in self.rules.positions if one.tier is Tier.SAID}
        proposers = self._proposers()
        by_person = dict(said)
        for claimed in self.answer.positions:
            position = self._position(claimed)
            if position is None:
                continue
            person = self._person(position)
            if person in said:
                self._compare(said[person], position)
            elif position.stance is PositionStance.PROPOSER or person in proposers:
                continue  # who puts it is no voice
            elif person in by_person:
                by_person[person] = _both(by_person[person], position)
            else:
                by_person[person] = position
        return list(by_person.values())

    def _proposers(self) -> set[str]:
        located = [
            locate(self.thread, one.words)
            for one in self.answer.positions
            if one.stance is PositionStance.PROPOSER
        ]
        proposers = {one.mail.person for one in located if one is not None}
        if self.rules.proposition is not None:
            proposers |= {
                mail.person
                for mail in self.thread.mails
                if mail.mail.message_id == self.rules.proposition.message_id
            }
        return proposers

    def _person(self, position: Position) -> str:
        return next(
            mail.person for mail in self.thread.mails if mail.mail.message_id == position.citation.message_id
        )

    def _position(self, claimed: ClaimedPosition) -> Position | None:
        located = locate(self.thread, claimed.words)
        why = _objection_to(claimed, located, self.thread)
        if located is None or why:
            self.refused.append(f"position: {why} (mail {claimed.words.mail})")
            return None
        mail = located.mail.mail
        is_explicit = polarity(located.text) is _SAME.get(claimed.stance) and not _is_conditional(located)
        return Position(
            person=mail.address.lower(),
            name=display_name(mail.name, mail.address),
            stance=claimed.stance,
            tier=Tier.SAID,
            confidence=_EXPLICIT if is_explicit else _ARGUED,
            citation=located.citation(),
            answers=self.thread.mails[located.mail.parent].mail.message_id
            if located.mail.parent is not None
            else None,
            rule="model",
            read_by=ReadBy.MODEL,
            is_explicit=is_explicit,
            at=mail.date,
        )

    def _compare(self, by_rules: Position, by_model: Position) -> None:
        if by_model.stance not in {by_rules.stance, PositionStance.PROPOSER}:
            self.differences.append(
                ReadDifference(by_rules.person, by_rules.stance.value, by_model.stance.value)
            )

    def objections(self) -> list[Objection]:
        kept = []
        for claimed in self.answer.objections:
            located = locate(self.thread, claimed.words)
            if located is None:
                self.refused.append(
                    f"objection: the quote is not in the own words of mail {claimed.words.mail}"
                )
                continue
            kept.append(
                Objection(
                    located.mail.mail.address.lower(), located.citation(), self._fate(claimed.fate, located)
                )
            )
        return kept

    def _fate(self, claimed: Fate, located: LocatedQuote) -> Fate:
        """What nobody answered and its writer never came back to is not settled, whoever says so."""
        if claimed not in _SETTLED:
            return claimed
        number, person = located.mail.number, located.mail.person
        later = [mail for mail in self.thread.mails if mail.number > number]
        is_followed = any(mail.parent == number or mail.person == person for mail in later) or any(
            mail.is_patch for mail in later
        )
        return claimed if is_followed else Fate.OUTSTANDING

    def outcome_evidence(self) -> list[LocatedQuote]:
        """What shows the outcome; empty where it cannot be said."""
        claimed = self.answer.outcome_sentence
        quotes = claimed.evidence if claimed else ()
        located = [locate(self.thread, quote) for quote in quotes]
        found = [one for one in located if one is not None]
        if not found:
            self.refused.append("outcome: no quote shows it")
            return []
        if self.answer.outcome and not _bears(self.answer.outcome, found):
            self.refused.append(f"outcome: the quoted words do not show {self.answer.outcome.value}")
            return []
        return found


def _bears(outcome: OutcomeKind, found: Sequence[LocatedQuote]) -> bool:
    """Whether the words can show this end: an acceptance needs a word for it, a refusal none for it alone."""
    ways = {polarity(one.text) for one in found}
    is_for = Polarity.FOR in ways or _finds(found, cues.ACCEPTS, cues.RULES, cues.PROMISES, cues.SOLVED)
    is_against = Polarity.AGAINST in ways or _finds(found, cues.REJECTS, cues.WITHDRAWS)
    if outcome is OutcomeKind.ACCEPTED:
        return is_for
    if outcome is OutcomeKind.REVISED:
        return is_for or not is_against
    return outcome is not OutcomeKind.REJECTED or is_against or not is_for


def _finds(found: Sequence[LocatedQuote], *cues: cues.Cue) -> bool:
    return any(cue.finds(sentence) for quote in found for sentence in quote.sentences for cue in cues)


def _objection_to(claimed: ClaimedPosition, located: LocatedQuote | None, thread: LinkedThread) -> str:
    """Why a position is not shown; empty where it may be."""
    if located is None:
        return "the quote is not in the mail's own words"
    if not _names(claimed.person, located, thread):
        return "somebody else wrote the mail"
    return _contradicted(claimed, located)


def _names(claimed: str, located: LocatedQuote, thread: LinkedThread) -> bool:
    """Whether the person named is the one who wrote the mail: by id, address or name."""
    mail = located.mail.mail
    name = display_name(mail.name, mail.address)
    known = {f"p{person_number(thread, located.mail)}", mail.address.lower(), name.lower(), mail.name.lower()}
    return claimed.strip().lower() in known


def _contradicted(claimed: ClaimedPosition, located: LocatedQuote) -> str:
    """Why the words cannot bear the stance; empty where they can."""
    contrary = _CONTRARY.get(claimed.stance)
    if contrary is None:
        return ""
    if polarity(located.text) is contrary:
        return f"the words say the opposite of {claimed.stance.value}"
    if _is_report(located):
        return "the words report what others think"
    if _TURNS.search(fold(located.left_off)):
        return "what turns the words was cut off"
    return ""


def _is_report(located: LocatedQuote) -> bool:
    return all(cues.REPORTED.finds(one) and not _OWN_VIEW.search(one.folded) for one in located.sentences)


def _is_conditional(located: LocatedQuote) -> bool:
    return all(cues.CONDITION.finds(one) for one in located.sentences)


def _both(first: Position, second: Position) -> Position:
    """Two positions of one person: the same is the later one, different ones are mixed."""
    if first.stance is second.stance:
        return second
    return replace(second, stance=PositionStance.MIXED, is_explicit=first.is_explicit and second.is_explicit)
