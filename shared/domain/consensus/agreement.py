"""When a text may say "what was agreed", and the type of consensus that goes with it."""

from collections.abc import Iterable

from shared.documents.values import ConsensusType, OutcomeKind, PositionStance, Tier

_AGREED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED})


def may_say_agreed(*, has_consensus: bool, kind: OutcomeKind | None, tier: Tier) -> bool:
    """Only where the outcome is said to be an agreement: people who are for it are not enough."""
    return has_consensus and tier is Tier.SAID and kind in _AGREED


def consensus_type(stances: Iterable[PositionStance], *, has_consensus: bool) -> ConsensusType | None:
    """Agreement where there is consensus, and only there; else how the stated positions divide."""
    if has_consensus:
        return ConsensusType.AGREEMENT
    found = set(stances) - {PositionStance.PROPOSER}
    if not found & {PositionStance.OPPOSE, PositionStance.MIXED}:
        return None
    return ConsensusType.DISSENT if found == {PositionStance.OPPOSE} else ConsensusType.MIXED
