"""A thread summary as Markdown. Everything in it was written by strangers: nothing of it is markup."""

import re

from shared.domain.consensus.models import Participant, Stance, StanceCounts
from shared.domain.summaries.models import Citation, Claim, Section, ThreadSummary

_HEADINGS = {
    Section.AGREED: "What was agreed, and by whom",
    Section.DISSENT: "Dissent",
    Section.DECISIONS: "Decisions",
    Section.PROPOSALS: "Proposals",
    Section.OPEN_ISSUES: "Open issues",
    Section.KEY_POINTS: "Key points",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|~!$^:])")
_LINE_START = re.compile(r"^([-+=.]|\d+(?=[.)]))")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escape_markdown(text: str) -> str:
    """Text on one line that Markdown shows as it is: no markup, no HTML, no link, no change of direction."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    escaped = _SPECIAL.sub(r"\\\1", flat).translate(_ENTITIES)
    return _LINE_START.sub(r"\\\1", escaped).replace("www.", r"www\.")


def render_markdown(summary: ThreadSummary) -> str:
    """The summary with numbered citations. A claim without a verified citation does not appear."""
    numbers = {_identity(citation): number for number, citation in enumerate(summary.citations, 1)}
    lines = [f"# {escape_markdown(summary.title)}", "", _verdict(summary), ""]
    for section, heading in _HEADINGS.items():
        claims = [claim for claim in summary.claims if claim.section is section and claim.is_supported]
        if claims or section in (Section.AGREED, Section.DISSENT):
            lines += [f"## {heading}", "", *_opening(section, summary), *_items(claims, numbers), ""]
    lines += ["## Citations", "", *_sources(summary), ""]
    lines += [f"*{escape_markdown(note)}*" for note in summary.notes]
    return "\n".join(lines).rstrip() + "\n"


def _identity(citation: Citation) -> tuple[str, str]:
    return citation.chunk_id, citation.quote


def _verdict(summary: ThreadSummary) -> str:
    found = summary.consensus
    said = "Consensus" if found.has_consensus else "No consensus"
    kind = f" ({found.consensus_type.value})" if found.consensus_type else ""
    return f"**{said}{kind}**: {escape_markdown(found.reason)}, {_others(found.counts)}."


def _others(counts: StanceCounts) -> str:
    return f"{counts.neutral + counts.question + counts.unclear} without a clear stance"


def _opening(section: Section, summary: ThreadSummary) -> list[str]:
    if section not in (Section.AGREED, Section.DISSENT):
        return []
    stance = Stance.SUPPORT if section is Section.AGREED else Stance.OBJECTION
    names = [_name(person) for person in summary.consensus.participants if person.stance is stance]
    verb = "In support" if section is Section.AGREED else "Objecting"
    return [f"{verb}: {', '.join(names) if names else 'nobody'}.", ""]


def _name(person: Participant) -> str:
    return escape_markdown(person.name or person.email or "unknown sender")


def _items(claims: list[Claim], numbers: dict[tuple[str, str], int]) -> list[str]:
    return [f"- {_speaker(claim)}{escape_markdown(claim.text)} {_marks(claim, numbers)}" for claim in claims]


def _speaker(claim: Claim) -> str:
    return f"**{escape_markdown(claim.speaker)}**: " if claim.speaker else ""


def _marks(claim: Claim, numbers: dict[tuple[str, str], int]) -> str:
    cited = dict.fromkeys(numbers[_identity(citation)] for citation in claim.citations)
    return " ".join(f"[[{number}]](#citation-{number})" for number in cited)


def _sources(summary: ThreadSummary) -> list[str]:
    return [
        f'{number}. <a id="citation-{number}"></a>“{escape_markdown(citation.quote)}” '
        f"({escape_markdown(citation.message_id)})"
        for number, citation in enumerate(summary.citations, 1)
    ] or ["None."]
