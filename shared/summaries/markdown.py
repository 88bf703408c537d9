"""Render a thread summary as Markdown. All its text is hostile and is escaped."""

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt

from shared.models.values import Citation, ConsensusBasis, Fate, Objection, ThreadReading, Tier, rejoined
from shared.reading.positions import may_say_agreed
from shared.summaries.models import Claim, Section, ThreadSummary

OTHERS = "Other statements"
"""The heading for sections whose own heading would be right in fewer than four of five labeled threads."""
HEADINGS = {
    Section.NARRATIVE: "Summary by the model",
    Section.READ_NARRATIVE: "Summary (inferred by the model)",
    Section.AGREED: "In support",
    Section.DISSENT: "Objections",
    Section.READ_SUPPORT: "Support (inferred by the model)",
    Section.READ_DISSENT: "Objections (inferred by the model)",
    Section.DECISIONS: "Decisions",
    **dict.fromkeys(
        (
            Section.POSSIBLE_DECISIONS,
            Section.PROPOSALS,
            Section.CONCERNS,
            Section.OPEN_ISSUES,
            Section.KEY_POINTS,
        ),
        OTHERS,
    ),
}
_BASES = {
    ConsensusBasis.RULED: "Decided by a person with that role.",
    ConsensusBasis.CALLED: "Result of a call or vote.",
    ConsensusBasis.COUNTED: "Counted from the positions.",
    ConsensusBasis.UNKNOWN: "",
}
# A label is shown only if the fate is clear.
FATES = {
    Fate.ANSWERED: "apparently answered",
    Fate.TAKEN: "accepted by the proposer",
    Fate.WITHDRAWN: "withdrawn",
    Fate.OUTSTANDING: "apparently unresolved",
    Fate.UNCLEAR: "",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|~!$^:])")
_LINE_START = re.compile(r"^([-+=.]|\d+(?=[.)]))")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escape_markdown(text: str) -> str:
    """Return the text on one line without any effect in Markdown: no markup, HTML, link or bidi control."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    escaped = _SPECIAL.sub(r"\\\1", flat).translate(_ENTITIES)
    return _LINE_START.sub(r"\\\1", escaped).replace("www.", r"www\.")


def render_markdown(summary: ThreadSummary) -> str:
    """Render the summary with numbered citations. A claim without a verified citation is left out."""
    numbers = {_identity(citation): number for number, citation in enumerate(summary.citations, 1)}
    objections = summary.reading.objections
    fates = {(item.citation.message_id, item.citation.quote): item for item in objections}
    supported = [claim for claim in summary.claims if claim.is_supported]
    lines = [f"# {escape_markdown(summary.title)}", "", *_outcome(summary), *_tallies(summary.reading)]
    lines += _open_call(summary.reading)
    for heading in dict.fromkeys(HEADINGS.values()):
        claims = [claim for claim in supported if HEADINGS[_section(claim, fates)] == heading]
        if claims:
            lines += [f"## {_heading(heading, summary.reading)}", "", *_items(claims, numbers, fates), ""]
    lines += ["## Citations", "", *_sources(summary), ""]
    lines += [f"*{escape_markdown(note)}*" for note in summary.notes]
    return "\n".join(lines).rstrip() + "\n"


def _identity(citation: Citation) -> tuple[str, str]:
    return citation.chunk_id, citation.quote


def _outcome(summary: ThreadSummary) -> list[str]:
    outcome = summary.reading.outcome
    role = outcome.authority.role if outcome.authority else ""
    is_in_sentence = outcome.tier is not Tier.SAID or (role and f"({role})" in outcome.sentence)
    basis = "" if is_in_sentence else escape_markdown(basis_words(outcome.basis, role))
    return [f"**{escape_markdown(outcome.sentence)}**{f' {basis}' if basis else ''}", ""]


def basis_words(basis: ConsensusBasis, role: str) -> str:
    """Return the basis of an outcome. `role` is the source's name for the role that decided."""
    return f"Decided by the {role}." if basis is ConsensusBasis.RULED and role else _BASES[basis]


