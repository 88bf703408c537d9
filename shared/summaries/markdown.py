"""A thread summary as Markdown. Everything in it was written by strangers: nothing of it is markup."""

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt

from shared.models.values import Citation, ConsensusBasis, Fate, Objection, ThreadReading, Tier, rejoined
from shared.reading.positions import may_say_agreed
from shared.summaries.models import Claim, Section, ThreadSummary

OTHERS = "Other statements"
"""Of lines that no heading describes: on labeled threads fewer than four in five would be right."""
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
# What is said is what was seen; where that is not clear, nothing is.
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
    """Text on one line that Markdown shows as it is: no markup, no HTML, no link, no change of direction."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    escaped = _SPECIAL.sub(r"\\\1", flat).translate(_ENTITIES)
    return _LINE_START.sub(r"\\\1", escaped).replace("www.", r"www\.")


def render_markdown(summary: ThreadSummary) -> str:
    """The summary with numbered citations. A claim without a verified citation does not appear."""
    numbers = {_identity(citation): number for number, citation in enumerate(summary.citations, 1)}
    fates = {(one.citation.message_id, one.citation.quote): one for one in summary.reading.objections}
    lines = [f"# {escape_markdown(summary.title)}", "", *_outcome(summary), *_tallies(summary.reading)]
    lines += _open_call(summary.reading)
    for heading in dict.fromkeys(HEADINGS.values()):
        claims = [
            one for one in summary.claims if HEADINGS[_section(one, fates)] == heading and one.is_supported
        ]
        if claims:
            lines += [f"## {_heading(heading, summary.reading)}", "", *_items(claims, numbers, fates), ""]
    lines += ["## Citations", "", *_sources(summary), ""]
    lines += [f"*{escape_markdown(note)}*" for note in summary.notes]
    return "\n".join(lines).rstrip() + "\n"


def _identity(citation: Citation) -> tuple[str, str]:
    return citation.chunk_id, citation.quote


def _outcome(summary: ThreadSummary) -> list[str]:
    """The outcome in one sentence, and what it rests on."""
    outcome = summary.reading.outcome
    role = outcome.authority.role if outcome.authority else ""
    is_told = outcome.tier is not Tier.SAID or (role and f"({role})" in outcome.sentence)
    basis = "" if is_told else escape_markdown(basis_words(outcome.basis, role))
    return [f"**{escape_markdown(outcome.sentence)}**{f' {basis}' if basis else ''}", ""]


def basis_words(basis: ConsensusBasis, role: str) -> str:
    """What an outcome rests on; `role` is what the source calls the person who decided."""
    return f"Decided by the {role}." if basis is ConsensusBasis.RULED and role else _BASES[basis]


def _tallies(reading: ThreadReading) -> list[str]:
    """A role holder's own count, attributed: the reader counts only people whom it is sure of."""
    return [
        line
        for one in reading.tallies
        for line in (
            escape_markdown(f"Tally by {one.by.name} ({one.by.role}): “{rejoined(one.citation.quote)}”"),
            "",
        )
    ]


def _open_call(reading: ThreadReading) -> list[str]:
    """The question, until when it is asked, who has spoken, what is outstanding."""
    call = reading.open_call
    if call is None:
        return []
    question = f": “{escape_markdown(rejoined(call.question.quote))}”" if call.question else ""
    ends = f" Deadline: {call.ends.day} {call.ends:%B %Y}." if call.ends else " No deadline given."
    left = f", with {len(call.outstanding)} objections apparently unresolved" if call.outstanding else ""
    spoken = f" Heard from {len(call.spoken)} people{left}."
    return [f"**No result of this call found**{question}{ends}{spoken}", ""]


def _heading(heading: str, reading: ThreadReading) -> str:
    """Support is agreement only where something was agreed."""
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
    """An objection that its own writer withdrew was one."""
    objection = _objection(claim, fates)
    return Section.DISSENT if objection and objection.fate is Fate.WITHDRAWN else claim.section


def _objection(claim: Claim, fates: Mapping[tuple[str, str], Objection]) -> Objection | None:
    if claim.section not in {Section.DISSENT, Section.CONCERNS}:
        return None
    found = (fates.get((one.message_id, " ".join(one.quote.split()))) for one in claim.citations)
    return next((one for one in found if one is not None), None)


def _fate(claim: Claim, fates: Mapping[tuple[str, str], Objection]) -> str:
    """What became of an objection, where the claim is one."""
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
    """Without any HTML that the Markdown itself may hold, and with links to safe addresses only.

    The anchors that our own Markdown puts before each citation become the ids of its list.
    """
    html = str(MarkdownIt("js-default", {"html": False, "linkify": False}).render(markdown))
    text, heading, citations = html.rpartition(_CITATIONS)
    return text + heading + _ANCHOR.sub(r'<li id="\1">', citations)
