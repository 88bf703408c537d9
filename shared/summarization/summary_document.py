"""A summary as it is stored: text, claims, positions and counts, beside the citations that bear them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from shared.documents.readings import StoredReading
from shared.documents.reports import Summary, SummaryClaim, SummaryStance
from shared.documents.threads import Thread
from shared.documents.values import PositionStance, ThreadReading, Tier
from shared.domain.summaries.html import render_html
from shared.domain.summaries.markdown import render_markdown
from shared.domain.summaries.models import Claim, ContextMessage, Section, ThreadSummary


def summary_fields(made: ThreadSummary, thread: Thread, messages: Sequence[ContextMessage]) -> dict[str, Any]:
    """The fields of a thread's summary that come from what was made of it."""
    markdown, stances = render_markdown(made), stored_stances(made.reading, messages)
    return {
        "title": made.title,
        "content_markdown": markdown,
        "content_html": render_html(markdown),
        "citations": made.citations,
        "claims": stored_claims(made),
        "stances": stances,
        "counts": dict(Counter(stance.stance for stance in stances)),
        "reading": StoredReading.of(made.reading),
        "generated_by": made.generated_by,
        "metadata": _metadata(thread, made),
    }


def thread_summary(stored: Summary) -> ThreadSummary:
    """What was made of a thread, as a summarizer gave it; without the claims that were rejected."""
    if stored.reading is None:
        raise ValueError("a summary of several threads has no reading")
    claims = (
        Claim(
            text=claim.text,
            section=Section(claim.section),
            citations=tuple(stored.citations[index] for index in claim.citations),
            speaker=claim.speaker,
        )
        for claim in stored.claims
    )
    notes = tuple(stored.metadata.get("notes", []))
    return ThreadSummary(
        stored.title, tuple(claims), stored.generated_by, stored.reading.reading(), notes=notes
    )


def stored_claims(made: ThreadSummary) -> list[SummaryClaim]:
    """The claims that are borne by a citation; each names its citations by their positions."""
    indexes = {(citation.chunk_id, citation.quote): index for index, citation in enumerate(made.citations)}
    return [
        SummaryClaim(
            text=claim.text,
            section=claim.section.value,
            speaker=claim.speaker,
            citations=list(
                dict.fromkeys(indexes[citation.chunk_id, citation.quote] for citation in claim.citations)
            ),
        )
        for claim in made.claims
        if claim.is_supported
    ]


_STANCES = {PositionStance.SUPPORT: "support", PositionStance.OPPOSE: "objection"}


def stored_stances(reading: ThreadReading, messages: Sequence[ContextMessage]) -> list[SummaryStance]:
    """Only positions that are said: everything else is a remark, which claims no stance."""
    by_id = {message.message_id: message for message in messages}
    return [
        SummaryStance(
            message_key=by_id[citation.message_id].key,
            name=position.name,
            email=position.person,
            stance=_STANCES[position.stance],
            quote=by_id[citation.message_id].text[citation.start : citation.end],
            start=citation.start,
            end=citation.end,
            counts_now=True,
        )
        for position in reading.positions
        if position.tier is Tier.SAID and position.stance in _STANCES
        for citation in [position.citation]
        if citation.message_id in by_id  # a vote's result may be in a thread of its own
    ]


def _metadata(thread: Thread, made: ThreadSummary) -> dict[str, Any]:
    reading, stored = made.reading, thread.to_cosmos()
    return {
        "has_consensus": reading.has_consensus,
        "consensus_type": reading.consensus_type.value if reading.consensus_type else None,
        "basis": reading.basis.value,
        "reason": reading.outcome.sentence,
        "participants": stored["participants"],
        "first_message_date": stored["first_message_date"],
        "last_message_date": stored["last_message_date"],
        "draft_mentions": thread.draft_mentions,
        "source": thread.source,
        "notes": list(made.notes),
        "rejected_claims": len(made.rejected),
        "tokens_prompt": made.tokens.prompt,
        "tokens_completion": made.tokens.completion,
    }
