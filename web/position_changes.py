"""Changes of positions in a thread, with sentences and dates."""

from dataclasses import dataclass
from datetime import datetime

from shared.models.reports import Summary
from shared.models.values import PositionStance, SentenceCitation, Tier, rejoined
from shared.summaries.markdown import escape_markdown
from shared.views.parameters import page_of_mail
from web.formatting import day, markdown_target

# The words and the CSS class of the label.
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
    citation: SentenceCitation
    at: datetime | None
    is_quoted: bool
    """Whether to quote the words. Words that the report quotes elsewhere are only linked."""


@dataclass(frozen=True)
class PositionChange:
    name: str
    steps: tuple[Step, Step]


def changes_in(summary: Summary) -> list[PositionChange]:
    """Return the changes of people with an explicit earlier and current position."""
    if summary.reading is None:
        return []
    cited = {" ".join(citation.quote.split()) for citation in summary.citations}

    def step(says: str, citation: SentenceCitation, at: datetime | None) -> Step:
        return Step(says, citation, at, is_quoted=citation.quote not in cited)

    found = []
    for position in summary.reading.positions:
        earlier = position.earlier
        if earlier is None or position.tier is not Tier.SAID:
            continue
        if position.stance in SAYS and earlier.stance in SAID_BEFORE:
            before = step(SAID_BEFORE[earlier.stance][0], earlier.citation, earlier.at)
            since = step(SAYS[position.stance][0], position.citation, position.at)
            found.append(PositionChange(position.name or position.person, (before, since)))
    return found


def changes_in_markdown(summary: Summary, origin: str) -> str:
    lines = [_line(change, origin) for change in changes_in(summary)]
    return "\n".join(["## Changes of position", "", *lines, "", ""]) if lines else ""


def _line(change: PositionChange, origin: str) -> str:
    before, since = change.steps
    ending = f" on {day(before.at)}" if before.at else ""
    starting = f" since {day(since.at)}" if since.at else ""
    words = (
        f"{before.says}{ending}{_quote(before, origin)}, and {since.says}{starting}{_quote(since, origin)}"
    )
    return f"- **{escape_markdown(change.name)}** {words}"


def _quote(step: Step, origin: str) -> str:
    target = markdown_target(origin + page_of_mail(step.citation.message_id, step.citation.quote))
    quote = f": “{escape_markdown(rejoined(step.citation.quote))}”" if step.is_quoted else ""
    return f"{quote} ([the mail]({target}))"
