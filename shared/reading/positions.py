"""One position for each person, the fate of each objection, and the type of consensus."""

import re
from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum

from shared.models.values import (
    ConsensusType,
    EarlierStance,
    Fate,
    OutcomeKind,
    Position,
    PositionStance,
    PropositionForm,
    Tier,
)
from shared.reading import cues
from shared.reading.claims import ACTS, SAID_RULES, StanceClaim
from shared.reading.linked_thread import LinkedMail, LinkedThread, display_name
from shared.reading.mails import OwnSentence
from shared.reading.proposal import Proposal, is_answer
from shared.reading.stance_cues import AGREES, APPROVES, DOUBTS, OWN_DOUBTS, SUPPORTS
from shared.reading.stances import keeps_quotes, opens_the_answer, place, takes_nothing_back
from shared.reading.votes import takes_back_a_vote

_REMARK_CONFIDENCE = 0.5
_NO_LONGER = re.compile(r"\bno longer\b|\bany ?more\b")
_TAKEN_BACK_ELSEWHERE = 3


def read_positions(thread: LinkedThread, proposal: Proposal, claims: list[StanceClaim]) -> list[Position]:
    """Return at most one position for each address, by its last word. Contrary words are mixed."""
    by_person: dict[str, list[StanceClaim]] = defaultdict(list)
    for claim in claims:
        by_person[claim.person].append(claim)
    return [_position(thread, proposal, own) for own in by_person.values() if not _is_taken_back(thread, own)]


def _is_taken_back(thread: LinkedThread, own: list[StanceClaim]) -> bool:
    """Return whether a person withdraws their objection or vote and takes no other stance."""
    last = own[-1]
    return last.stance is PositionStance.OPPOSE and any(
        takes_back_a_vote(sentence) or withdraws(sentence)
        for mail in thread.mails[last.sentence.mail + 1 :]
        if mail.person == last.person
        for sentence in mail.sentences
    )


def withdraws(sentence: OwnSentence) -> bool:
    negates = cues.NEGATION.finds(sentence) and not _NO_LONGER.search(sentence.folded)
    return (
        cues.WITHDRAWS_OBJECTION.finds(sentence)
        and not sentence.asks
        and not negates
        and not cues.CONDITION.finds(sentence)
    )


def withdrawn_sentences(
    thread: LinkedThread, claims: list[StanceClaim], positions: list[Position]
) -> list[OwnSentence]:
    """Return plain objections that their owners withdrew or gave up for another stance."""
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
        position.earlier.citation.place
        for position in positions
        if position.earlier is not None and position.earlier.stance is PositionStance.OPPOSE
    }
    if not before:
        return withdrawn
    return withdrawn + [
        sentence
        for sentence in thread.sentences()
        if (thread.mail_of(sentence).mail.message_id, sentence.start) in before
    ]


