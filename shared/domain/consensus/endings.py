"""How a thread ended, before it is put in words: a kind, what it stands on, and the evidence for it."""

import re
from dataclasses import dataclass

from shared.documents.values import (
    ConsensusBasis,
    OutcomeKind,
    Position,
    PositionStance,
    ReadGenre,
    VoteCount,
)
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.rulings import EndingWord, Settlements

_CHANGES = re.compile(
    r"\bwith (?:the following|some|minor|small|a few|slight|my|your|these|those)\b|"
    r"\bwith (?:the|an?|that|this) (?:\w+ )?(?:update|changes?|fix|tweak|adjustment|addition|warning|edit|"
    r"correction)\b|\bi (?:tentatively "
    r")?queued\b|"
    r"\b(?:tweak|squash|fix(?:ed)?[ -]?up|amend|touch(?:ed)? up|edit|reword|adjust)\w*\b|"
    r"\bwhile (?:at it|applying|merging|queu?e?ing)\b|\b(?:i(?:'ve| have)?) (?:also )?(?:removed|"
    r"changed|added|fixed|dropped)\b"
)
"""Words of somebody who takes a patch and changes it."""


@dataclass(slots=True)
class Ending:
    """The kind with its reasons, before it is put in words."""

    kind: OutcomeKind
    basis: ConsensusBasis
    rule: str
    sure: bool = False
    settled_by: EndingWord | None = None
    evidence: OwnSentence | None = None


@dataclass(slots=True)
class Evidence:
    thread: LinkedThread
    put: Put
    genre: ReadGenre
    settlements: Settlements
    said: list[Position]
    heard_against: bool
    """Anybody was heard against it, said or not."""
    votes: VoteCount

    def count(self, stance: PositionStance) -> int:
        return sum(position.stance is stance for position in self.said)

    @property
    def newer_version(self) -> bool:
        """A later version came after somebody else had spoken: what they said may be in it."""
        first = self.put.mail.version
        others = [mail.number for mail in self.thread.mails if mail.person not in self.put.proposers]
        return any(
            self.thread.mails[number].version > first and others and others[0] < number
            for number in self.put.mails
        )

    @property
    def is_taken_with_changes(self) -> bool:
        """Who accepted it says what they changed in it, or shows it."""
        accepted = self.settlements.accepted or self.settlements.taken
        if not accepted:
            return False
        mail = self.thread.mail_of(accepted[-1].sentence)
        return mail.has_diff or any(_CHANGES.search(one.folded) for one in mail.sentences)


def unknown(kind: OutcomeKind, rule: str, *, sure: bool = False) -> Ending:
    return Ending(kind, ConsensusBasis.UNKNOWN, rule, sure=sure)


def counted(kind: OutcomeKind, rule: str, *, sure: bool = True) -> Ending:
    return Ending(kind, ConsensusBasis.COUNTED, rule, sure=sure)


def ended_by(
    kind: OutcomeKind, settlement: EndingWord, basis: ConsensusBasis, rule: str, *, sure: bool
) -> Ending:
    return Ending(kind, basis, rule, sure=sure, settled_by=settlement, evidence=settlement.sentence)
