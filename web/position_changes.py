"""Who changed their mind in a thread: the stance before and the one since, with sentences and dates."""

from dataclasses import dataclass
from datetime import datetime

from shared.documents.readings import StoredQuote, StoredReading
from shared.domain.consensus.reading import PositionStance, Tier
from shared.domain.summaries.markdown import escape_markdown
from shared.retrieval.links import page_of_mail
from web.formatting import day, markdown_target

# In words, and the CSS class of the chip
SAYS = {
    PositionStance.SUPPORT: ("supports it", "support"),
    PositionStance.OPPOSE: ("objects", "objection"),
    PositionStance.MIXED: ("says both", ""),
}
SAID_BEFORE = {
    PositionStance.SUPPORT: ("supported it", "support"),
    PositionStance.OPPOSE: ("objected", "objection"),
}


@dataclass(frozen=True)
class Step:
    says: str
    citation: StoredQuote
    at: datetime | None


@dataclass(frozen=True)
class PositionChange:
    name: str
    steps: tuple[Step, Step]


def changes_in(reading: StoredReading) -> list[PositionChange]:
    """Of those whose position is said, and was before."""
    found = []
    for position in reading.positions:
        earlier = position.earlier
        if earlier is None or position.tier is not Tier.SAID:
            continue
        if position.stance in SAYS and earlier.stance in SAID_BEFORE:
            before = Step(SAID_BEFORE[earlier.stance][0], earlier.citation, earlier.at)
            since = Step(SAYS[position.stance][0], position.citation, position.at)
            found.append(PositionChange(position.name or position.person, (before, since)))
    return found


def changes_in_markdown(reading: StoredReading, origin: str) -> str:
    """A section of its own; empty where nobody changed."""
    lines = [_line(change, origin) for change in changes_in(reading)]
    return "\n".join(["## Changes of position", "", *lines, "", ""]) if lines else ""


def _line(change: PositionChange, origin: str) -> str:
    before, since = (_step(step, origin) for step in change.steps)
    starting = f" since {day(change.steps[1].at)}" if change.steps[1].at else ""
    ending = f" on {day(change.steps[0].at)}" if change.steps[0].at else ""
    words = f"{change.steps[0].says}{ending}: {before}; {change.steps[1].says}{starting}: {since}"
    return f"- **{escape_markdown(change.name)}** {words}"


def _step(step: Step, origin: str) -> str:
    target = markdown_target(origin + page_of_mail(step.citation.message_id, step.citation.quote))
    return f"“{escape_markdown(step.citation.quote)}” ([the mail]({target}))"