def _position(thread: LinkedThread, proposal: Proposal, own: list[StanceClaim]) -> Position:
    acts = [claim for claim in own if claim.rule in ACTS]
    said = [claim for claim in own if claim.rule in SAID_RULES]
    chosen = (acts or said or own)[-1]
    before = _before_the_change(own, chosen)
    stances = {claim.stance for claim in (acts or own)}
    stance = chosen.stance if before is not None or len(stances) == 1 else PositionStance.MIXED
    sure = (
        bool(said)
        and stance is not PositionStance.MIXED
        and not _may_propose(thread, proposal, chosen)
        and (bool(acts) or not _wavers(thread, proposal, said))
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
    """Return the opposite stance that a person took before their last word, or None.

    A change needs plain stances, with all of the other side in mails before the last word. Both sides in one
    mail, a stance that goes back and forth, or a mere hint at one side are mixed.
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


def _may_propose(thread: LinkedThread, proposal: Proposal, claim: StanceClaim) -> bool:
    """Return whether the claim may be by the proposer of a plain text that a later mail proposes."""
    if proposal.form is not PropositionForm.TEXT or proposal.mail is thread.root:
        return False
    # An archive that lost its quotes lost the order of its mails, too. An answer may then come first.
    lost_order = is_answer(thread.root) and not any(mail.mail.quotes for mail in thread.mails)
    if not lost_order:
        return True
    # A writer who opens with "I support adding it" may propose more, but this proposal is not theirs.
    if claim.rule == "words" and claim.sentence.index == 0:
        return False
    return any(
        cues.PROPOSES.finds(sentence)
        for mail in thread.mails
        if mail.person == claim.person
        for sentence in mail.sentences
    )


def _wavers(thread: LinkedThread, proposal: Proposal, said: list[StanceClaim]) -> bool:
    """Return whether a supporter has doubts in the same mail, or repeatedly after it."""
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
        near = proposal.form is not PropositionForm.PATCH and _has_doubts(thread, said[-1])
    return near or len(doubts) > _TAKEN_BACK_ELSEWHERE


def _has_doubts(thread: LinkedThread, claim: StanceClaim) -> bool:
    """Return whether the mail has doubts, or only own ones if the stance opens or closes the mail."""
    is_plain = place(thread, claim.sentence) != "inside" or opens_the_answer(thread, claim.sentence)
    is_plain = is_plain and keeps_quotes(thread)
    doubts = OWN_DOUBTS if is_plain else DOUBTS
    others = (
        sentence for sentence in thread.mail_of(claim.sentence).sentences if sentence is not claim.sentence
    )
    return OWN_DOUBTS.finds(claim.sentence) or any(map(doubts.finds, others))


_CONTENT = re.compile(r"[a-z][a-z0-9_-]{3,}")
_PARTLY_SHARED = 2
_REASSURED = re.compile(
    r"\b(?:fair enough|makes? sense|good point|you(?:'re| are) right|i stand corrected|i see|got it|"
    r"ok(?:ay)? then|that works|point taken|works for me|no (?:further|more) objections?|thanks,? that)\b"
)


def fate_of(thread: LinkedThread, proposal: Proposal, objection: OwnSentence) -> Fate:
    """Return the fate by later mails: the owner's word first, then the proposer's, then any answer."""
    raised = thread.mail_of(objection)
    later = [mail for mail in thread.mails if mail.number > raised.number]
    own = [mail for mail in later if mail.person == raised.person]
    answers = [mail for mail in later if mail.parent == raised.number and mail.person != raised.person]
    if any(cues.WITHDRAWS.finds(sentence) for mail in own for sentence in mail.sentences):
        return Fate.WITHDRAWN
    if _is_taken(proposal, objection, raised, later):
        return Fate.TAKEN
    if answers and any(_is_content(thread, mail) for mail in own):
        return Fate.ANSWERED
    has_role = thread.people.role
    answers = [
        mail for mail in answers if mail.person in proposal.owners or has_role(mail.number) is not None
    ]
    if not answers:
        return Fate.OUTSTANDING
    # A person who may settle it answered, and its owner was silent after that. They may be content.
    return Fate.OUTSTANDING if own and own[-1].number > answers[-1].number else Fate.UNCLEAR


def withdrawal_of(thread: LinkedThread, objection: OwnSentence) -> OwnSentence | None:
    """Return the owner's last sentence that withdraws it, or None."""
    raised = thread.mail_of(objection)
    later = [mail for mail in thread.mails if mail.number > raised.number and mail.person == raised.person]
    sentences = [sentence for mail in later for sentence in mail.sentences]
    found = [sentence for sentence in sentences if withdraws(sentence) or takes_back_a_vote(sentence)]
    return found[-1] if found else None


def _is_content(thread: LinkedThread, mail: LinkedMail) -> bool:
    return any(
        _REASSURED.search(sentence.folded)
        or (
            (SUPPORTS.finds(sentence) or APPROVES.finds(sentence) or AGREES.finds(sentence))
            and takes_nothing_back(thread, sentence)
        )
        for sentence in mail.sentences
    )


def _is_taken(
    proposal: Proposal, objection: OwnSentence, raised: LinkedMail, later: list[LinkedMail]
) -> bool:
    """Return whether the proposer promises a change in answer, or brings a new version that mentions it."""
    words = set(_CONTENT.findall(objection.folded))
    for mail in later:
        if mail.person not in proposal.owners:
            continue
        if mail.parent == raised.number and mail.has(cues.PROMISES):
            return True
        if mail.number in proposal.mails and mail.version > proposal.mail.version:
            named = len(
                words & set(_CONTENT.findall(" ".join(sentence.folded for sentence in mail.sentences[:60])))
            )
            if named >= _PARTLY_SHARED:
                return True
    return False


_AGREED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED})


def may_say_agreed(*, has_consensus: bool, kind: OutcomeKind | None, tier: Tier) -> bool:
    """Return whether the outcome is stated as an agreement. Supporters alone are not enough."""
    return has_consensus and tier is Tier.SAID and kind in _AGREED


class OutcomeGroup(StrEnum):
    """The heading under which pages and digests list a thread."""

    AGREED = "Agreed"
    REJECTED = "Not accepted"
    CONTESTED = "Contested"
    DISCUSSED = "Discussed"


def outcome_group(
    *, has_consensus: bool, kind: OutcomeKind | None, tier: Tier, divided: ConsensusType | None
) -> OutcomeGroup:
    said = kind if tier is Tier.SAID else None
    if may_say_agreed(has_consensus=has_consensus, kind=kind, tier=tier):
        return OutcomeGroup.AGREED
    if said is OutcomeKind.REJECTED:
        return OutcomeGroup.REJECTED
    if divided in {ConsensusType.DISSENT, ConsensusType.MIXED} or said is OutcomeKind.CONTESTED:
        return OutcomeGroup.CONTESTED
    return OutcomeGroup.DISCUSSED


def consensus_type(stances: Iterable[PositionStance], *, has_consensus: bool) -> ConsensusType | None:
    """Return AGREEMENT for consensus, and only for it, or how the stated positions divide."""
    if has_consensus:
        return ConsensusType.AGREEMENT
    found = set(stances) - {PositionStance.PROPOSER}
    if not found & {PositionStance.OPPOSE, PositionStance.MIXED}:
        return None
    return ConsensusType.DISSENT if found == {PositionStance.OPPOSE} else ConsensusType.MIXED
