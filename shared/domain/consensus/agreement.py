"""When a text may say "what was agreed"."""

from shared.documents.values import OutcomeKind, Tier

_AGREED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED})


def may_say_agreed(*, has_consensus: bool, kind: OutcomeKind, tier: Tier) -> bool:
    """Only where the outcome is said to be an agreement: people who are for it are not enough."""
    return has_consensus and tier is Tier.SAID and kind in _AGREED
