"""A digest out of its threads' summaries. Pure: nothing is claimed that a thread's summary does not claim."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shared.documents.reports import SummaryClaim
from shared.documents.values import Citation, ConsensusType, SummaryType
from shared.domain.consensus.agreement import may_say_agreed
from shared.domain.summaries.citations import verify_stored
from shared.domain.summaries.digest_scopes import DigestScope
from shared.domain.summaries.markdown import escape_markdown
from shared.summarization.digests.selection import DigestThread, Selected

CLAIMS = {SummaryType.WEEKLY: 3, SummaryType.CONSENSUS: 5, SummaryType.DRAFT_FOCUSED: 4}
"""Of each thread."""
_ORDER = (
    "decisions", "dissent", "agreed", "possible decisions", "concerns", "open issues", "proposals",
    "key points",
)  # fmt: skip
_REACHED, _CONTESTED, _OTHER = "Consensus", "Contested", "Discussed"


@dataclass
class Composed:
    claims: list[SummaryClaim] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    markdown: str = ""


def content_hash(selected: Selected) -> str:
    """Which summaries it is made of, and what it says of the rest."""
    made_of = [[entry.thread.id, entry.summary.id] for entry in selected.shown]
    text = json.dumps([made_of, selected.threads, selected.messages])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compose(scope: DigestScope, selected: Selected, chunk_texts: Mapping[str, str]) -> Composed:
    """Claims of each thread whose every citation is still found in its chunk, and the digest's text."""
    composed, parts = Composed(), dict[str, list[str]]()
    for entry in selected.shown:
        numbers = [_add(composed, entry, claim, chunk_texts) for claim in _chosen(scope, entry)]
        marked = [number for number in numbers if number is not None]
        parts.setdefault(_group(entry), []).extend(_thread_lines(entry, composed, marked))
    composed.markdown = "\n".join(_lines(scope, selected, parts, composed)).rstrip() + "\n"
    return composed


def _chosen(scope: DigestScope, entry: DigestThread) -> Iterator[SummaryClaim]:
    """The claims that tell most: those on the draft first, then what was decided and who objects."""

    def weight(claim: SummaryClaim) -> tuple[bool, int]:
        quotes = " ".join(entry.summary.citations[index].quote for index in claim.citations)
        on_topic = scope.draft is not None and scope.draft.lower() in f"{claim.text} {quotes}".lower()
        return not on_topic, _ORDER.index(claim.section) if claim.section in _ORDER else len(_ORDER)

    yield from sorted(entry.summary.claims, key=weight)[: CLAIMS[scope.kind]]


def _add(
    composed: Composed, entry: DigestThread, claim: SummaryClaim, chunk_texts: Mapping[str, str]
) -> int | None:
    """The index of the claim in the digest; None where a citation of it does not hold any more."""
    cited = [entry.summary.citations[index] for index in claim.citations]
    if verify_stored(cited, chunk_texts):
        return None
    indexes = []
    for citation in cited:
        of_thread = citation.model_copy(update={"thread_id": entry.thread.id})
        if of_thread not in composed.citations:
            composed.citations.append(of_thread)
        indexes.append(composed.citations.index(of_thread))
    composed.claims.append(claim.model_copy(update={"citations": indexes, "thread_id": entry.thread.id}))
    return len(composed.claims) - 1


def _is_agreed(entry: DigestThread) -> bool:
    """By what its own report may say, so that the two say the same."""
    reading = entry.summary.reading
    return reading is not None and may_say_agreed(
        has_consensus=reading.has_consensus, kind=reading.outcome.kind, tier=reading.outcome.tier
    )


def _group(entry: DigestThread) -> str:
    if _is_agreed(entry):
        return _REACHED
    divided = entry.thread.consensus_type in (ConsensusType.MIXED, ConsensusType.DISSENT)
    return _CONTESTED if divided else _OTHER


def _thread_lines(entry: DigestThread, composed: Composed, claims: Sequence[int]) -> list[str]:
    people = len(entry.thread.participants)
    statistics = f"{_many(entry.thread.message_count, 'message')}, {_many(people, 'participant')}."
    reading = entry.summary.reading
    outcome = [f"**{escape_markdown(reading.outcome.shown.headline)}**", ""] if reading else []
    lines = [f"### {escape_markdown(entry.summary.title)}", "", *outcome, statistics, ""]
    lines += [_item(composed.claims[index]) for index in claims]
    return [*lines, ""] if claims else lines


def _item(claim: SummaryClaim) -> str:
    speaker = f"**{escape_markdown(claim.speaker)}**: " if claim.speaker else ""
    marks = " ".join(f"[[{index + 1}]](#citation-{index + 1})" for index in claim.citations)
    return f"- {speaker}{escape_markdown(claim.text)} {marks}"


def _lines(
    scope: DigestScope, selected: Selected, parts: Mapping[str, list[str]], composed: Composed
) -> Iterator[str]:
    yield from (f"# {escape_markdown(scope.title)}", "", _opening(selected), "")
    for heading in (_REACHED, _CONTESTED, _OTHER):
        if heading in parts:
            yield from (f"## {heading}", "", *parts[heading])
    yield from ("## Citations", "")
    for number, citation in enumerate(composed.citations, 1):
        quote, message = escape_markdown(citation.quote), escape_markdown(citation.message_id)
        yield f'{number}. <a id="citation-{number}"></a>“{quote}” ({message})'
    if not composed.citations:
        yield "None."


def _opening(selected: Selected) -> str:
    left = selected.threads - len(selected.shown)
    more = f" The {_many(left, 'thread')} in which less was said or settled are not shown." if left else ""
    reached = sum(map(_is_agreed, selected.shown))
    return (
        f"**{_many(selected.threads, 'thread')}**, {_many(selected.messages, 'message')};"
        f" consensus in {reached} of those below.{more}"
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
