"""Checks every claim of a model's answer against the thread and against the rules' reading.

| claim | is refused if | is marked as the model's reading if |
|---|---|---|
| any quote | the named mail has it neither in its own words nor in its subject | |
| a position | another person wrote it, or the words say the opposite, report, only ask or answer something else | no word takes a side |
| an outcome | the quotes cannot show it | no person with a deciding role rules so in them |
| a decision | no word of it settles anything | its writer has no such role |
| a sentence | see `narrated.py` | see `narrated.py` |

A part of a sentence is widened to the whole sentence first. Each refusal and each mark has its cause.
"""  # noqa: E501

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from shared.model_reading import ends
from shared.model_reading.answer import ClaimedObjection, ClaimedPosition, ClaimedQuote, ModelAnswer
from shared.model_reading.evidence import LocatedQuote, locate
from shared.model_reading.polarity import Polarity, leaning, outright
from shared.model_reading.stands import PositionChecker, names, position_checker_of
from shared.models.values import (
    Decision,
    Fate,
    Objection,
    Position,
    PositionStance,
    PropositionForm,
    ReadBy,
    ReadDifference,
    SentenceCitation,
    ThreadReading,
    Tier,
)
from shared.reading import cues
from shared.reading.linked_thread import LinkedThread, display_name
from shared.reading.mails import OwnSentence
from shared.reading.positions import withdrawal_of, withdraws
from shared.reading.rulings import DECIDING_ROLES
from shared.reading.stances import FIRM_NO, OBJECTS

_EXPLICIT, _ARGUED = 0.9, 0.7
_SIDES = frozenset({PositionStance.SUPPORT, PositionStance.OPPOSE})
_SETTLES = re.compile(
    r"'ll\b|'ve\b|\b(?:will|shall|should|can|need to|let's|has to|has been|already|done|fixed|changed|added|"
    r"updated|agreed?|decided?|closed|passed|over|reasonable|plan|expect|please do|(?:cancel|drop|remov|keep|"
    r"split|waive|merg|queu|appl|adopt|accept|reject|pick)\w*)\b"
)
_SHORT = 8
"""A sentence of at most this many words may settle something in any words: "Yeah, passable."."""
_GIVES_UP = re.compile(
    r"\b(?:withdr[ae]w\w*|retract\w*|drop\w*|no longer|lift\w*|fair enough|never ?mind|will not discuss)\b"
)


