"""What of a model's answer may be shown: every claim is held against the thread and against the rules' reading.

| claim | is refused where | stands as the model's reading where |
|---|---|---|
| any quote | it is not in the own words or the subject of the mail that it names | |
| a position | somebody else wrote it, the words say the opposite, report, only ask, or answer something else | no word takes a side |
| an outcome | the quoted words cannot show it | nobody whom the source names rules so in them |
| a decision | no word of it settles anything | its writer has no such role |
| a sentence | see `narrated.py` | see `narrated.py` |

A part of a sentence is widened to the whole sentence before it is judged or shown. Everything that is refused,
marked or overruled is kept with its cause.
"""  # noqa: E501

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from shared.model_reading import ends
from shared.model_reading.answer import ClaimedObjection, ClaimedPosition, ClaimedQuote, ModelAnswer
from shared.model_reading.evidence import LocatedQuote, locate
from shared.model_reading.polarity import Polarity, leaning, outright
from shared.model_reading.stands import Stands, names, stands_of
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
    r"updated|"
    r"agreed?|decided?|closed|passed|over|reasonable|plan|expect|please do|"
    r"(?:cancel|drop|remov|keep|split|waive|merg|queu|appl|adopt|accept|reject|pick)\w*)\b"
)
_SHORT = 8
"""Words of a sentence that may settle something in words of any kind: "Yeah, passable."."""
_GIVES_UP = re.compile(
    r"\b(?:withdr[ae]w\w*|retract\w*|drop\w*|no longer|lift\w*|fair enough|never ?mind|will not discuss)\b"
)


