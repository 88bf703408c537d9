"""Who stands where on the proposition: one position a person at most, said or only quoted."""

import re
from collections import defaultdict

from shared.documents.values import EarlierStance, Position, PositionStance, PropositionForm, Tier
from shared.domain.consensus.cues import CONDITION, NEGATION, PROPOSES, WITHDRAWS_OBJECTION
from shared.domain.consensus.doubt_cues import DOUBTS, OWN_DOUBTS
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.people import display_name
from shared.domain.consensus.proposition import Put, is_answer
from shared.domain.consensus.sentence_context import place
from shared.domain.consensus.stance_claims import StanceClaim
from shared.domain.consensus.stance_place import keeps_quotes, opens_the_answer
from shared.domain.consensus.stance_rules import ACTS, SAID_RULES
from shared.domain.consensus.votes import takes_back_a_vote

_REMARK_CONFIDENCE = 0.5
_NO_LONGER = re.compile(r"\bno longer\b|\bany ?more\b")
_TAKEN_BACK_ELSEWHERE = 3


def read_positions(thread: LinkedThread, put: Put, claims: list[StanceClaim]) -> list[Position]:
    """One position a person at most, by their last word; who says both is mixed."""
    by_person: dict[str, list[StanceClaim]] = defaultdict(list)
    for claim in claims:
        by_person[claim.person].append(claim)
    return [
        _position(thread, put, own)
        for claims in by_person.values()
        for own in _voices(thread, claims)
        if not _is_taken_back(thread, own)
    ]


def _is_taken_back(thread: LinkedThread, own: list[StanceClaim]) -> bool:
    """Somebody withdraws their objection or vote, and says nothing more: they stand nowhere now."""
    last = own[-1]
    return last.stance is PositionStance.OPPOSE and any(
        takes_back_a_vote(sentence) or withdraws(sentence)
        for mail in thread.mails[last.sentence.mail + 1 :]
        if mail.person == last.person
        for sentence in mail.sentences
    )


def withdraws(sentence: OwnSentence) -> bool:
    negates = NEGATION.finds(sentence) and not _NO_LONGER.search(sentence.folded)
    return (
        WITHDRAWS_OBJECTION.finds(sentence)
        and not sentence.asks
        and not negates
        and not CONDITION.finds(sentence)
    )


def given_up(thread: LinkedThread, claims: list[StanceClaim], positions: list[Position]) -> list[OwnSentence]:
    """Plain objections that their owners withdrew, or gave up for another stance."""
    by_person: dict[str, list[StanceClaim]] = defaultdict(list)
    for claim in claims:
        by_person[claim.person].append(claim)
    withdrawn = [
        claim.sentence
        for own in by_person.values()
        if _is_taken_back(thread, own)
        for claim in own
        if claim.stance is PositionStance.OPPOSE and claim.rule in SAID_RULES
    ]
    before = {
        (one.earlier.citation.message_id, one.earlier.citation.start)
        for one in positions
        if one.earlier is not None and one.earlier.stance is PositionStance.OPPOSE
    }
    if not before:
        return withdrawn
    return withdrawn + [
        sentence
        for sentence in thread.sentences()
        if (thread.mail_of(sentence).mail.message_id, sentence.start) in before
    ]


def _voices(thread: LinkedThread, claims: list[StanceClaim]) -> list[list[StanceClaim]]:
    """Addresses of one name are one voice, unless they contradict each other: then they are namesakes."""
    by_address: dict[str, list[StanceClaim]] = defaultdict(list)
    for claim in claims:
        mail = thread.mail_of(claim.sentence).mail
        by_address[thread.people.address(mail)].append(claim)
    last = {own[-1].stance for own in by_address.values()}
    return [claims] if len(last) == 1 else list(by_address.values())