@dataclass
class CheckedAnswer:
    """The claims that hold, and the reasons why the other claims are refused or marked."""

    thread: LinkedThread
    answer: ModelAnswer
    rules: ThreadReading
    strict: bool = False
    """Whether nothing is shown on the model's word alone."""
    refused: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    differences: list[ReadDifference] = field(default_factory=list)

    def citations(self, quotes: Sequence[ClaimedQuote], claim: str) -> list[SentenceCitation]:
        """Return a citation for each quote that is found, each sentence once."""
        found: dict[tuple[str, int], SentenceCitation] = {}
        for located in self._located(quotes, claim):
            citation = located.citation()
            found.setdefault(citation.place, citation)
        return list(found.values())

    def _located(self, quotes: Sequence[ClaimedQuote], claim: str) -> list[LocatedQuote]:
        found = []
        for quote in quotes:
            located = locate(self.thread, quote)
            if located is None or located.subject:
                self._refuse(claim, "the quote is not in the mail's own words", quote)
            else:
                found.append(located)
        return found

    def _refuse(self, claim: str, cause: str, quote: ClaimedQuote | None = None) -> None:
        self.refused.append(f"{claim}: {cause}{f' (mail {quote.mail})' if quote else ''}")

    @cached_property
    def sure_positions(self) -> dict[str, Position]:
        """The sure positions of the rules, by person."""
        return {
            self._person(position): position
            for position in self.rules.positions
            if position.tier is Tier.SAID
        }

    @cached_property
    def _proposal_quotes(self) -> list[LocatedQuote]:
        quotes = [locate(self.thread, quote) for quote in self.answer.propositions]
        return [quote for quote in quotes if quote is not None]

    @cached_property
    def checker(self) -> PositionChecker:
        claimed = [(position, locate(self.thread, position.words)) for position in self.answer.positions]
        sides = {
            located.mail.person: position.stance
            for position, located in claimed
            if located is not None and names(position.person, located, self.thread)
        }
        sides |= {person: position.stance for person, position in self.sure_positions.items()}
        proposing = {quote.mail.number for quote in self._proposal_quotes}
        matter = " ".join([self.thread.root.mail.subject, *(quote.text for quote in self._proposal_quotes)])
        return position_checker_of(self.thread, proposing, self._proposers, sides, matter)

    @cached_property
    def _proposers(self) -> set[str]:
        quotes = [
            locate(self.thread, position.words)
            for position in self.answer.positions
            if position.stance is PositionStance.PROPOSER
        ]
        proposers = {quote.mail.person for quote in quotes if quote is not None}
        proposition = self.rules.proposition
        proposing_ids = {quote.mail.mail.message_id for quote in self._proposal_quotes[:1]}
        # The rules are sure of a form. Plain text they only guess.
        if proposition is not None and (
            proposition.form is not PropositionForm.TEXT
            or not proposers
            or proposition.message_id in proposing_ids
        ):
            proposers |= {
                mail.person for mail in self.thread.mails if mail.mail.message_id == proposition.message_id
            }
        return proposers

    @cached_property
    def positions(self) -> list[Position]:
        """One position for each person: the rules' where they are sure, else the model's."""
        by_person = dict(self.sure_positions)
        for claimed in self.answer.positions:
            position = self._position(claimed)
            if position is None:
                continue
            person = self._person(position)
            if person in self.sure_positions:
                self._compare(self.sure_positions[person], position)
            elif position.stance is PositionStance.PROPOSER:
                continue
            elif person in self._proposers:
                self._refuse(f"position of {position.name}", "the proposer is no voice", claimed.words)
            elif person in by_person:
                by_person[person] = _both(by_person[person], position)
            else:
                by_person[person] = position
        return list(by_person.values())

    def _person(self, position: Position) -> str:
        return next(
            mail.person for mail in self.thread.mails if mail.mail.message_id == position.citation.message_id
        )

    def _position(self, claimed: ClaimedPosition) -> Position | None:
        located = locate(self.thread, claimed.words)
        if located is not None and located.subject:
            located = None
        cause = self.checker.refusal(claimed, located)
        is_explicit = located is not None and not cause and self.checker.is_explicit(claimed, located)
        if located is not None and not cause and not is_explicit and claimed.stance in _SIDES:
            cause = self._argument_refusal(located)
        if located is None or cause:
            self._refuse(f"position of {self._name(claimed, located)}", cause, claimed.words)
            return None
        if claimed.is_explicit and not is_explicit and claimed.stance in _SIDES:
            name, number = self._name(claimed, located), claimed.words.mail
            self.marked.append(f"position of {name}: no word takes a side (mail {number})")
        mail = located.mail.mail
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

    def _argument_refusal(self, located: LocatedQuote) -> str:
        if self.strict:
            return "no word takes a side, and a mail gives orders to the model"
        return "" if self.checker.is_argued(located) else "the words argue nothing"

    def _name(self, claimed: ClaimedPosition, located: LocatedQuote | None) -> str:
        if located is not None and names(claimed.person, located, self.thread):
            return display_name(located.mail.mail.name, located.mail.mail.address)
        return claimed.person[:60] or "nobody"

    def _compare(self, by_rules: Position, by_model: Position) -> None:
        if by_model.stance not in {by_rules.stance, PositionStance.PROPOSER}:
            self.differences.append(
                ReadDifference(by_rules.person, by_rules.stance.value, by_model.stance.value)
            )

    @cached_property
    def objections(self) -> list[Objection]:
        kept = []
        for claimed in self.answer.objections:
            located = locate(self.thread, claimed.words)
            if located is None or located.subject:
                self._refuse("objection", "the quote is not in the mail's own words", claimed.words)
                continue
            fate = self._fate(claimed, located)
            if fate is not claimed.fate:
                self._refuse(
                    "objection", f'the thread does not confirm "{claimed.fate.value}"', claimed.words
                )
            kept.append(Objection(located.mail.mail.address.lower(), located.citation(), fate))
        return kept

    def _fate(self, claimed: ClaimedObjection, located: LocatedQuote) -> Fate:
        """Return the claimed fate, or UNCLEAR if the thread does not confirm it."""
        fate, objection = claimed.fate, located.sentences[0]
        settling = locate(self.thread, claimed.settled) if claimed.settled else None
        asks = settling is not None and all(sentence.asks for sentence in settling.sentences)
        if settling is not None and (settling.mail.number <= located.mail.number or asks):
            settling = None
        if fate is Fate.WITHDRAWN:
            own = (
                settling is not None
                and settling.mail.person == located.mail.person
                and any(
                    withdraws(sentence) or _GIVES_UP.search(sentence.folded)
                    for sentence in settling.sentences
                )
            )
            return fate if own or withdrawal_of(self.thread, objection) else Fate.UNCLEAR
        if fate is Fate.OUTSTANDING:
            is_withdrawn = withdrawal_of(self.thread, objection) is not None
            return Fate.UNCLEAR if is_withdrawn else fate
        if settling is None and fate is Fate.ANSWERED and self._is_replied_to(located):
            return fate
        if fate is Fate.UNCLEAR or settling is None or not self._answers(settling, located):
            return Fate.UNCLEAR
        if fate is Fate.TAKEN:
            is_taken = any(
                cues.PROMISES.finds(sentence) or leaning(sentence.text) is Polarity.FOR
                for sentence in settling.sentences
            )
            return fate if is_taken else Fate.UNCLEAR
        return fate

    def _is_replied_to(self, objection: LocatedQuote) -> bool:
        number, person = objection.mail.number, objection.mail.person
        return any(mail.parent == number and mail.person != person for mail in self.thread.mails)

    def _answers(self, settling: LocatedQuote, objection: LocatedQuote) -> bool:
        """Return whether it is by the objector, a proposer or a role holder, or answers the objection."""
        if settling.mail.person == objection.mail.person:
            return True
        above = {mail.number for mail in self.thread.ancestors(settling.mail)}
        return (
            objection.mail.number in above
            or settling.mail.person in self.checker.proposers
            or self.thread.people.role(settling.mail.number) is not None
        )

    def decisions(self) -> list[Decision]:
        """Return the sure decisions of the rules, and the model's with a tier by role and wording."""
        kept = {
            decision.citation.place: decision
            for decision in self.rules.decisions
            if decision.tier is Tier.SAID
        }
        for located in self._located(self.answer.decisions, "decision"):
            citation, holder = located.citation(), self.thread.people.role(located.mail.number)
            is_short = len(located.text.split()) <= _SHORT
            if not is_short and not any(_may_settle(sentence) for sentence in located.sentences):
                self.refused.append(
                    f"decision: no word of it settles anything (mail {located.mail.number + 1})"
                )
                continue
            rules = any(map(ends.rules, located.sentences))
            has_role = holder is not None and holder.role in DECIDING_ROLES
            tier = Tier.SAID if has_role and rules else Tier.REMARK
            kept.setdefault(citation.place, Decision(located.mail.mail.address.lower(), citation, tier))
        return list(kept.values())

    def outcome_evidence(self) -> list[LocatedQuote]:
        """Return the quotes that show the outcome, or an empty list if it must not be stated."""
        claimed, kind = self.answer.outcome_sentence, self.answer.outcome
        quotes = [locate(self.thread, quote) for quote in (claimed.evidence if claimed else ())]
        found = [quote for quote in quotes if quote is not None]
        if kind is None or not found:
            self._refuse("outcome", "no quote shows it")
            return []
        sides = [position.stance for position in self.positions]
        if cause := ends.outcome_refusal(kind, found, sides, self.thread):
            self._refuse("outcome", f"{kind.value}: {cause}")
            return []
        if self.strict and ends.ruling(self.thread, kind, found) is None:
            self._refuse("outcome", f"{kind.value}: no person rules so, and a mail gives orders to the model")
            return []
        return found

    def proposition(self) -> LocatedQuote | None:
        chosen = self.answer.proposition
        located = locate(self.thread, chosen) if chosen else None
        return None if located is None or located.subject else located

    @cached_property
    def seen_objections(self) -> list[str]:
        """The people who object by the rules' own reading, whatever the model names."""
        against = {
            person
            for person, position in self.sure_positions.items()
            if position.stance is PositionStance.OPPOSE
        }
        return sorted(against | self._plain_objectors() | self._remarked())

    @cached_property
    def _supporters(self) -> set[str]:
        return {
            self._person(position) for position in self.positions if position.stance is PositionStance.SUPPORT
        }

    def _remarked(self) -> set[str]:
        """Return the writers of remarks that the rules see as unsettled objections."""
        writers = {mail.mail.message_id: mail.person for mail in self.thread.mails}
        settled = {
            writers[objection.citation.message_id]
            for objection in self.objections
            if objection.fate in {Fate.ANSWERED, Fate.TAKEN, Fate.WITHDRAWN}
        }
        remarked = {
            writers[objection.citation.message_id]
            for objection in self.rules.objections
            if objection.fate in {Fate.OUTSTANDING, Fate.UNCLEAR}
        }
        return remarked - self._supporters - settled - self.checker.proposers

    def _plain_objectors(self) -> set[str]:
        """Return who objects outright to the proposal and does not take it back later."""
        found: set[str] = set()
        for mail in self.thread.mails:
            if mail.person in self.checker.proposers or mail.is_machine:
                continue
            for sentence in mail.sentences:
                if _objects_outright(sentence) and self.thread.answered(sentence) in self.checker.proposing:
                    found.add(mail.person)
                elif mail.person in found and (withdraws(sentence) or ends.rules(sentence)):
                    found.discard(mail.person)
        return found - self._supporters


def _objects_outright(sentence: OwnSentence) -> bool:
    objects = FIRM_NO.search(sentence.folded) or OBJECTS.search(sentence.folded)
    return bool(objects) and not sentence.asks and outright(sentence.text) is Polarity.AGAINST


def _may_settle(sentence: OwnSentence) -> bool:
    if sentence.asks:
        return False
    return bool(
        _SETTLES.search(sentence.folded)
        or cues.PROMISES.finds(sentence)
        or ends.rules(sentence)
        or sentence.folded.lstrip().startswith("+1")
    )


def _both(first: Position, second: Position) -> Position:
    """Combine two positions of one person: the later one if the stances agree, else a mixed one."""
    if first.stance is second.stance:
        return second
    return replace(second, stance=PositionStance.MIXED, is_explicit=first.is_explicit and second.is_explicit)