def _tallies(reading: ThreadReading) -> list[str]:
    """Return each tally of a role holder, with its author."""
    return [
        line
        for tally in reading.tallies
        for line in (
            escape_markdown(
                f"Tally by {tally.by.name} ({tally.by.role}): “{rejoined(tally.citation.quote)}”"
            ),
            "",
        )
    ]


def _open_call(reading: ThreadReading) -> list[str]:
    """Return the question of the open call, its deadline, the number of speakers and open objections."""
    call = reading.open_call
    if call is None:
        return []
    question = f": “{escape_markdown(rejoined(call.question.quote))}”" if call.question else ""
    ends = f" Deadline: {call.ends.day} {call.ends:%B %Y}." if call.ends else " No deadline given."
    left = f", with {len(call.outstanding)} objections apparently unresolved" if call.outstanding else ""
    spoken = f" Heard from {len(call.spoken)} people{left}."
    return [f"**No result of this call found**{question}{ends}{spoken}", ""]


def _heading(heading: str, reading: ThreadReading) -> str:
    """Return the heading. "In support" becomes "agreed" only with an agreed outcome."""
    if heading == HEADINGS[Section.AGREED] and may_say_agreed(
        has_consensus=reading.has_consensus, kind=reading.outcome.kind, tier=reading.outcome.tier
    ):
        return "What was agreed, and by whom"
    return heading


def _items(
    claims: list[Claim], numbers: dict[tuple[str, str], int], fates: Mapping[tuple[str, str], Objection]
) -> list[str]:
    return [
        f"- {_speaker(claim)}{escape_markdown(rejoined(claim.text))}"
        f" {_marks(claim, numbers)}{_fate(claim, fates)}"
        for claim in claims
    ]


def _section(claim: Claim, fates: Mapping[tuple[str, str], Objection]) -> Section:
    """Return the claim's section. An objection that its author withdrew is a dissent."""
    objection = _objection(claim, fates)
    return Section.DISSENT if objection and objection.fate is Fate.WITHDRAWN else claim.section


def _objection(claim: Claim, fates: Mapping[tuple[str, str], Objection]) -> Objection | None:
    if claim.section not in {Section.DISSENT, Section.CONCERNS}:
        return None
    found = (fates.get((cited.message_id, " ".join(cited.quote.split()))) for cited in claim.citations)
    return next((objection for objection in found if objection is not None), None)


def _fate(claim: Claim, fates: Mapping[tuple[str, str], Objection]) -> str:
    objection = _objection(claim, fates)
    if objection is None or not FATES[objection.fate]:
        return ""
    words = f": “{escape_markdown(rejoined(objection.withdrawal.quote))}”" if objection.withdrawal else ""
    return f" *({FATES[objection.fate]}{words})*"


def _speaker(claim: Claim) -> str:
    return f"**{escape_markdown(claim.speaker)}**: " if claim.speaker else ""


def _marks(claim: Claim, numbers: dict[tuple[str, str], int]) -> str:
    cited = dict.fromkeys(numbers[_identity(citation)] for citation in claim.citations)
    return " ".join(f"[[{number}]](#citation-{number})" for number in cited)


def _sources(summary: ThreadSummary) -> list[str]:
    return [
        f'{number}. <a id="citation-{number}"></a>“{escape_markdown(rejoined(citation.quote))}” '
        f"({escape_markdown(citation.message_id)})"
        for number, citation in enumerate(summary.citations, 1)
    ] or ["None."]


_CITATIONS = "<h2>Citations</h2>"


_ANCHOR = re.compile(r"<li>&lt;a id=&quot;(citation-\d{1,5})&quot;&gt;&lt;/a&gt;")


def render_html(markdown: str) -> str:
    """Render HTML without any HTML from the Markdown, and with safe links and citation anchors only."""
    html = str(MarkdownIt("js-default", {"html": False, "linkify": False}).render(markdown))
    text, heading, citations = html.rpartition(_CITATIONS)
    return text + heading + _ANCHOR.sub(r'<li id="\1">', citations)
