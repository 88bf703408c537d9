"""When a text may say "what was agreed"."""

from shared.domain.consensus.reading import OutcomeKind, Tier

_AGREED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED})
_ENOUGH_VOICES = 2


def may_say_agreed(*, has_consensus: bool, kind: OutcomeKind, tier: Tier, supporters: int) -> bool:
    """Only where a reader sees why: the outcome is said, or two at least are shown to be for it."""
    return has_consensus and ((tier is Tier.SAID and kind in _AGREED) or supporters >= _ENOUGH_VOICES)
