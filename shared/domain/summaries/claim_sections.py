"""Whose sentences stand under which heading, and where one goes that may not stand there any more."""

from dataclasses import replace

from shared.domain.consensus.reading import PositionStance, SentenceCitation, ThreadReading, Tier
from shared.domain.summaries.models import Claim, Section


def move_to_allowed_section(claim: Claim, reading: ThreadReading) -> Claim:
    """The claim, in a weaker section where the reading does not say as much of any mail that it cites."""
    section = claim.section
    while (bearing := _bearing(section, reading)) is not None:
        messages = {sentence.message_id for sentence in bearing}
        if any(citation.message_id in messages for citation in claim.citations):
            break
        section = _WEAKER[section]
    return claim if section is claim.section else replace(claim, section=section)


_WEAKER = {
    Section.AGREED: Section.KEY_POINTS,
    Section.DISSENT: Section.CONCERNS,
    Section.READ_SUPPORT: Section.KEY_POINTS,
    Section.READ_DISSENT: Section.CONCERNS,
    Section.DECISIONS: Section.POSSIBLE_DECISIONS,
    Section.POSSIBLE_DECISIONS: Section.KEY_POINTS,
}


_STANCES = {
    Section.AGREED: (PositionStance.SUPPORT, True),
    Section.DISSENT: (PositionStance.OPPOSE, True),
    Section.READ_SUPPORT: (PositionStance.SUPPORT, False),
    Section.READ_DISSENT: (PositionStance.OPPOSE, False),
}


def _bearing(section: Section, reading: ThreadReading) -> list[SentenceCitation] | None:
    """The sentences that can bear a claim of this section; None where any can."""
    if section in _STANCES:
        stance, is_explicit = _STANCES[section]
        return said_positions(reading, stance, is_explicit=is_explicit)
    if section is Section.DECISIONS:
        return [decision.citation for decision in reading.decisions if decision.tier is Tier.SAID]
    if section is Section.POSSIBLE_DECISIONS:
        return [decision.citation for decision in reading.decisions]
    return None


def said_positions(
    reading: ThreadReading, stance: PositionStance, *, is_explicit: bool = True
) -> list[SentenceCitation]:
    """The sentences of those who are said to stand so: by words, or by argument as a model reads it."""
    return [
        position.citation
        for position in reading.positions
        if position.tier is Tier.SAID and position.stance is stance and position.is_explicit is is_explicit
    ]