def _position(thread: LinkedThread, put: Put, own: list[StanceClaim]) -> Position:
    acts = [claim for claim in own if claim.rule in ACTS]
    said = [claim for claim in own if claim.rule in SAID_RULES]
    chosen = (acts or said or own)[-1]
    before = _before_the_change(own, chosen)
    stances = {claim.stance for claim in (acts or own)}
    stance = chosen.stance if before is not None or len(stances) == 1 else PositionStance.MIXED
    sure = (
        bool(said)
        and stance is not PositionStance.MIXED
        and not _may_propose(thread, put, chosen)
        and (bool(acts) or not _wavers(thread, put, said))
    )
    mail = thread.mail_of(chosen.sentence)
    return Position(
        person=mail.mail.address.lower(),
        name=display_name(mail.mail.name, mail.mail.address),
        stance=stance,
        tier=Tier.SAID if sure else Tier.REMARK,
        confidence=SAID_RULES[chosen.rule] if sure else _REMARK_CONFIDENCE,
        citation=thread.cite(chosen.sentence),
        answers=None if chosen.answers is None else thread.mails[chosen.answers].mail.message_id,
        binding=chosen.binding,
        rule=chosen.rule,
        marks=thread.people.marks(mail.number),
        at=mail.mail.date,
        earlier=_earlier(thread, before) if sure and before is not None else None,
    )


def _before_the_change(own: list[StanceClaim], last: StanceClaim) -> StanceClaim | None:
    """The opposite stance that somebody took before their last word; None where they took none.

    A change is one only where both are plain, and all of the other side stands in mails before the last word:
    who says both in one mail, or goes to and fro, or hints at the one and says the other, is mixed.
    """
    if last.before is not None:
        return last.before
    opposite = [claim for claim in own if claim.stance is not last.stance]
    same = [claim for claim in own if claim.stance is last.stance]
    if not opposite or last.rule not in SAID_RULES:
        return None
    is_plain = all(claim.rule in SAID_RULES for claim in opposite)
    is_over = max(claim.sentence.mail for claim in opposite) < min(claim.sentence.mail for claim in same)
    return opposite[-1] if is_plain and is_over else None


def _earlier(thread: LinkedThread, before: StanceClaim) -> EarlierStance:
    return EarlierStance(
        before.stance, thread.cite(before.sentence), thread.mail_of(before.sentence).mail.date
    )


def _may_propose(thread: LinkedThread, put: Put, claim: StanceClaim) -> bool:
    """Where plain text is put by another mail than the first, somebody else may be the one who puts it."""
    if put.form is not PropositionForm.TEXT or put.mail is thread.root:
        return False
    # An archive that lost its quotes lost the order of its mails, too: there an answer may come first.
    lost_order = is_answer(thread.root) and not any(mail.mail.quotes for mail in thread.mails)
    if not lost_order:
        return True
    # Who opens with "I support adding it" may go on to propose more: this is not theirs.
    if claim.rule == "words" and claim.sentence.index == 0:
        return False
    return any(
        PROPOSES.finds(sentence)
        for mail in thread.mails
        if mail.person == claim.person
        for sentence in mail.sentences
    )


def _wavers(thread: LinkedThread, put: Put, said: list[StanceClaim]) -> bool:
    """Signs that a supporter is not simply one: doubts in the same mail, or again and again after it.

    Doubts before the last word are settled by it.
    """
    if said[-1].stance is PositionStance.OPPOSE:
        return False  # doubts are what an objector has
    person, last = said[-1].person, said[-1].sentence.mail
    doubts = [
        sentence.mail
        for mail in thread.mails[last:]
        if mail.person == person
        for sentence in mail.sentences
        if DOUBTS.finds(sentence)
    ]
    in_mail = doubts.count(last)
    if said[-1].rule.startswith("words"):
        near = in_mail > 1
    else:
        near = put.form is not PropositionForm.PATCH and _has_doubts(thread, said[-1])
    return near or len(doubts) > _TAKEN_BACK_ELSEWHERE


def _has_doubts(thread: LinkedThread, claim: StanceClaim) -> bool:
    """Doubts in the mail. Who opens or closes with a stance takes it back by doubts of their own only."""
    is_plain = place(thread, claim.sentence) != "inside" or opens_the_answer(thread, claim.sentence)
    is_plain = is_plain and keeps_quotes(thread)
    doubts = OWN_DOUBTS if is_plain else DOUBTS
    others = (one for one in thread.mail_of(claim.sentence).sentences if one is not claim.sentence)
    return OWN_DOUBTS.finds(claim.sentence) or any(map(doubts.finds, others))
