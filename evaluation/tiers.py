"""Measure the reader by tier: the claims that pages state, and the best guesses that pages only quote."""

from collections import Counter
from collections.abc import Iterator, Sequence

from evaluation.consensus_corpus import LabelledThread
from evaluation.consensus_scores import wilson
from shared.models.values import PositionStance, ThreadReading, Tier

_COUNTED = {PositionStance.SUPPORT, PositionStance.OPPOSE}


def count_tiers(
    threads: Sequence[LabelledThread], readings: Sequence[ThreadReading]
) -> dict[tuple[str, Tier], tuple[int, int]]:
    """Count correct and total claims, by kind of claim and by tier."""
    right: Counter[tuple[str, Tier]] = Counter()
    of: Counter[tuple[str, Tier]] = Counter()
    for thread, reading in zip(threads, readings, strict=True):
        for what, tier, is_right in _claims(thread, reading):
            of[what, tier] += 1
            right[what, tier] += is_right
    return {key: (right[key], of[key]) for key in sorted(of)}


def _claims(thread: LabelledThread, reading: ThreadReading) -> Iterator[tuple[str, Tier, bool]]:
    label = thread.label
    yield "genre", reading.genre.tier, reading.genre.kind.value == label["genre"]
    yield "outcome", reading.outcome.tier, reading.outcome.kind.value == label["outcome"]
    stances = {position["person"].lower(): position["stance"] for position in label["positions"]}
    for position in reading.positions:
        if position.stance in _COUNTED:
            yield "position", position.tier, stances.get(position.person) == position.stance.value
    decided = {decision["message_id"] for decision in label["decisions"]}
    for decision in reading.decisions:
        yield "decision", decision.tier, decision.citation.message_id.strip("<>") in decided


def print_tiers(threads: Sequence[LabelledThread], readings: Sequence[ThreadReading]) -> None:
    print("\nprecision by tier")
    for (what, tier), (right, of) in count_tiers(threads, readings).items():
        low, high = wilson(right, of)
        print(f"   {what:9} {tier.value:7} {right / of:.2f} [{low:.2f}, {high:.2f}]  {right} of {of}")
