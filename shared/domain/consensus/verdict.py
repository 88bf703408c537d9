"""What the voices and the chairs' calls amount to. Pure, so that a table can test it."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.consensus.models import CallKind, ConsensusCall, ConsensusType, StanceCounts

MIN_SUPPORT = 2
"""One voice is no consensus."""
ROUGH_SUPPORT = 3
ROUGH_RATIO = 4
"""Rough consensus without a chair's word: at least three in favour, and four for each one against."""


@dataclass(frozen=True, slots=True)
class Verdict:
    has_consensus: bool
    consensus_type: ConsensusType | None
    reason: str


def judge(
    counts: StanceCounts, calls: Sequence[ConsensusCall], objectors: frozenset[str] = frozenset()
) -> Verdict:
    call = _ruling(counts, calls, objectors)
    if call is None:
        return _by_voices(counts)
    tally = f"{counts.support} in support, {counts.objection} objecting"
    if call.kind is CallKind.NO_CONSENSUS:
        return Verdict(
            has_consensus=False,
            consensus_type=_tendency(counts) or ConsensusType.MIXED,
            reason=f"no consensus was declared; {tally}",
        )
    if call.kind is CallKind.DECLARED_AGAINST:
        return Verdict(
            has_consensus=True,
            consensus_type=ConsensusType.DISSENT,
            reason=f"consensus against was declared; {tally}",
        )
    kind = ConsensusType.MIXED if counts.objection else ConsensusType.AGREEMENT
    return Verdict(has_consensus=True, consensus_type=kind, reason=f"consensus was declared; {tally}")


def _ruling(
    counts: StanceCounts, calls: Sequence[ConsensusCall], objectors: frozenset[str]
) -> ConsensusCall | None:
    """The last outcome that counts: a chair's; anybody else's only where the voices do not contradict it."""
    outcomes = [call for call in calls if call.kind not in (CallKind.OPENED, CallKind.CLOSED)]
    by_chairs = [call for call in outcomes if call.by_chair]
    if by_chairs:
        return by_chairs[-1]
    credible = [call for call in outcomes if _is_credible(call, counts, objectors)]
    return credible[-1] if credible else None


def _is_credible(call: ConsensusCall, counts: StanceCounts, objectors: frozenset[str]) -> bool:
    """Nobody rules in their own favour: an objector's word on the outcome is one more objection."""
    if call.sender_email.strip().casefold() in objectors:
        return False
    if call.kind is CallKind.DECLARED:
        return counts.objection <= counts.support
    if call.kind is CallKind.DECLARED_AGAINST:
        return counts.objection > counts.support
    return counts.objection > 0 or counts.support < MIN_SUPPORT


def _by_voices(counts: StanceCounts) -> Verdict:
    support, objection = counts.support, counts.objection
    agreed = support >= MIN_SUPPORT and objection == 0
    roughly = support >= ROUGH_SUPPORT and support >= ROUGH_RATIO * objection
    tally = f"{support} in support, {objection} objecting"
    if agreed or roughly:
        return Verdict(
            has_consensus=True, consensus_type=_tendency(counts), reason=f"no chair has ruled; {tally}"
        )
    return Verdict(
        has_consensus=False,
        consensus_type=_tendency(counts),
        reason=f"too few voices, or too divided; {tally}",
    )


def _tendency(counts: StanceCounts) -> ConsensusType | None:
    if counts.support and counts.objection:
        return ConsensusType.MIXED
    if counts.support:
        return ConsensusType.AGREEMENT
    return ConsensusType.DISSENT if counts.objection else None
