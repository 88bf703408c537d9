"""Sentences that settle something: rulings, acceptance, results of votes, promises, withdrawals.

Only people whom the source names decide. The same words from anybody else are quoted as a possible decision.
"""

import re
from dataclasses import dataclass, field

from shared.domain.consensus.cues import (
    ACCEPTS,
    CLOSES_CALL,
    NEGATION,
    PROMISES,
    REJECTS,
    REPORTED,
    RULES,
    WITHDRAWS,
)
from shared.domain.consensus.linked_thread import LinkedMail, LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.positions import takes_nothing_back
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.reading import PropositionForm

__all__ = ["DECIDING_ROLES", "Settlement", "Settlements", "read_settlements"]

DECIDING_ROLES = frozenset(
    {
        "maintainer",
        "chair",
        "editor",
        "shepherd",
        "release manager",
        "area director",
        "secretary",
        "rapporteur",
    }
)
"""Roles whose holder may settle something alone. A binding voter only votes."""
_CONDITION = re.compile(
    r"\b(?:if|unless|once|until|when|after|before|should|would|could|might|may|not yet)\b"
)
_CANCELLED = re.compile(r"\bcancel")
_NEXT_VERSION = re.compile(
    r"\b(?:next|updated|new|upcoming) (?:version|revision|draft|reroll|iteration)\b|\bre-?roll\b|\bv\d\b|"
    r"\bupdated? (?:the|my|our) (?:draft|document|text|proposal|patch|charter)\b"
)
_SHORT = 250


@dataclass(frozen=True, slots=True)
class Settlement:
    """A sentence that settles something, what it does, and the role of its writer."""

    sentence: OwnSentence
    act: str
    role: str | None


@dataclass(slots=True)
class Settlements:
    accepted: list[Settlement] = field(default_factory=list)
    ruled: list[Settlement] = field(default_factory=list)
    rejected: list[Settlement] = field(default_factory=list)
    passed: list[Settlement] = field(default_factory=list)
    cancelled: list[Settlement] = field(default_factory=list)
    withdrawn: list[Settlement] = field(default_factory=list)
    promised: list[Settlement] = field(default_factory=list)
    """By the proposer: remarks taken over."""
    edited: list[Settlement] = field(default_factory=list)
    """By another: one who says that they will do what was asked."""
    taken: list[Settlement] = field(default_factory=list)
    """Words of acceptance by one without a role."""

    @property
    def names_next_version(self) -> bool:
        return any(_NEXT_VERSION.search(one.sentence.folded) for one in self.promised)


def read_settlements(thread: LinkedThread, put: Put) -> Settlements:
    found = Settlements()
    for mail in thread.mails:
        # What the proposition itself announces ("I have applied this locally") settles nothing.
        if mail.number in put.mails or mail.is_patch:
            continue
        role = thread.people.role(mail.number)
        deciding = role.role if role is not None and role.role in DECIDING_ROLES else None
        for sentence in mail.sentences:
            _file(found, thread, put, mail, sentence, deciding)
    return found


def _file(
    found: Settlements,
    thread: LinkedThread,
    put: Put,
    mail: LinkedMail,
    sentence: OwnSentence,
    role: str | None,
) -> None:
    if sentence.asks or len(sentence.folded) > _SHORT * 2:
        return
    by_proposer = mail.person in put.proposers
    if CLOSES_CALL.finds(sentence) and put.form in {PropositionForm.VOTE, PropositionForm.CALL}:
        if by_proposer or role:
            kind = found.cancelled if _CANCELLED.search(sentence.folded) else found.passed
            kind.append(Settlement(sentence, "closed", role or "proposer"))
        return
    if role and REJECTS.finds(sentence) and not REPORTED.finds(sentence):
        found.rejected.append(Settlement(sentence, "rejected", role))
    elif role and RULES.finds(sentence) and not REPORTED.finds(sentence):
        if not NEGATION.finds(sentence) and not _CONDITION.search(sentence.folded):
            found.ruled.append(Settlement(sentence, "ruled", role))
    elif ACCEPTS.finds(sentence) and len(sentence.folded) <= _SHORT and not by_proposer:
        if takes_nothing_back(thread, sentence) or (
            role and not NEGATION.finds(sentence) and len(sentence.words) < 12
        ):
            (found.accepted if role else found.taken).append(Settlement(sentence, "accepted", role))
    elif WITHDRAWS.finds(sentence) and by_proposer:
        found.withdrawn.append(Settlement(sentence, "withdrawn", None))
    elif PROMISES.finds(sentence) and not NEGATION.finds(sentence):
        (found.promised if by_proposer else found.edited).append(Settlement(sentence, "promised", role))
