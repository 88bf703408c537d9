"""Whose sentences stand under which heading."""

from shared.documents.values import PositionStance, SentenceCitation, ThreadReading, Tier


def said_positions(
    reading: ThreadReading, stance: PositionStance, *, is_explicit: bool = True
) -> list[SentenceCitation]:
    """The sentences of those who are said to stand so: by words, or by argument as a model reads it."""
    return [
        position.citation
        for position in reading.positions
        if position.tier is Tier.SAID and position.stance is stance and position.is_explicit is is_explicit
    ]
