"""A summary as a page shows it: claims by section with numbered citations, people by stance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.documents.readings import StoredQuote
from shared.documents.summaries import Summary, SummaryClaim
from shared.domain.summaries.markdown import HEADINGS
from shared.domain.summaries.models import Citation, Section
from web.formatting import STANCES, stance_shares
from web.pages.reading_view import ReadingView

_SHOWN_BY_READING = frozenset({Section.AGREED.value, Section.DISSENT.value, Section.CONCERNS.value})
_SECTIONS = {section.value: heading for section, heading in HEADINGS.items()}


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
    reading: ReadingView | None = None  # None where it was made before readings were stored

    @property
    def known(self) -> Mapping[str, Any]:
        return self.summary.metadata


def shown_summary(
    summary: Summary,
    addresses: Sequence[str | None],
    stances: Mapping[str, str | None],
    reading: ReadingView | None = None,
) -> ShownSummary:
    footnotes = [
        Footnote(number, citation, address)
        for number, (citation, address) in enumerate(zip(summary.citations, addresses, strict=True), 1)
    ]
    return ShownSummary(
        summary,
        footnotes,
        _sections(summary, footnotes, hidden=_SHOWN_BY_READING if reading else frozenset()),
        _people(summary, stances),
        stance_shares(summary.counts),
        reading,
    )


def sentence_address(
    summary: Summary, addresses: Sequence[str | None]
) -> Callable[[StoredQuote], str | None]:
    """Finds the address of a sentence among those of the citations."""
    cited: dict[str, list[tuple[str, str | None]]] = {}
    for citation, address in zip(summary.citations, addresses, strict=True):
        cited.setdefault(citation.message_id, []).append((" ".join(citation.quote.split()), address))

    def find(quote: StoredQuote) -> str | None:
        for words, address in cited.get(quote.message_id, []):
            if words in quote.quote or quote.quote in words:
                return address
        return None

    return find


def _sections(
    summary: Summary, footnotes: Sequence[Footnote], hidden: frozenset[str]
) -> list[tuple[str, list[CitedClaim]]]:
    """In a fixed order; an unknown section comes last, under its own name.

    Sentences of people that the reading shows, with what became of them, are not repeated.
    """
    by_section: dict[str, list[CitedClaim]] = {}
    for claim in summary.claims:
        if claim.speaker and claim.section in hidden:
            continue
        cited = [footnotes[index] for index in claim.citations if index < len(footnotes)]
        if cited:  # a claim without a citation is not shown
            by_section.setdefault(claim.section, []).append(CitedClaim(claim, cited))
    order = [*(name for name in _SECTIONS if name in by_section), *(set(by_section) - set(_SECTIONS))]
    return [(_SECTIONS.get(name, name.capitalize()), by_section[name]) for name in order]


def _people(summary: Summary, addresses: Mapping[str, str | None]) -> list[tuple[str, str, list[Person]]]:
    by_stance: dict[str, list[Person]] = {}
    for stance in summary.stances:
        if stance.counts_now:
            person = Person(stance.name or stance.email, stance.email, addresses.get(stance.message_key))
            by_stance.setdefault(stance.stance, []).append(person)
    return [(stance, words, by_stance[stance]) for stance, words in STANCES.items() if stance in by_stance]
