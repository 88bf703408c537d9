"""A summary as a page shows it: claims by section with numbered citations, people by stance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.documents.summaries import Summary, SummaryClaim
from shared.domain.summaries.models import Citation, Section
from web.formatting import STANCES, stance_shares

HEADINGS = {
    Section.AGREED.value: "In support",
    Section.DISSENT.value: "Objections",
    Section.DECISIONS.value: "Decisions",
    Section.PROPOSALS.value: "Proposals",
    Section.OPEN_ISSUES.value: "Open issues",
    Section.KEY_POINTS.value: "Key points",
}


@dataclass(frozen=True)
class Footnote:
    number: int
    citation: Citation
    address: str | None  # of the sentence; None where its message is gone


@dataclass(frozen=True)
class CitedClaim:
    claim: SummaryClaim
    footnotes: list[Footnote]


@dataclass(frozen=True)
class Person:
    name: str
    email: str
    address: str | None


@dataclass(frozen=True)
class ShownSummary:
    summary: Summary
    footnotes: list[Footnote]
    sections: list[tuple[str, list[CitedClaim]]]
    people: list[tuple[str, str, list[Person]]]  # stance, in words, and who
    shares: list[tuple[str, int, float, float]]

    @property
    def known(self) -> Mapping[str, Any]:
        return self.summary.metadata


def shown_summary(
    summary: Summary, addresses: Sequence[str | None], stances: Mapping[str, str | None]
) -> ShownSummary:
    footnotes = [
        Footnote(number, citation, address)
        for number, (citation, address) in enumerate(zip(summary.citations, addresses, strict=True), 1)
    ]
    return ShownSummary(
        summary,
        footnotes,
        _sections(summary, footnotes),
        _people(summary, stances),
        stance_shares(summary.counts),
    )


def _sections(summary: Summary, footnotes: Sequence[Footnote]) -> list[tuple[str, list[CitedClaim]]]:
    """In a fixed order; an unknown section comes last, under its own name."""
    by_section: dict[str, list[CitedClaim]] = {}
    for claim in summary.claims:
        cited = [footnotes[index] for index in claim.citations if index < len(footnotes)]
        if cited:  # a claim without a citation is not shown
            by_section.setdefault(claim.section, []).append(CitedClaim(claim, cited))
    order = [*(name for name in HEADINGS if name in by_section), *(set(by_section) - set(HEADINGS))]
    return [(HEADINGS.get(name, name.capitalize()), by_section[name]) for name in order]


def _people(summary: Summary, addresses: Mapping[str, str | None]) -> list[tuple[str, str, list[Person]]]:
    by_stance: dict[str, list[Person]] = {}
    for stance in summary.stances:
        if stance.counts_now:
            person = Person(stance.name or stance.email, stance.email, addresses.get(stance.message_key))
            by_stance.setdefault(stance.stance, []).append(person)
    return [(stance, words, by_stance[stance]) for stance, words in STANCES.items() if stance in by_stance]