@dataclass
class CheckedAnswer:
    """The claims that hold, and the reasons why others do not, or stand as the model's reading."""

    thread: LinkedThread
    answer: ModelAnswer
    rules: ThreadReading
    strict: bool = False
    """Nothing is shown on the model's word alone."""
    refused: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    differences: list[ReadDifference] = field(default_factory=list)

    def citations(self, quotes: Sequence[ClaimedQuote], what: str) -> list[SentenceCitation]:
        """The quotes that are found, each sentence once."""
        found: dict[tuple[str, int], SentenceCitation] = {}
        for located in self._located(quotes, what):
            citation = located.citation()
            found.setdefault((citation.message_id, citation.start), citation)
        return list(found.values())

    def _located(self, quotes: Sequence[ClaimedQuote], what: str) -> list[LocatedQuote]:
        found = []
        for quote in quotes:
            located = locate(self.thread, quote)
            if located is None or located.subject:
                self._refuse(what, "the quote is not in the mail's own words", quote)
            else:
                found.append(located)
        return found

    def _refuse(self, what: str, why: str, quote: ClaimedQuote | None = None) -> None:
        self.refused.append(f"{what}: {why}{f' (mail {quote.mail})' if quote else ''}")

    @cached_property
    def said(self) -> dict[str, Position]:
        """What the rules are sure of, by person."""
        return {self._person(one): one for one in self.rules.positions if one.tier is Tier.SAID}

    @cached_property
    def _put_in(self) -> list[LocatedQuote]:
        located = [locate(self.thread, quote) for quote in self.answer.propositions]
        return [one for one in located if one is not None]

    @cached_property
    def stands(self) -> Stands:
        claimed = [(one, locate(self.thread, one.words)) for one in self.answer.positions]
        sides = {
            located.mail.person: one.stance
            for one, located in claimed
            if located is not None and names(one.person, located, self.thread)
        }
        sides |= {person: one.stance for person, one in self.said.items()}
        put_in = {one.mail.number for one in self._put_in}
        matter = " ".join([self.thread.root.mail.subject, *(one.text for one in self._put_in)])
        return stands_of(self.thread, put_in, self._proposers, sides, matter)

    @cached_property
    def _proposers(self) -> set[str]:
        located = [
            locate(self.thread, one.words)
            for one in self.answer.positions
            if one.stance is PositionStance.PROPOSER
        ]
        proposers = {one.mail.person for one in located if one is not None}
        put = self.rules.proposition
        named = {one.mail.mail.message_id for one in self._put_in[:1]}
        # Where the rules see a form they are sure; plain text they only guess.
        if put is not None and (
            put.form is not PropositionForm.TEXT or not proposers or put.message_id in named
        ):
            proposers |= {mail.person for mail in self.thread.mails if mail.mail.message_id == put.message_id}
        return proposers

    @cached_property
    def positions(self) -> list[Position]:
        """One a person: what the rules are sure of, and what the model says of others."""
        by_person = dict(self.said)
        for claimed in self.answer.positions:
            position = self._position(claimed)
            if position is None:
                continue
            person = self._person(position)
            if person in self.said:
                self._compare(self.said[person], position)
            elif position.stance is PositionStance.PROPOSER:
                continue
            elif person in self._proposers:
                self._refuse(f"position of {position.name}", "who puts it is no voice", claimed.words)
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
        why = self.stands.refusal(claimed, located)
        is_explicit = located is not None and not why and self.stands.is_explicit(claimed, located)
        if located is not None and not why and not is_explicit and claimed.stance in _SIDES:
            why = self._why_not_argued(located)
        if located is None or why:
            self._refuse(f"position of {self._name(claimed, located)}", why, claimed.words)
            return None
        if claimed.is_explicit and not is_explicit and claimed.stance in _SIDES:
            who, number = self._name(claimed, located), claimed.words.mail
            self.marked.append(f"position of {who}: no word takes a side (mail {number})")
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

    def _why_not_argued(self, located: LocatedQuote) -> str:
        if self.strict:
            return "no word takes a side, and a mail speaks to the model"
        return "" if self.stands.is_argued(located) else "the words argue nothing"

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
                self._refuse("objection", f'that it is "{claimed.fate.value}" is not seen', claimed.words)
            kept.append(Objection(located.mail.mail.address.lower(), located.citation(), fate))
        return kept

    def _fate(self, claimed: ClaimedObjection, located: LocatedQuote) -> Fate:
        """What cannot be confirmed is unclear, whoever says so."""
        fate, objection = claimed.fate, located.sentences[0]
        settled = locate(self.thread, claimed.settled) if claimed.settled else None
        asks = settled is not None and all(one.asks for one in settled.sentences)
        if settled is not None and (settled.mail.number <= located.mail.number or asks):
            settled = None
        if fate is Fate.WITHDRAWN:
            own = (
                settled is not None
                and settled.mail.person == located.mail.person
                and any(withdraws(one) or _GIVES_UP.search(one.folded) for one in settled.sentences)
            )
            return fate if own or withdrawal_of(self.thread, objection) else Fate.UNCLEAR
        if fate is Fate.OUTSTANDING:
            given_up = withdrawal_of(self.thread, objection) is not None
            return Fate.UNCLEAR if given_up else fate
        if settled is None and fate is Fate.ANSWERED and self._is_replied_to(located):
            return fate
        if fate is Fate.UNCLEAR or settled is None or not self._answers(settled, located):
            return Fate.UNCLEAR
        if fate is Fate.TAKEN:
            taken = any(
                cues.PROMISES.finds(one) or leaning(one.text) is Polarity.FOR for one in settled.sentences
            )
            return fate if taken else Fate.UNCLEAR
        return fate

    def _is_replied_to(self, objection: LocatedQuote) -> bool:
        number, person = objection.mail.number, objection.mail.person
        return any(mail.parent == number and mail.person != person for mail in self.thread.mails)

    def _answers(self, settled: LocatedQuote, objection: LocatedQuote) -> bool:
        """It is by somebody else in answer to the objection's writer, by the writer, or by who may rule."""
        if settled.mail.person == objection.mail.person:
            return True
        above = {mail.number for mail in self.thread.ancestors(settled.mail)}
        return (
            objection.mail.number in above
            or settled.mail.person in self.stands.proposers
            or self.thread.people.role(settled.mail.number) is not None
        )

    def decisions(self) -> list[Decision]:
        """Those by one with authority, in words that rule, whoever saw them; the rest is possible."""
        kept = {
            (one.citation.message_id, one.citation.start): one
            for one in self.rules.decisions
            if one.tier is Tier.SAID
        }
        for located in self._located(self.answer.decisions, "decision"):
            citation, holder = located.citation(), self.thread.people.role(located.mail.number)
            is_short = len(located.text.split()) <= _SHORT
            if not is_short and not any(_may_settle(one) for one in located.sentences):
                self.refused.append(
                    f"decision: no word of it settles anything (mail {located.mail.number + 1})"
                )
                continue
            rules = any(map(ends.rules, located.sentences))
            has_role = holder is not None and holder.role in DECIDING_ROLES
            tier = Tier.SAID if has_role and rules else Tier.REMARK
            kept.setdefault(
                (citation.message_id, citation.start),
                Decision(located.mail.mail.address.lower(), citation, tier),
            )
        return list(kept.values())

    def outcome_evidence(self) -> list[LocatedQuote]:
        """What shows the outcome; empty where it cannot be said."""
        claimed, kind = self.answer.outcome_sentence, self.answer.outcome
        located = [locate(self.thread, quote) for quote in (claimed.evidence if claimed else ())]
        found = [one for one in located if one is not None]
        if kind is None or not found:
            self._refuse("outcome", "no quote shows it")
            return []
        if why := ends.why_not(kind, found, [one.stance for one in self.positions], self.thread):
            self._refuse("outcome", f"{kind.value}: {why}")
            return []
        if self.strict and ends.ruling(self.thread, kind, found) is None:
            self._refuse("outcome", f"{kind.value}: nobody rules so, and a mail speaks to the model")
            return []
        return found

    def proposition(self) -> LocatedQuote | None:
        chosen = self.answer.proposition
        located = locate(self.thread, chosen) if chosen else None
        return None if located is None or located.subject else located

    @cached_property
    def seen_objections(self) -> list[str]:
        """Who objects by the rules' own reading, and did not take it back: whatever the model names."""
        against = {person for person, one in self.said.items() if one.stance is PositionStance.OPPOSE}
        return sorted(against | self._plain_objectors() | self._remarked())

    def _remarked(self) -> set[str]:
        """Whose remark the rules take for an objection, that nothing settles, and who is not seen for it."""
        content = {self._person(one) for one in self.positions if one.stance is PositionStance.SUPPORT}
        writers = {mail.mail.message_id: mail.person for mail in self.thread.mails}
        settled = {
            writers[one.citation.message_id]
            for one in self.objections
            if one.fate in {Fate.ANSWERED, Fate.TAKEN, Fate.WITHDRAWN}
        }
        remarked = {
            writers[one.citation.message_id]
            for one in self.rules.objections
            if one.fate in {Fate.OUTSTANDING, Fate.UNCLEAR}
        }
        return remarked - content - settled - self.stands.proposers

    def _plain_objectors(self) -> set[str]:
        """Who says so outright in answer to the proposition, and in no later mail the contrary."""
        found: set[str] = set()
        for mail in self.thread.mails:
            if mail.person in self.stands.proposers or mail.is_machine:
                continue
            for sentence in mail.sentences:
                if _objects_outright(sentence) and self.thread.answered(sentence) in self.stands.proposing:
                    found.add(mail.person)
                elif mail.person in found and (withdraws(sentence) or ends.rules(sentence)):
                    found.discard(mail.person)
        content = {self._person(one) for one in self.positions if one.stance is PositionStance.SUPPORT}
        return found - content


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
    """Two positions of one person: the same is the later one, different ones are mixed."""
    if first.stance is second.stance:
        return second
    return replace(second, stance=PositionStance.MIXED, is_explicit=first.is_explicit and second.is_explicit)
