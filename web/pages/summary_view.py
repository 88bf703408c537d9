"""A summary for pages: claims by section with numbered citations, and people by stance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.models.reports import Summary, SummaryClaim, SummaryMetadata
from shared.models.threads import Address
from shared.models.values import Citation, SentenceCitation
from shared.summaries.markdown import HEADINGS, OTHERS
from shared.summaries.models import Section
from web.formatting import STANCES, stance_shares, writer
from web.pages.reading_view import ReadingView

_SHOWN_BY_READING = frozenset({Section.AGREED.value, Section.DISSENT.value, Section.CONCERNS.value})
_LEADING = frozenset({Section.NARRATIVE.value, Section.READ_NARRATIVE.value, Section.DECISIONS.value})
_SECTIONS = {section.value: heading for section, heading in HEADINGS.items()}


@dataclass(frozen=True)
class Footnote:
    number: int
    citation: Citation
    address: str | None  # of the sentence, None if its message was deleted


@dataclass(frozen=True)
class CitedClaim:
    claim: SummaryClaim
    footnotes: list[Footnote]

    @property
    def is_verbatim(self) -> bool:
        return all(_words(self.claim.text) == _words(footnote.citation.quote) for footnote in self.footnotes)


@dataclass(frozen=True)
class ClaimSection:
    name: str
    heading: str
    claims: list[CitedClaim]

    @property
    def is_precise(self) -> bool:
        """Return whether the heading describes its lines exactly. Other lines are only quoted."""
        return self.heading != OTHERS


@dataclass(frozen=True)
class SummaryView:
    summary: Summary
    footnotes: list[Footnote]
    sections: list[ClaimSection]
    people: list[tuple[str, str, list[str]]]  # stance, label and names
    shares: list[tuple[str, int, float, float]]
    reading: ReadingView | None = None  # None for a digest

    @property
    def known(self) -> SummaryMetadata:
        return self.summary.metadata

    @property
    def left(self) -> list[tuple[str, str]]:
        return self.reading.left if self.reading else []

    @property
    def leading(self) -> list[ClaimSection]:
        return [section for section in self.sections if section.name in _LEADING]

    @property
    def rest(self) -> list[ClaimSection]:
        return [section for section in self.sections if section.name not in _LEADING and section.is_precise]

    @property
    def others(self) -> list[CitedClaim]:
        return [cited for section in self.sections if not section.is_precise for cited in section.claims]

    @property
    def printed(self) -> list[ClaimSection]:
        others = [ClaimSection("", OTHERS, self.others)] if self.others else []
        return [*(section for section in self.sections if section.is_precise), *others]

    @property
    def unseen_quotes(self) -> list[Footnote]:
        """Return citations of claims in other words, whose quotes are not shown elsewhere on the page."""
        claims = [cited for section in self.sections for cited in section.claims if not cited.is_verbatim]
        return list({footnote.number: footnote for cited in claims for footnote in cited.footnotes}.values())


def summary_view(
    summary: Summary,
    addresses: Sequence[str | None],
    reading: ReadingView | None = None,
) -> SummaryView:
    footnotes = [
        Footnote(number, citation, address)
        for number, (citation, address) in enumerate(zip(summary.citations, addresses, strict=True), 1)
    ]
    return SummaryView(
        summary,
        footnotes,
        _sections(summary, footnotes, reading),
        _people(summary),
        stance_shares(summary.counts),
        reading,
    )


def sentence_address(
    summary: Summary, addresses: Sequence[str | None]
) -> Callable[[SentenceCitation], str | None]:
    cited: dict[str, list[tuple[str, str | None]]] = {}
    for citation, address in zip(summary.citations, addresses, strict=True):
        cited.setdefault(citation.message_id, []).append((" ".join(citation.quote.split()), address))

    def find(quote: SentenceCitation) -> str | None:
        for words, address in cited.get(quote.message_id, []):
            if words in quote.quote or quote.quote in words:
                return address
        return None

    return find


def _sections(
    summary: Summary, footnotes: Sequence[Footnote], reading: ReadingView | None
) -> list[ClaimSection]:
    """Return the sections in a fixed order, unknown ones last. Sentences of the reading are not repeated."""
    by_section: dict[str, list[CitedClaim]] = {}
    for claim in summary.claims:
        cited = CitedClaim(claim, [footnotes[index] for index in claim.citations if index < len(footnotes)])
        # A claim without a citation is not shown.
        if cited.footnotes and not (reading and _is_in_reading(cited, reading)):
            by_section.setdefault(claim.section, []).append(cited)
    order = [*(name for name in _SECTIONS if name in by_section), *(set(by_section) - set(_SECTIONS))]
    return [ClaimSection(name, _SECTIONS.get(name, name.capitalize()), by_section[name]) for name in order]


def _is_in_reading(cited: CitedClaim, reading: ReadingView) -> bool:
    if cited.claim.speaker and cited.claim.section in _SHOWN_BY_READING:
        return True
    return cited.is_verbatim and all(
        (footnote.citation.message_id, _words(footnote.citation.quote)) in reading.quoted
        for footnote in cited.footnotes
    )


def _words(text: str) -> str:
    return " ".join(text.split())


def _people(summary: Summary) -> list[tuple[str, str, list[str]]]:
    by_stance: dict[str, list[str]] = {}
    for stance in summary.stances:
        if stance.counts_now:
            name = writer(Address(name=stance.name, email=stance.email))
            by_stance.setdefault(stance.stance, []).append(name)
    return [(stance, words, by_stance[stance]) for stance, words in STANCES.items() if stance in by_stance]
